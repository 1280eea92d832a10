// Grouped products of rows (ops/grouped_matmul.h) with scaled 8-bit factors (ops/scaled_matmul.h).
//
//   ops::scaled_grouped_matmul(a, b, scale_a, scale_b, offsets, c);
//
//   const ops::ScaledGroupedMatmul experts{
//       "experts", [](const ops::ScaledSums<f8e4m3> &s) { return tile::cast<bfloat16>(s.values()); }, {{.b = true}}};
//   experts.launch({a, where}, b, scale_a, scale_b, offsets, c);
//
// Scales of a are those of a matrix of (rows x inner), except for blocks of rows, which could span several groups: one
// scale, one for each row, or one for 128 numbers of a row. Scales of b are those of each group's matrix of (inner x
// columns), in three dimensions.
#pragma once

#include "samite/ops/grouped_matmul.h"
#include "samite/ops/scaled_matmul.h"

namespace samite::ops {

namespace detail {

struct ScaledGroupedPlan {
  ScaledPlan scaled;
  GroupSearch search;

  friend auto operator<=>(const ScaledGroupedPlan &, const ScaledGroupedPlan &) = default;
};

// UserError for a scale for each term, or for a block of rows.
ScaledPlan scaled_grouped_plan(const std::string &name, const GroupedShape &shape, MatmulFactors factors,
                               const ScaleGroups &of_a, const ScaleGroups &of_b, const PlanDevice &device,
                               SourceLocation where);

// The sums of a part of a block's tile, and the scales to apply when they are stored.
struct ScaledGroupedSums {
  ScalesOfTile<2, 3> scales;
  Tile<float> sums;

  Tile<float> applied(const ScaledPlan &p) const { return scales.applied(sums, p); }
};
template <Scalar A, Scalar B>
std::vector<ScaledGroupedSums> scaled_grouped_block_sums(const Array<const A, 2> &a, const Array<const B, 3> &b,
                                                         const Array<const float, 2> &scale_a,
                                                         const Array<const float, 3> &scale_b, const RowsOfGroup &rows,
                                                         const Int &column, bool b_transposed, const ScaledPlan &p,
                                                         SourceLocation where) {
  const MatmulPlan &plan = p.plan;
  const int width = p.columns_of_part();
  std::vector<ScalesOfTile<2, 3>> scales;
  for (int part = 0; part < p.parts(); ++part)
    scales.push_back({{scale_a, rows.group, false, where},
                      {scale_b, rows.group, false, where},
                      rows.first,
                      p.column(column, part) * width});
  std::vector<Tile<float>> sums = scaled_sums<A, B>(
      [&](const Int &k) { return load_rows_of_group(a, rows, Int(k * plan.inner), {plan.rows, plan.inner}, where); },
      [&](const Int &k, int part) {
        const Int own = p.column(column, part);
        return b_transposed ? tile::load(b, {rows.group, own, k}, {width, plan.inner}, where)
                            : tile::load(b, {rows.group, k, own}, {plan.inner, width}, where);
      },
      scales, steps_of_group(rows, a.extent(1), plan), {.b = b_transposed}, p, where);
  std::vector<ScaledGroupedSums> parts;
  for (std::size_t part = 0; part < sums.size(); ++part) parts.push_back({scales[part], sums[part]});
  return parts;
}

}  // namespace detail

template <class Epilogue>
class ScaledGroupedMatmul;

template <Scalar A, Scalar B, Scalar C, class... Extras>
class ScaledGroupedMatmul<Tile<C>(ScaledSums<A, B>, Extras...)> {
  static_assert((std::same_as<A, f8e4m3> || std::same_as<A, f8e5m2>) &&
                    (std::same_as<B, f8e4m3> || std::same_as<B, f8e5m2>),
                "a scaled product has factors of f8e4m3 or f8e5m2; ops::GroupedMatmul multiplies other types");
  static_assert(!std::same_as<A, f8e5m2> || !std::same_as<B, f8e5m2>,
                "two factors of f8e5m2 leave two digits of a product; quantise one of them to f8e4m3");
  using KernelOf = TileKernel<void(Array<const A, 2>, Array<const B, 3>, Array<const float, 2>, Array<const float, 3>,
                                   detail::Offsets, Array<C, 2>, Extras...)>;
  using Rows = Buffer<std::int32_t>;
  using Scales = Buffer<float>;
  using First = detail::Called<Buffer<A>>;

 public:
  template <class E>
  ScaledGroupedMatmul(std::string name, const E &epilogue, MatmulOptions options = {},
                      SourceLocation where = std::source_location::current())
      : state_(
            std::make_shared<State>(name, options, detail::first_arrays(5), [=](const detail::ScaledGroupedPlan &plan) {
              return kernel(name, epilogue, options.transposed, plan, where);
            })) {
    lang::check_precision(options.precision == tile::Precision::tf32, scalar_type_of<A>, where);
    refuse_transposed_rows(name, options.transposed, where);
  }

