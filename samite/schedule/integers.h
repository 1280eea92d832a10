// Computes forms (passes/analysis/affine.h) as values: where they are needed, or once under a name.
#pragma once

#include "samite/schedule/open_loops.h"
#include "samite/schedule/statement_writer.h"
#include "samite/schedule/symbols.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace samite::schedules {

class Integers {
 public:
  Integers(StatementWriter &writer, Symbols &symbols, const OpenLoops &open,
           const std::vector<ir::Parameter> &parameters)
      : write_(writer), symbols_(symbols), open_(open), parameters_(parameters) {}

  // The value of a symbol that is known at the writer's place.
  ir::Value value_of(const passes::Symbol &symbol);
  ir::Value value_of(const passes::Affine &form);
  // In 64 bits, for a number that 32 bits may not hold.
  ir::Value wide_value_of(const passes::Affine &form);

  passes::Symbol new_symbol() const { return passes::Symbol::local(write_.new_local()); }
  // From here on, the symbol has this value.
  void set(const passes::Symbol &symbol, const ir::Value &value) { values_.insert_or_assign(symbol, value); }
  ir::Value known(const passes::Symbol &symbol) const { return values_.at(symbol); }
  // Nothing if it has no value of its own.
  std::optional<ir::Value> known_here(const passes::Symbol &symbol) const;
  // During its lifetime, this quotient and this remainder are known.
  struct Division {
    passes::Affine a, b;
    ir::Value quotient, remainder;
  };
  class KnownDivision {
   public:
    KnownDivision(Integers &integers, Division division) : integers_(integers) {
      integers_.divisions_.push_back(std::move(division));
    }
    ~KnownDivision() { integers_.divisions_.pop_back(); }
    KnownDivision(const KnownDivision &) = delete;
    KnownDivision &operator=(const KnownDivision &) = delete;

   private:
    Integers &integers_;
  };

  // A symbol for a value that is no form.
  passes::Affine derived(Derived what);
  // The same; equal operands get the same symbol.
  passes::Affine derived_once(const Derived &what) const;
  // Computes a form that is used repeatedly once, unless it is simple.
  passes::Affine bound(const passes::Affine &form);
  // The same for an extent, which is known to be no more than its form may be.
  passes::Affine bound_extent(const passes::Affine &extent);

 private:
  ir::Value value_of(const passes::Symbol &symbol, ScalarType type);
  ir::Value value_of(const passes::AffineTerm &term, ScalarType type);
  ir::Value value_of(const IntegerFunction &function, const std::vector<ir::Value> &of);
  ir::Value value_of(const passes::Affine &form, ScalarType type);
  ir::Value divided(const passes::Affine &a, std::int64_t by, bool remainder, ScalarType type);
  bool is_large(const passes::Affine &a) const;
  bool divides_64_bits(const passes::Affine &a, std::int64_t by) const;

  // Each thread computes these itself: known in this group of threads, computed again in others.
  struct InGroup {
    ir::Value value;
    int group;
  };

  StatementWriter &write_;
  Symbols &symbols_;
  const OpenLoops &open_;
  const std::vector<ir::Parameter> &parameters_;
  std::map<passes::Symbol, ir::Value> values_;
  mutable std::vector<std::pair<Derived, passes::Symbol>> derived_;
  std::map<passes::Symbol, InGroup> in_groups_;
  std::vector<Division> divisions_;  // that are known
};

}  // namespace samite::schedules
