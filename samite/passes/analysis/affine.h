// Affine forms: integers as sums of multiples of terms, such as 2*%3 + (%5 / 4) - 1.
//
// A term is a symbol, the quotient or the remainder of a form by a positive constant, or the minimum or the maximum of
// two forms. Forms are mathematical integers: they never wrap around, quotients round down, and remainders are never
// negative. passes/analysis/index_forms.h says where a kernel's integers behave like that.
//
// Forms are immutable and mostly canonical: terms are sorted, multiples are moved out of quotients and remainders, 4 *
// (x / 4) + x % 4 is x, and the minimum of x and x + 3 is x. Equal forms are the same number. Different forms may still
// be the same number.
//
// A form may be unknown. Any operation on an unknown form gives an unknown form, and so does a result with numbers
// beyond 2^61 or with more than `most_nodes` symbols and operations. A pass that must continue replaces it by a symbol.
#pragma once

#include "samite/ir/value.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace samite::passes {

struct Symbol {
  enum class Kind : std::uint8_t { Local, Parameter, Extent, ThreadIndex, LaunchBegin, LaunchEnd } kind;
  std::uint32_t id = 0;        // the local or the parameter; of an extent, the array
  std::int32_t dimension = 0;  // of an extent, or of the launch

  static Symbol local(ir::LocalId id) { return {Kind::Local, id}; }
  static Symbol parameter(std::uint32_t index) { return {Kind::Parameter, index}; }
  static Symbol extent(std::uint32_t array, std::int32_t dimension) { return {Kind::Extent, array, dimension}; }
  static Symbol thread_index(std::int32_t dimension) { return {Kind::ThreadIndex, 0, dimension}; }
  static Symbol launch_begin(std::int32_t dimension) { return {Kind::LaunchBegin, 0, dimension}; }
  static Symbol launch_end(std::int32_t dimension) { return {Kind::LaunchEnd, 0, dimension}; }

  friend auto operator<=>(const Symbol &, const Symbol &) = default;
};

struct AffineTerm;

class Affine {
 public:
  static constexpr std::size_t most_nodes = 24;

  Affine(std::int64_t constant = 0);
  Affine(const Symbol &symbol);
  Affine(const AffineTerm &term);
  static Affine unknown();

  bool known() const { return known_; }
  bool is_constant() const { return known_ && terms_.empty(); }
  std::int64_t constant() const { return constant_; }
  const std::vector<AffineTerm> &terms() const { return terms_; }  // sorted
  std::size_t nodes() const { return nodes_; }

  // Whether it is this symbol plus a constant.
  bool is_symbol_and_constant(const Symbol &symbol) const;
  bool contains(const Symbol &symbol) const;
  // Empty if the symbol is also inside a quotient, a remainder, a minimum or a maximum.
  std::optional<std::int64_t> coefficient(const Symbol &symbol) const;
  Affine substitute(const Symbol &symbol, const Affine &by) const;
  void for_each_symbol(const std::function<void(const Symbol &)> &f) const;

  friend Affine operator+(const Affine &a, const Affine &b);
  friend Affine operator-(const Affine &a, const Affine &b);
  friend Affine operator*(const Affine &a, std::int64_t by);
  friend bool operator==(const Affine &a, const Affine &b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Affine &a, const Affine &b);

 private:
  friend class AffineRules;

  std::vector<AffineTerm> terms_;
  std::int64_t constant_ = 0;
  std::size_t nodes_ = 0;
  bool known_ = true;
};

// coefficient * term; the coefficient is not 0.
struct AffineTerm {
  enum class Kind : std::uint8_t { Symbol, Quotient, Remainder, Least, Greatest } kind;
  std::int64_t coefficient = 1;
  Symbol symbol{};                                        // for a Symbol
  std::shared_ptr<const std::vector<Affine>> operands{};  // one, or two for a minimum or maximum
  std::int64_t by = 0;                                    // for a quotient or remainder: positive

  friend std::strong_ordering operator<=>(const AffineTerm &a, const AffineTerm &b);
  friend bool operator==(const AffineTerm &a, const AffineTerm &b) { return (a <=> b) == 0; }
};

// `by` is positive.
Affine quotient(const Affine &a, std::int64_t by);
Affine remainder(const Affine &a, std::int64_t by);
Affine least(const Affine &a, const Affine &b);
Affine greatest(const Affine &a, const Affine &b);

std::string to_string(const Symbol &symbol);
std::string to_string(const Affine &form);
std::size_t hash(const Affine &form);

}  // namespace samite::passes
