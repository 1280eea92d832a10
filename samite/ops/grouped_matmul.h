// Grouped products of rows, each group with its own matrix, for mixtures of experts:
//
//   c[offsets[g] .. offsets[g + 1]] = f(a[offsets[g] .. offsets[g + 1]] b[g])
//
//   ops::grouped_matmul(a, b, offsets, c);   // a (rows x inner), b (groups x inner x columns), c (rows x columns)
//
//   const ops::GroupedMatmul experts{"experts", [](const ops::Sums<bfloat16> &s, Array<const float, 2> bias) {
//                                      Tile<float> x = s.values() + s.for_columns(bias);   // bias of each group
//                                      return tile::cast<bfloat16>(x / (1.0f + exp(-x)));
//                                    }};
//   experts.launch(a, b, offsets, c, bias);
//
// `offsets` has one number more than there are groups, and is on the device: it increases from 0 on, up to the number
// of rows at most. A group may be empty. Rows of c that are in no group stay unchanged. Offsets that decrease, or
// exceed the rows, are a UserError with the group on the CPU and in debug mode; otherwise all accesses stay inside the
// arrays, but c is meaningless.
//
// Epilogues are those of ops/matmul.h. A launch is recorded, put on tapes and into graphs, and differentiated with
// respect to a, b and every floating array of the epilogue. Rows of a that are in no group do not contribute to any
// gradient.
#pragma once

#include "samite/ops/matmul.h"

namespace samite::ops {

struct GroupedOperands {
  const AnyBuffer &a, &b, &offsets, &c;
  bool b_transposed;
};

// UserError with `where`, and with what was expected and given, if shapes or devices do not match.
GroupedShape grouped_shape(const std::string &name, const GroupedOperands &operands, SourceLocation where);
// UserError for a transposed a: groups of its rows would begin anywhere in the rows in memory.
void refuse_transposed_rows(const std::string &name, const tile::Transposes &transposed, SourceLocation where);
// Whether a launch checks that the offsets increase.
bool checks_offsets(const LaunchOptions &options, Device device);
// Whether it is an adjoint's, or is recorded on a tape and gradients pass c.
bool is_differentiated(const LaunchOptions &options, const AnyBuffer &c);

namespace detail {

struct GroupedPlan {
  MatmulPlan plan;
  GroupSearch search;

  friend auto operator<=>(const GroupedPlan &, const GroupedPlan &) = default;
};

// The iterations of a block's sum: none if it has no rows.
inline Int steps_of_group(const RowsOfGroup &rows, const Int &inner, const MatmulPlan &plan) {
  return select(rows.height > 0, tile::ceil_div(inner, plan.inner), 0);
}

// The sums of a block's tile, for these rows.
template <Scalar T>
Tile<lang::Accumulator<T>> grouped_block_sums(const Array<const T, 2> &a, const Array<const T, 3> &b,
                                              const RowsOfGroup &rows, const Int &column, const MatmulOptions &options,
                                              const MatmulPlan &plan, SourceLocation where) {
  auto sum = tile::zeros<lang::Accumulator<T>>({plan.rows, plan.columns}, where);
  const bool tb = options.transposed.b;
  for (Int k : range(steps_of_group(rows, a.extent(1), plan), pipelined(plan.stages)))
    tile::matmul(load_rows_of_group(a, rows, k * plan.inner, {plan.rows, plan.inner}, where),
                 tb ? tile::load(b, {rows.group, column, k}, {plan.columns, plan.inner}, where)
                    : tile::load(b, {rows.group, k, column}, {plan.inner, plan.columns}, where),
                 sum, {.b = tb}, options.precision, where);
  return sum;
}

}  // namespace detail

template <class Epilogue>
class GroupedMatmul;

template <Scalar T, Scalar C, class... Extras>
class GroupedMatmul<Tile<C>(Sums<T>, Extras...)> {
  using KernelOf = TileKernel<void(Array<const T, 2>, Array<const T, 3>, detail::Offsets, Array<C, 2>, Extras...)>;
  using Rows = Buffer<std::int32_t>;
  using First = detail::Called<Buffer<T>>;

 public:
  template <class E>
  GroupedMatmul(std::string name, const E &epilogue, MatmulOptions options = {},
                SourceLocation where = std::source_location::current())
      : state_(std::make_shared<State>(name, options, detail::first_arrays(3), [=](const detail::GroupedPlan &plan) {
          return kernel(name, epilogue, options, plan, where);
        })) {
    lang::check_precision(options.precision == tile::Precision::tf32, scalar_type_of<T>, where);
    refuse_transposed_rows(name, options.transposed, where);
  }

