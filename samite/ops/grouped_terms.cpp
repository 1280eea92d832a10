#include "samite/ops/grouped_terms.h"

#include "samite/base/error.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/as_type.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul.h"

#include <fmt/format.h>

#include <tuple>

namespace samite::ops {
namespace {

using Kernel = std::shared_ptr<jit::KernelDefinition>;

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct GroupedTerms {
  MatmulPlan plan;
  tile::Transposes transposed;
  tile::Precision precision;
  bool one_loop;
  SourceLocation where;

  // The sums of block (i, j) of a group's matrix. Terms of other groups in its last iteration are masked in both
  // factors, since they may be NaN. A main loop has the limit as its number of terms, if it is one loop
  // (passes/sm90/product_loops.h); otherwise the last iteration is separate, so that no other pays for the mask.
  Tile<lang::Accumulator<T>> sums(const Array<const T, 2> &a, const Array<const T, 2> &b, const Int &begin,
                                  const Int &end, const Int &i, const Int &j) const {
    auto sum = tile::zeros<lang::Accumulator<T>>({plan.rows, plan.columns}, where);
    if (one_loop) {
      for (Int k : range(tile::ceil_div(end - begin, plan.inner), pipelined(plan.stages)))
        add_some(a, b, i, j, begin + k * plan.inner, end, sum);
      return sum;
    }
    const Int whole = (end - begin) / plan.inner;
    for (Int k : range(whole, pipelined(plan.stages))) {
      const Int first = begin + k * plan.inner;
      tile::matmul(left(a, i, first), right(b, first, j), sum, transposed, precision, where);
    }
    const Int first = begin + whole * plan.inner;
    for ([[maybe_unused]] Int rest : range(select(end > first, Int(1), Int(0)))) add_some(a, b, i, j, first, end, sum);
    return sum;
  }

 private:
  // The products of an iteration's terms before `end`.
  void add_some(const Array<const T, 2> &a, const Array<const T, 2> &b, const Int &i, const Int &j, const Int &first,
                const Int &end, Tile<lang::Accumulator<T>> &sum) const {
    const Int left_over = end - first;
    tile::matmul(own(left(a, i, first), transposed.a ? 0 : 1, left_over),
                 own(right(b, first, j), transposed.b ? 1 : 0, left_over), sum, transposed, precision, where);
  }
  Tile<T> left(const Array<const T, 2> &a, const Int &i, const Int &term) const {
    const Int row = i * plan.rows;
    return transposed.a ? tile::load_at(a, {term, row}, {plan.inner, plan.rows}, where)
                        : tile::load_at(a, {row, term}, {plan.rows, plan.inner}, where);
  }
  Tile<T> right(const Array<const T, 2> &b, const Int &term, const Int &j) const {
    const Int column = j * plan.columns;
    return transposed.b ? tile::load_at(b, {column, term}, {plan.columns, plan.inner}, where)
                        : tile::load_at(b, {term, column}, {plan.inner, plan.columns}, where);
  }
  Tile<T> own(const Tile<T> &x, int terms_in, const Int &terms) const {
    return select(tile::coordinate({x.extent(0), x.extent(1)}, terms_in, where) < terms, x,
                  tile::zeros<T>({1, 1}, where), where);
  }
};

SAMITE_TRACED_ONCE_END

template <Scalar T, Scalar C>
Kernel kernel(const GroupedTermsByType &kind, const MatmulPlan &plan, bool one_loop) {
  using Key = std::tuple<MatmulPlan, bool, bool, bool, bool, bool>;
  static detail::Kernels<Key, Kernel> made([](const Key &key) {
    const auto &[plan, ta, tb, tf32, checked, one_loop] = key;
    const SourceLocation where = std::source_location::current();
    const GroupedTerms<T> terms{plan, {ta, tb}, tf32 ? tile::Precision::tf32 : tile::Precision::full, one_loop, where};
    const auto function = [&](const Array<const T, 2> &a, const Array<const T, 2> &b, const detail::Offsets &offsets,
                              const Array<C, 3> &c) {
      const auto [group, i, j] = block_index<3>(where);
      if (checked) detail::check_offsets("grouped_mm", offsets, group, i + j, a.extent(ta ? 0 : 1), where);
      const auto sum = terms.sums(a, b, offsets(group), offsets(group + 1), i, j);
      tile::store(c, {group, i, j}, detail::as_type<C>(sum), where);
    };
    return TileKernel<void(Array<const T, 2>, Array<const T, 2>, detail::Offsets, Array<C, 3>)>(
               "grouped_terms", {"a", "b", "offsets", "c"}, function, TileOptions{.threads = plan.threads})
        .definition();
  });
  return made.at(
      {plan, kind.transposed.a, kind.transposed.b, kind.precision == tile::Precision::tf32, kind.checked, one_loop});
}

// Whether bulk copies can load windows that begin at any term, which are rows of both factors.
bool copies_bring_terms(const GroupedTermsByType &kind, const PlanDevice &device) {
  return device.has_warp_groups() && size_of(kind.factor) == 2 && kind.transposed.a && !kind.transposed.b;
}

}  // namespace

PlannedLaunch grouped_terms_launch(const GroupedTermsByType &kind, const GroupedTermsShape &shape,
                                   const PlanDevice &device, SourceLocation where) {
  lang::check_precision(kind.precision == tile::Precision::tf32, kind.factor, where);
  const MatmulShape of_groups{shape.groups, shape.rows, shape.columns, detail::ceil_div(shape.terms, shape.groups)};
  const MatmulFactors factors{
      .type = kind.factor, .precision = kind.precision, .transposed = kind.transposed, .terms_vary = true};
  const MatmulPlan plan = matmul_plan(of_groups, factors, device);
  const Extents blocks = matmul_blocks(of_groups, plan);
  const bool one_loop = copies_bring_terms(kind, device);
#define SAMITE_CASE(T, C)                                                   \
  if (kind.factor == scalar_type_of<T> && kind.result == scalar_type_of<C>) \
    return {kernel<T, C>(kind, plan, one_loop), blocks};
  SAMITE_CASE(half, half)
  SAMITE_CASE(half, float)
  SAMITE_CASE(bfloat16, bfloat16)
  SAMITE_CASE(bfloat16, float)
  SAMITE_CASE(float, float)
  SAMITE_CASE(double, double)
#undef SAMITE_CASE
  throw UserError(where, fmt::format("grouped_mm: expected factors of half or bfloat16 with results of their own type "
                                     "or float, of float or of double; factors of {} with results of {} given",
                                     cpp_name(kind.factor), cpp_name(kind.result)));
}

}  // namespace samite::ops
