// What is known about the symbols in a pipeline's forms: their ranges and definitions.
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
  bool inside = false;  // of a loop over threads, each of which goes through it by itself
};

class Symbols {
 public:
  passes::RangeOfSymbol range() const;
  passes::Range range_of(const passes::Symbol &symbol) const;
  void set_range(const passes::Symbol &symbol, const passes::Range &range) { ranges_[symbol] = range; }
  void set_most(const passes::Symbol &symbol, std::int64_t most);

  // A symbol stands for a form: one that is computed by each thread for itself, or one that was computed once.
  void set_bound(const passes::Symbol &symbol, const passes::Affine &form) { bound_.insert_or_assign(symbol, form); }
  void set_computed(const passes::Symbol &symbol, const passes::Affine &form) {
    computed_.insert_or_assign(symbol, form);
  }
  void set_derived(const passes::Symbol &symbol, Derived derived);
  const passes::Affine *bound(const passes::Symbol &symbol) const;
  const Derived *derived(const passes::Symbol &symbol) const;
  // The form that it is bound to, or was computed of; null where there is none.
  const passes::Affine *stands_for(const passes::Symbol &symbol) const;

  // The form with its symbols written out as what they stand for, where that is shorter: the distance between two
  // places of which one was named.
  passes::Affine shortest(const passes::Affine &form) const;

  // Whether the form depends on such a symbol, itself or by what its symbols stand for.
  bool depends_on(const passes::Affine &form, const std::function<bool(const passes::Symbol &)> &of) const;
  // Where the interval lies as these loops, the inner ones last, go through theirs.
  passes::Interval over_loops(passes::Interval interval, const std::vector<OpenLoop> &loops) const;

  // What holds inside of a specialization: numbers of parameters and extents, and where they lie.
  struct Assumed {
    std::map<passes::Symbol, passes::Affine> fixed;
    std::map<passes::Symbol, passes::Range> known;
  };
  Assumed assumed;
  // The form with what is known of parameters and extents, also of those that were computed before.
  passes::Affine as_known(const passes::Affine &form) const;

 private:
  bool is_computed_of_known(const passes::Symbol &symbol) const;

  std::map<passes::Symbol, passes::Range> ranges_;
  std::map<passes::Symbol, passes::Affine> bound_, computed_;
  std::map<passes::Symbol, Derived> derived_;
};

}  // namespace samite::schedules
