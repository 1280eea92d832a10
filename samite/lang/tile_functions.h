// Functions of tiles that consist of several operations: activations, statistics, and tests of tiles of bool.
//
//   Tile<float> weights = tile::softmax(scores);                 // of each row
//   Tile<float> centred = x - tile::mean(x, {-1});
//   if_(tile::any(isnan(x)), [&] { … });
//
// Statistics leave extent 1 along the given dimensions, as all reductions do; without dimensions they cover all
// elements and return numbers. Those of half and bfloat16 are computed in float and rounded at the end.
#pragma once

#include "samite/lang/tile_operations.h"

namespace samite {
namespace lang {

// The number of elements that a reduction along these dimensions combines.
std::int64_t reduced_count(const ir::Type &type, Dimensions along, SourceLocation where);

template <Scalar T>
Tile<Accumulator<T>> in_accumulator(const Tile<T> &x, SourceLocation where) {
  if constexpr (std::same_as<T, Accumulator<T>>)
    return x;
  else
    return cast<Accumulator<T>>(x, where);
}
template <Scalar T>
Tile<T> rounded_to(const Tile<Accumulator<T>> &x, SourceLocation where) {
  if constexpr (std::same_as<T, Accumulator<T>>)
    return x;
  else
    return cast<T>(x, where);
}
template <Scalar T>
Traced<T> only_element(const Tile<T> &x, SourceLocation where) {
  return Traced<T>::adopt(reduce_tile(ir::Op::ReduceAdd, scalar_type_of<T>, x.value(where), {}, where));
}
template <Scalar T>
Tile<T> in_a_row(const Tile<T> &x, SourceLocation where) {
  return tile::reshape(x, {x.type().count()}, where);
}

}  // namespace lang

namespace tile {

// 1 / (1 + exp(-x)), without overflow.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> sigmoid(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const Tile<bool> negative = x < 0;
  const Tile<T> e = exp(select(negative, x, -x));
  return select(negative, e, 1) / (e + 1);
}
// The greater of x and 0, with gradient 0 at x = 0; NaN stays NaN.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> relu(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  return select(x <= 0, 0, x);
}
// x times the probability that a normal number is below x.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> gelu(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  return x * 0.5 * (erf(x * 0.7071067811865476) + 1);
}
// Approximates gelu by tanh.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> gelu_tanh(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1);
}
// x times sigmoid(x), also called swish.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> silu(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  return x * sigmoid(x, where);
}

// exp(x) divided by its sum along the dimensions. The greatest element may have any magnitude; if all are -infinity,
// the results are NaN.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> softmax(const Tile<T> &x, lang::Dimensions along = {-1},
                SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const auto wide = lang::in_accumulator(x, where);
  const auto e = exp(wide - stop_gradient(max(wide, along, where)));
  return lang::rounded_to<T>(e / sum(e, along, where), where);
}
// The logarithm of softmax.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> log_softmax(const Tile<T> &x, lang::Dimensions along = {-1},
                    SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const auto wide = lang::in_accumulator(x, where);
  const auto below = wide - stop_gradient(max(wide, along, where));
  return lang::rounded_to<T>(below - log(sum(exp(below), along, where)), where);
}

template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> mean(const Tile<T> &x, lang::Dimensions along, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const double count = static_cast<double>(lang::reduced_count(x.type(), along, where));
  return lang::rounded_to<T>(sum(lang::in_accumulator(x, where), along, where) * (1 / count), where);
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Traced<T> mean(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return lang::only_element(mean(lang::in_a_row(x, where), {0}, where), where);
}
// The mean square of the differences from the mean. The sum is divided by the number of elements minus `correction`: 0
// for the variance of the elements themselves, 1 for an estimate of the variance of the population that they sample.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> var(const Tile<T> &x, lang::Dimensions along, int correction = 0,
            SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const double count = static_cast<double>(lang::reduced_count(x.type(), along, where));
  const auto wide = lang::in_accumulator(x, where);
  const auto off = wide - sum(wide, along, where) * (1 / count);
  return lang::rounded_to<T>(sum(off * off, along, where) * (1 / (count - correction)), where);
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Traced<T> var(const Tile<T> &x, int correction = 0, SourceLocation where = std::source_location::current()) {
  return lang::only_element(var(lang::in_a_row(x, where), {0}, correction, where), where);
}
// The square root of the sum of squares; its gradient is zero if all elements are zero.
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> norm(const Tile<T> &x, lang::Dimensions along, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const auto wide = lang::in_accumulator(x, where);
  const auto squares = sum(wide * wide, along, where);
  const auto zero = squares == 0;
  return lang::rounded_to<T>(select(zero, 0, sqrt(select(zero, 1, squares))), where);
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Traced<T> norm(const Tile<T> &x, SourceLocation where = std::source_location::current()) {
  return lang::only_element(norm(lang::in_a_row(x, where), {0}, where), where);
}

// How many elements are true; `sum` of a tile of bool is the same.
inline Int count(const Tile<bool> &x, SourceLocation where = std::source_location::current()) {
  return sum(cast<std::int32_t>(x, where), where);
}
inline Tile<std::int32_t> count(const Tile<bool> &x, lang::Dimensions along,
                                SourceLocation where = std::source_location::current()) {
  return sum(cast<std::int32_t>(x, where), along, where);
}
inline Int sum(const Tile<bool> &x, SourceLocation where = std::source_location::current()) { return count(x, where); }
inline Tile<std::int32_t> sum(const Tile<bool> &x, lang::Dimensions along,
                              SourceLocation where = std::source_location::current()) {
  return count(x, along, where);
}
// Whether any element, or every element, is true.
inline Bool any(const Tile<bool> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Int> at(where);
  return max(cast<std::int32_t>(x, where), where) != 0;
}
inline Tile<bool> any(const Tile<bool> &x, lang::Dimensions along,
                      SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Int> at(where);
  return max(cast<std::int32_t>(x, where), along, where) != 0;
}
inline Bool all(const Tile<bool> &x, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Int> at(where);
  return min(cast<std::int32_t>(x, where), where) != 0;
}
inline Tile<bool> all(const Tile<bool> &x, lang::Dimensions along,
                      SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Int> at(where);
  return min(cast<std::int32_t>(x, where), along, where) != 0;
}

}  // namespace tile
}  // namespace samite
