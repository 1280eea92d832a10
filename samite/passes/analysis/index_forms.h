// The analysis of indices: describes each integer of a kernel as an affine form of its symbols
// (passes/analysis/affine.h).
//
// Integers of the IR wrap around. Each answer says under which condition it holds:
//
//   always               whatever wraps around on the way
//   if nothing wraps     no operation on the way overflows its type. An index that has wrapped is outside of all but
//                        the largest arrays, so this is enough to choose a faster implementation
//   if no signed wraps   no signed integer of 32 bits or more overflows. Unsigned ones may wrap on the way to right
//                        indices, as u32 does in i + (n - 1) for n = 0
//
// One walk over a kernel in structured or lowered form, in time linear in its statements. Immutable afterwards. The
// result does not refer to the kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/interval.h"

#include <limits>
#include <optional>
#include <vector>

namespace samite::passes {

struct IndexForm {
  static constexpr int all_bits = 128;

  Affine form;                      // the integer, if nothing wraps; unknown for other types, or beyond 2^61
  std::optional<Affine> low{};      // the integer modulo 2^bits, always, if that differs from the form
  int bits = all_bits;              // all of them: it is exactly that number
  bool narrow_or_unsigned = false;  // it may differ from the form even if no signed integer wraps
  int narrowest = all_bits;         // bits of the narrowest type in which an operand may wrap
  Range range{};                    // always contains the integer
  std::int64_t divisor = 1;         // a power of two that always divides it
  std::uint64_t depends_on = 0;     // the set of indices on which it may depend; empty: the same for all

  const Affine &low_form() const { return low ? *low : form; }
  bool exact() const { return bits == all_bits && !low; }
};

// An integer scale * index + rest, up to its low bits.
struct Along {
  std::optional<Symbol> index{};  // a thread or loop index; empty if the integer is the same for all
  std::int64_t scale = 0;
  Affine rest{};
  bool one_to_one = false;  // different indices give different integers: always, if tile origins do not wrap
};

class IndexForms {
 public:
  explicit IndexForms(const ir::Kernel &kernel);

  // For an integer that is not a tile; for any other value, `depends_on` only.
  IndexForm operator()(const ir::Value &value) const;

  // The terms of an integer that vary with the loop's iteration: if no signed wraps. Unknown if others wrap.
  Affine moving(const ir::Value &value, const ir::For &loop) const;
  // Its increment when the loop's index grows by 1, if constant: if no signed wraps.
  std::optional<std::int64_t> slope(const ir::Value &value, const ir::For &loop) const;
  // Whether a value of any type is the same in all instances of the launch, or in all iterations of the loop: always.
  bool same_in_launch(const ir::Value &value) const { return (*this)(value).depends_on == 0; }
  bool same_in(const ir::Value &value, const ir::For &loop) const;
  // Its dependence on instances of the launch, and on the loop's iterations, if any, if it depends on one index only:
  // always.
  std::optional<Along> along(const ir::Value &value, const ir::For *loop = nullptr) const;
  // Whether two integers of one instance are equal: always.
  bool same(const ir::Value &a, const ir::Value &b) const;
  // A power of two that divides it: always.
  std::int64_t divisor(const ir::Value &value) const { return (*this)(value).divisor; }

  // Whether an integer of this many bits differs for each value of the symbol.
  bool tells_apart(const Symbol &symbol, int bits) const;
  // The range of a symbol: always. That of a non-integer local is everything.
  Range range_of(const Symbol &symbol) const;
  Range range_of(const Affine &form) const;

 private:
  class Reader;

  bool differs_in(const Affine &form, std::uint64_t indices) const;

  struct Local {
    IndexForm form;
    std::uint64_t loop = 0;  // for a loop's index: its loop, in `depends_on`
  };
  std::vector<Local> locals_;
  std::vector<Range> parameters_;
  std::vector<Range> thread_indices_;
  bool tiles_;
};

}  // namespace samite::passes
