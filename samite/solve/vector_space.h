// Vectors of a solver: their sums and products, for float and double.
//
// Products are summed in double, in an order that depends only on the length: the same bits on every run. Functions
// that return numbers wait for the device. No tape may record any of this: callers ensure it.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace samite::solvers::detail {

class VectorSpace {
 public:
  using Sum = std::function<void(std::span<double>)>;

  // Vectors of `size` elements; with a `sum` over ranks, parts of longer ones. UserError for a type that is not f32 or
  // f64.
  VectorSpace(Device device, ScalarType type, std::int64_t size, SourceLocation where, Sum sum_over_ranks = {});

  std::int64_t whole_size() const;              // the sum of all ranks' sizes
  AnyBuffer vector() const;                     // zeros
  AnyBuffer vectors(std::int64_t count) const;  // count x size

  double dot(const AnyBuffer &a, const AnyBuffer &b) const;
  double norm(const AnyBuffer &a) const;
  // y = a x + b y; y is not read if b is 0.
  void combine(double a, const AnyBuffer &x, double b, const AnyBuffer &y) const;
  // The products of pairs of vectors, with one sum over ranks.
  std::vector<double> dots(std::initializer_list<std::pair<const AnyBuffer &, const AnyBuffer &>> pairs) const;
  // The products of the first `count` of `vectors` with w.
  std::vector<double> dots(const AnyBuffer &vectors, std::int64_t count, const AnyBuffer &w) const;
  // w += the sum of coefficients[j] vectors[j].
  void add(const AnyBuffer &vectors, const std::vector<double> &coefficients, const AnyBuffer &w) const;

 private:
  std::vector<double> own_dots(const AnyBuffer &vectors, std::int64_t count, const AnyBuffer &w) const;

  Device device_;
  ScalarType type_;
  std::int64_t size_;
  std::int64_t tiles_, blocks_;  // tiles of a vector, and blocks that add them up
  Sum sum_over_ranks_;
  mutable AnyBuffer partial_, sums_;  // sized for the largest number of products so far
};

}  // namespace samite::solvers::detail
