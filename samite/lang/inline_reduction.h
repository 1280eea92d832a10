// Reductions as expressions: they combine the values at all points of a Reduction.
//
//   Reduction k{"k", -2, 5};
//   blur(y, x) = sum(k, input(y, x + k) * weight(k + 2));
//   auto [smallest, place] = argmin(k, abs(error(x, k)));
//
// Each makes a Func over the variables that the value depends on, apart from those of the Reduction. It is computed
// where the expression is. UserError if there are more than 8 of these variables, or one belongs to another Reduction.
#pragma once

#include "samite/lang/func.h"
#include "samite/lang/math.h"

#include <limits>

namespace samite {
namespace lang {

struct InlineReduction {
  const char *name;
  ir::Op op;          // combines the result so far and the next value
  ir::Value initial;  // the result over no points
};

ir::Value reduce_inline(const InlineReduction &reduction, const ReductionVariables &over, ir::Value value,
                        SourceLocation where);
// The value for which `op`, a comparison, holds against all others, and its place: one index for each dimension.
std::vector<ir::Value> find_inline(const InlineReduction &reduction, const ReductionVariables &over, ir::Value value,
                                   SourceLocation where);

template <class A>
concept ReducedValue = ArithmeticValue<A> && ArithmeticScalar<value_type_of<A>>;

// Infinity, or the largest or smallest integer.
template <class T>
ir::Value extreme(bool largest) {
  constexpr ScalarType type = scalar_type_of<T>;
  if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    return ir::Value::constant(type, static_cast<std::int64_t>(largest ? Limits::max() : Limits::min()));
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    return ir::Value::constant(type, largest ? infinity : -infinity);
  }
}

}  // namespace lang

// The place of a value: an Int, or one for each dimension of the Reduction.
template <class T, int Rank>
struct Extremum {
  Traced<T> value;
  std::conditional_t<Rank == 1, Int, std::array<Int, Rank>> position;
};

// Over no points: 0, 1, the largest and the smallest number of the type. Minimum and maximum ignore NaNs unless all are
// NaNs.
#define SAMITE_REDUCTION(name, op, initial)                                                                            \
  template <int Rank, lang::ReducedValue A>                                                                            \
  auto name(const Reduction<Rank> &over, const A &value, SourceLocation where = std::source_location::current()) {     \
    using T = lang::value_type_of<A>;                                                                                  \
    return Traced<T>::adopt(                                                                                           \
        lang::reduce_inline({#name, ir::Op::op, initial}, over.variables(), Operand<T>(value, where).value(), where)); \
  }
SAMITE_REDUCTION(sum, Add, ir::Value::constant(scalar_type_of<T>, 0))
SAMITE_REDUCTION(product, Mul, ir::Value::constant(scalar_type_of<T>, 1))
SAMITE_REDUCTION(minimum, Min, lang::extreme<T>(true))
SAMITE_REDUCTION(maximum, Max, lang::extreme<T>(false))
#undef SAMITE_REDUCTION

// The least or the largest value, and its first place. NaNs do not count. Over no points: the value as above, and the
// Reduction's first point.
#define SAMITE_REDUCTION(name, op, initial)                                                                         \
  template <int Rank, lang::ReducedValue A>                                                                         \
  auto name(const Reduction<Rank> &over, const A &value, SourceLocation where = std::source_location::current()) {  \
    using T = lang::value_type_of<A>;                                                                               \
    const auto found =                                                                                              \
        lang::find_inline({#name, ir::Op::op, initial}, over.variables(), Operand<T>(value, where).value(), where); \
    if constexpr (Rank == 1)                                                                                        \
      return Extremum<T, Rank>{Traced<T>::adopt(found[0]), Int::adopt(found[1])};                                   \
    else                                                                                                            \
      return [&]<std::size_t... d>(std::index_sequence<d...>) {                                                     \
        return Extremum<T, Rank>{Traced<T>::adopt(found[0]), {Int::adopt(found[d + 1])...}};                        \
      }(std::make_index_sequence<Rank>());                                                                          \
  }
SAMITE_REDUCTION(argmin, Less, lang::extreme<T>(true))
SAMITE_REDUCTION(argmax, Greater, lang::extreme<T>(false))
#undef SAMITE_REDUCTION

// Not deleted, as for operators in lang/traced.h.
#define SAMITE_REFUSED(name)                                                                                \
  template <lang::TracedValue A>                                                                            \
  Traced<lang::value_type_of<A>> name(const A &a) {                                                         \
    static_assert(!lang::TracedValue<A>, #name " goes through a Reduction, which comes first: write " #name \
                                               "(k, in(x + k)) with Reduction "                             \
                                               "k{\"k\", 0, 3}");                                           \
    return a;                                                                                               \
  }
SAMITE_REFUSED(sum)
SAMITE_REFUSED(product)
SAMITE_REFUSED(minimum)
SAMITE_REFUSED(maximum)
SAMITE_REFUSED(argmin)
SAMITE_REFUSED(argmax)
#undef SAMITE_REFUSED

}  // namespace samite
