// Facts about the symbols in a pipeline's forms: their ranges and definitions.
#pragma once

#include "samite/schedule/forms.h"
#include "samite/schedule/nest.h"
#include "samite/schedule/specialize.h"

#include <functional>
#include <map>

namespace samite::schedules {

struct OpenLoop {
  passes::Symbol symbol;
  passes::Affine extent;
  bool thread;
  bool inside = false;  // inside a loop over threads: each thread runs it separately
};

class Symbols {
 public:
  passes::RangeOfSymbol range() const;
  passes::Range range_of(const passes::Symbol &symbol) const;
  void set_range(const passes::Symbol &symbol, const passes::Range &range) { ranges_[symbol] = range; }
  void set_most(const passes::Symbol &symbol, std::int64_t most);

  // Makes a symbol represent a form: one that each thread computes, or one that was computed once.
  void set_bound(const passes::Symbol &symbol, const passes::Affine &form) { bound_.insert_or_assign(symbol, form); }
  void set_computed(const passes::Symbol &symbol, const passes::Affine &form) {
    computed_.insert_or_assign(symbol, form);
  }
  void set_derived(const passes::Symbol &symbol, Derived derived);
  const passes::Affine *bound(const passes::Symbol &symbol) const;
  const Derived *derived(const passes::Symbol &symbol) const;
  // The form to which it is bound, or from which it was computed; null if there is none.
  const passes::Affine *stands_for(const passes::Symbol &symbol) const;

  // The form with its symbols replaced by their definitions, if that is shorter, as for the distance between two
  // positions if one of them was named.
  passes::Affine shortest(const passes::Affine &form) const;

  // Whether the form depends on such a symbol, directly or through the definitions of its symbols.
  bool depends_on(const passes::Affine &form, const std::function<bool(const passes::Symbol &)> &of) const;
  // The interval over all iterations of these loops, inner ones last.
  passes::Interval over_loops(passes::Interval interval, const std::vector<OpenLoop> &loops) const;

  // Facts inside a specialization: values and ranges of parameters and extents.
  struct Assumed {
    std::map<passes::Symbol, passes::Affine> fixed;
    std::map<passes::Symbol, passes::Range> known;
  };
  Assumed assumed;
  // The form after substituting known parameters and extents, also in forms that were computed before.
  passes::Affine as_known(const passes::Affine &form) const;

 private:
  bool is_computed_of_known(const passes::Symbol &symbol) const;

  std::map<passes::Symbol, passes::Range> ranges_;
  std::map<passes::Symbol, passes::Affine> bound_, computed_;
  std::map<passes::Symbol, Derived> derived_;
};

}  // namespace samite::schedules
