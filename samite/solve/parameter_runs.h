// The parameters of an optimiser as few long vectors: parameters that are adjacent in memory form one run.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/solve/vector_space.h"

#include <cstdint>
#include <string>
#include <vector>

namespace samite::solvers::detail {

class ParameterRuns {
 public:
  // UserError for no parameters, and for one that is empty, not contiguous, tracks no gradient, overlaps another one,
  // is not f32 or f64, or is on another device than the first.
  ParameterRuns(const std::string &optimiser, const std::vector<AnyBuffer> &parameters, SourceLocation where);

  // Vectors over the storage of the parameters, which track its gradient. Their order depends on the order of the
  // parameters and on their places within a storage, but not on addresses.
  const std::vector<AnyBuffer> &runs() const { return runs_; }
  std::vector<AnyBuffer> gradients() const;
  // A vector of zeros for each run.
  std::vector<AnyBuffer> zeros() const;

  // The place of a parameter: its run, and its elements there.
  struct Place {
    std::size_t run;
    std::int64_t begin, count;
  };
  const std::vector<Place> &places() const { return places_; }

  // Like those of a VectorSpace, over all runs.
  double dot(const std::vector<AnyBuffer> &a, const std::vector<AnyBuffer> &b) const;
  void combine(double a, const std::vector<AnyBuffer> &x, double b, const std::vector<AnyBuffer> &y) const;

 private:
  std::vector<AnyBuffer> runs_;
  std::vector<Place> places_;
  std::vector<VectorSpace> spaces_;
};

}  // namespace samite::solvers::detail