  // a (rows x inner), b (groups x inner x columns), or transposed (groups x columns x inner), offsets (groups + 1), c
  // (rows x columns). UserError if their shapes do not match, DeviceError as for a launch.
  void launch(const First &a, const Buffer<B> &b, const Scales &scale_a, const Scales &scale_b, const Rows &offsets,
              const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    launch(LaunchOptions{}, a, b, scale_a, scale_b, offsets, c, extras...);
  }
  void launch(const LaunchOptions &options, const First &a, const Buffer<B> &b, const Scales &scale_a,
              const Scales &scale_b, const Rows &offsets, const Buffer<C> &c,
              jit::ArgumentFor<Extras>... extras) const {
    with_kernel(options, {a.buffer, b, offsets, c, state_->options.transposed.b}, scale_a, scale_b, a.where,
                [&](const auto &kernel, const LaunchExtents &blocks) {
                  kernel.launch(blocks, detail::with_stream(options, state_->options), a.buffer, b, scale_a, scale_b,
                                offsets, c, extras...);
                });
  }
  Launch record(const First &a, const Buffer<B> &b, const Scales &scale_a, const Scales &scale_b, const Rows &offsets,
                const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return record(LaunchOptions{}, a, b, scale_a, scale_b, offsets, c, extras...);
  }
  Launch record(const LaunchOptions &options, const First &a, const Buffer<B> &b, const Scales &scale_a,
                const Scales &scale_b, const Rows &offsets, const Buffer<C> &c,
                jit::ArgumentFor<Extras>... extras) const {
    return with_kernel(options, {a.buffer, b, offsets, c, state_->options.transposed.b}, scale_a, scale_b, a.where,
                       [&](const auto &kernel, const LaunchExtents &blocks) {
                         return kernel.record(blocks, detail::with_stream(options, state_->options), a.buffer, b,
                                              scale_a, scale_b, offsets, c, extras...);
                       });
  }

  const std::string &name() const { return state_->name; }
  std::vector<KernelOf> kernels() const { return state_->kernels.all(); }

 private:
  using State = detail::OneOperation<MatmulOptions, detail::ScaledGroupedPlan, KernelOf>;

  template <class F>
  decltype(auto) with_kernel(const LaunchOptions &launch, const GroupedOperands &operands, const AnyBuffer &scale_a,
                             const AnyBuffer &scale_b, SourceLocation where, const F &function) const {
    const std::string &name = state_->name;
    const Device device = operands.a.device();
    const GroupedShape shape = grouped_shape(name, operands, where);
    const detail::ScaledPlan plan = detail::scaled_grouped_plan(
        name, shape, {.type = scalar_type_of<A>, .transposed = state_->options.transposed},
        scale_groups(name, "scale_a", scale_a, 0, shape.rows, shape.inner, where, TermsAre::columns),
        scale_groups(name, "scale_b", scale_b, shape.groups, shape.inner, shape.columns, where, TermsAre::rows),
        plan_device(device), where);
    return function(state_->kernels.at({plan, detail::GroupSearch::of(shape.groups, checks_offsets(launch, device))}),
                    LaunchExtents(grouped_blocks(shape, plan.plan), where));
  }

  template <class E>
  static KernelOf kernel(const std::string &name, const E &epilogue, tile::Transposes transposed,
                         const detail::ScaledGroupedPlan &p, SourceLocation where) {
    return KernelOf(
        name,
        [&](Array<const A, 2> a, Array<const B, 3> b, Array<const float, 2> scale_a, Array<const float, 3> scale_b,
            detail::Offsets offsets, Array<C, 2> c, Extras... extras) {
          const MatmulPlan &plan = p.scaled.plan;
          const auto [i, j] = block_index<2>(where);
          if (p.search.checked) detail::check_offsets(name, offsets, i, j, a.extent(0), where);
          const RowsOfGroup tile = detail::rows_of_group(offsets, i, plan.rows, p.search, where);
          const auto parts =
              detail::scaled_grouped_block_sums<A, B>(a, b, scale_a, scale_b, tile, j, transposed.b, p.scaled, where);
          detail::with_rows_of_group(tile, plan.rows, [&](const RowsOfGroup &rows) {
            for (int part = 0; part < p.scaled.parts(); ++part) {
              const Int column = p.scaled.column(j, part);
              const Tile<float> sums = parts[static_cast<std::size_t>(part)].applied(p.scaled);
              const ScaledSums<A, B> sum(Sums<float>(sums, rows, column, c.extent(1)));
              const Tile<C> values = epilogue(sum, extras...);
              detail::store_rows_of_group(c, rows, Int(column * p.scaled.columns_of_part()), values, where);
            }
          });
        },
        TileOptions{.threads = p.scaled.plan.threads}, where);
  }

  std::shared_ptr<State> state_;
};

template <class E, class Signature = typename detail::EpilogueOf<E>::type>
ScaledGroupedMatmul(std::string, E) -> ScaledGroupedMatmul<Signature>;
template <class E, class Signature = typename detail::EpilogueOf<E>::type>
ScaledGroupedMatmul(std::string, E, MatmulOptions) -> ScaledGroupedMatmul<Signature>;

// Rounded to c's type, for types as in ScaledGroupedByType (ops/grouped_by_type.h). UserError for others, and as for a
// ScaledGroupedMatmul.
void scaled_grouped_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                           const AnyBuffer &offsets, const AnyBuffer &c, const MatmulOptions &options = {},
                           SourceLocation where = std::source_location::current());

}  // namespace samite::ops