  // a (rows x inner), b (groups x inner x columns), or transposed (groups x columns x inner), offsets (groups + 1), c
  // (rows x columns). UserError if their shapes do not match, DeviceError as for a launch.
  void launch(const First &a, const Buffer<T> &b, const Rows &offsets, const Buffer<C> &c,
              jit::ArgumentFor<Extras>... extras) const {
    launch(LaunchOptions{}, a, b, offsets, c, extras...);
  }
  void launch(const LaunchOptions &options, const First &a, const Buffer<T> &b, const Rows &offsets, const Buffer<C> &c,
              jit::ArgumentFor<Extras>... extras) const {
    with_kernel(options, a, b, offsets, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      kernel.launch(blocks, detail::with_stream(options, state_->options), a.buffer, b, offsets, c, extras...);
    });
  }
  Launch record(const First &a, const Buffer<T> &b, const Rows &offsets, const Buffer<C> &c,
                jit::ArgumentFor<Extras>... extras) const {
    return record(LaunchOptions{}, a, b, offsets, c, extras...);
  }
  Launch record(const LaunchOptions &options, const First &a, const Buffer<T> &b, const Rows &offsets,
                const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return with_kernel(options, a, b, offsets, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      return kernel.record(blocks, detail::with_stream(options, state_->options), a.buffer, b, offsets, c, extras...);
    });
  }

  const std::string &name() const { return state_->name; }
  // The kernels of all launches so far: for report().
  std::vector<KernelOf> kernels() const { return state_->kernels.all(); }

 private:
  using State = detail::OneOperation<MatmulOptions, detail::GroupedPlan, KernelOf>;

  template <class F>
  decltype(auto) with_kernel(const LaunchOptions &launch, const First &first, const AnyBuffer &b,
                             const AnyBuffer &offsets, const AnyBuffer &c, const F &function) const {
    const auto &options = state_->options;
    const AnyBuffer &a = first.buffer;
    const GroupedShape shape = grouped_shape(state_->name, {a, b, offsets, c, options.transposed.b}, first.where);
    const MatmulFactors factors{scalar_type_of<T>, options.precision, options.transposed};
    const PlanDevice device = plan_device(a.device());
    const MatmulPlan plan = is_differentiated(launch, c) ? differentiated_grouped_plan(shape, factors, device)
                                                         : grouped_plan(shape, factors, device);
    return function(
        state_->kernels.at({plan, detail::GroupSearch::of(shape.groups, checks_offsets(launch, a.device()))}),
        LaunchExtents(grouped_blocks(shape, plan), first.where));
  }

  template <class E>
  static KernelOf kernel(const std::string &name, const E &epilogue, const MatmulOptions &options,
                         const detail::GroupedPlan &p, SourceLocation where) {
    return KernelOf(
        name,
        [&](Array<const T, 2> a, Array<const T, 3> b, detail::Offsets offsets, Array<C, 2> c, Extras... extras) {
          const MatmulPlan &plan = p.plan;
          const auto [i, j] = block_index<2>(where);
          if (p.search.checked) detail::check_offsets(name, offsets, i, j, a.extent(0), where);
          const RowsOfGroup tile = detail::rows_of_group(offsets, i, plan.rows, p.search, where);
          const auto sum = detail::grouped_block_sums<T>(a, b, tile, j, options, plan, where);
          detail::with_rows_of_group(tile, plan.rows, [&](const RowsOfGroup &rows) {
            const Tile<C> values = epilogue(Sums<T>(sum, rows, j, c.extent(1)), extras...);
            detail::store_rows_of_group(c, rows, Int(j * plan.columns), values, where);
          });
        },
        TileOptions{.threads = p.plan.threads}, where);
  }

  std::shared_ptr<State> state_;
};

template <class E, class Signature = typename detail::EpilogueOf<E>::type>
GroupedMatmul(std::string, E) -> GroupedMatmul<Signature>;
template <class E, class Signature = typename detail::EpilogueOf<E>::type>
GroupedMatmul(std::string, E, MatmulOptions) -> GroupedMatmul<Signature>;

// Rounded to c's type, for types as in GroupedByType (ops/grouped_by_type.h). UserError for others, and as for a
// GroupedMatmul.
void grouped_matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &offsets, const AnyBuffer &c,
                    const MatmulOptions &options = {}, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
