// Products of matrices, c = f(a b), with the epilogue f written in the language of tiles.
//
//   const ops::Matmul product{"product", [](const ops::Sums<float> &s) { return s.values(); }};
//   product.launch(a, b, c);
//
//   // A layer of a network: bias, activation and residual, in half precision.
//   const ops::Matmul layer{"layer", [](const ops::Sums<half> &s, Array<const float, 1> bias,
//                                       Array<const half, 2> residual) {
//                             Tile<float> x = s.values() + s.for_columns(bias);
//                             return tile::cast<half>(x * sigmoid(x) + s.for_elements(residual));
//                           }};
//   layer.launch(a, b, c, bias, residual);
//
// The type of the epilogue's first parameter sets the type of the factors, its result sets the type of c, and the
// further parameters are arguments of the launch: arrays and traced numbers, as for a kernel. It runs on the sums in
// the block's registers, before they are stored.
//
// A launch is that of a TileKernel: it is recorded, put on tapes and into graphs, and differentiated with respect to a,
// b and every floating array of the epilogue. The tiling of the product depends on its shape and the device
// (ops/matmul_plan.h), or on measurements by tune() (ops/tune.h); each plan is captured and compiled once. On a GPU the
// fields that `LaunchOptions::cuda.plan` sets replace the chosen ones, also those of the tile:
//
//   layer.launch({.cuda = {.plan = {.rows = 128, .columns = 128, .inner = 64, .threads = 128, .stages = 6, .teams =
//   2}}},
//                a, b, c, bias, residual);
#pragma once

#include "samite/jit/launch.h"
#include "samite/ops/as_type.h"
#include "samite/ops/kernels.h"
#include "samite/ops/operands.h"
#include "samite/ops/sums.h"
#include "samite/ops/tune.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace samite::ops {

struct MatmulOptions {
  tile::Transposes transposed = {};                   // a is (inner x rows), b is (columns x inner)
  tile::Precision precision = tile::Precision::full;  // for products of float: tile::Precision::tf32 rounds the factors
  // The stream of launches whose own options name none; by default the standard stream of a's device.
  std::optional<Stream> stream = {};
};

namespace detail {

inline LaunchOptions with_stream(LaunchOptions launch, const MatmulOptions &options) {
  if (!launch.stream) launch.stream = options.stream;
  return launch;
}

template <class E>
struct EpilogueOf : EpilogueOf<decltype(&E::operator())> {};
template <class E, Scalar T, Scalar C, class... Ps>
struct EpilogueOf<Tile<C> (E::*)(const Sums<T> &, Ps...) const> {
  using type = Tile<C>(Sums<T>, std::remove_cvref_t<Ps>...);
};

// The block's matrix: one of a batch in three dimensions, or the only one.
template <int Rank, class T>
Tile<std::remove_const_t<T>> load_part(const Array<T, Rank> &matrices, const std::array<Int, Rank> &block,
                                       const Int &row, const Int &column, std::array<int, 2> extents,
                                       SourceLocation where) {
  if constexpr (Rank == 3)
    return tile::load(matrices, {block[0], row, column}, {extents[0], extents[1]}, where);
  else
    return tile::load(matrices, {row, column}, {extents[0], extents[1]}, where);
}
// Tile (row, column) of a factor, in its memory layout if transposed.
template <int Rank, class T>
Tile<std::remove_const_t<T>> load_factor(const Array<T, Rank> &matrices, const std::array<Int, Rank> &block,
                                         const Int &row, const Int &column, std::array<int, 2> extents, bool transposed,
                                         SourceLocation where) {
  if (transposed) return load_part<Rank>(matrices, block, column, row, {extents[1], extents[0]}, where);
  return load_part<Rank>(matrices, block, row, column, extents, where);
}
template <int Rank, Scalar T>
void store_part(const Array<T, Rank> &matrices, const std::array<Int, Rank> &block, const Tile<T> &part,
                SourceLocation where) {
  if constexpr (Rank == 3)
    tile::store(matrices, {block[0], block[1], block[2]}, part, where);
  else
    tile::store(matrices, {block[0], block[1]}, part, where);
}

// The sums of a block's tile of the result.
template <int Rank, Scalar T>
Tile<lang::Accumulator<T>> block_sums(const Array<const T, Rank> &a, const Array<const T, Rank> &b,
                                      const std::array<Int, Rank> &block, const MatmulOptions &options,
                                      const MatmulPlan &plan, SourceLocation where) {
  const Int &i = block[Rank - 2], &j = block[Rank - 1];
  const auto [ta, tb] = options.transposed;
  auto sum = tile::zeros<lang::Accumulator<T>>({plan.rows, plan.columns}, where);
  const Int steps = tile::ceil_div(a.extent(Rank - (ta ? 2 : 1)), plan.inner);
  for (Int k : range(steps, pipelined(plan.stages)))
    tile::matmul(load_factor<Rank>(a, block, i, k, {plan.rows, plan.inner}, ta, where),
                 load_factor<Rank>(b, block, k, j, {plan.inner, plan.columns}, tb, where), sum, options.transposed,
                 options.precision, where);
  return sum;
}

}  // namespace detail

template <class Epilogue>
class Matmul;

template <Scalar T, Scalar C, class... Extras>
class Matmul<Tile<C>(Sums<T>, Extras...)> {
  template <int Rank>
  using KernelOf = TileKernel<void(Array<const T, Rank>, Array<const T, Rank>, Array<C, Rank>, Extras...)>;
  using First = detail::Called<Buffer<T>>;

 public:
  template <class E>
  Matmul(std::string name, const E &epilogue, MatmulOptions options = {},
         SourceLocation where = std::source_location::current())
      : state_(std::make_shared<State>(
            name, options, detail::first_arrays(2), identity_of_operation(name, typeid(void (*)(E, Matmul)).name()),
            [=](const MatmulPlan &plan) { return kernel<2>(name, epilogue, options, plan, where); },
            [=](const MatmulPlan &plan) { return kernel<3>(name, epilogue, options, plan, where); })) {
    lang::check_precision(options.precision == tile::Precision::tf32, scalar_type_of<T>, where);
  }

  // a (rows x inner), b (inner x columns), c (rows x columns), or batches of these in three dimensions. UserError if
  // their shapes do not match, or if a written array shares memory with another one, unless that is the same view and
  // not a factor; DeviceError as for a launch.
  void launch(const First &a, const Buffer<T> &b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    launch(LaunchOptions{}, a, b, c, extras...);
  }
  void launch(const LaunchOptions &options, const First &a, const Buffer<T> &b, const Buffer<C> &c,
              jit::ArgumentFor<Extras>... extras) const {
    with_kernel(options, a, b, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      kernel.launch(blocks, detail::with_stream(options, state_->options), a.buffer, b, c, extras...);
    });
  }
  Launch record(const First &a, const Buffer<T> &b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return record(LaunchOptions{}, a, b, c, extras...);
  }
  Launch record(const LaunchOptions &options, const First &a, const Buffer<T> &b, const Buffer<C> &c,
                jit::ArgumentFor<Extras>... extras) const {
    return with_kernel(options, a, b, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      return kernel.record(blocks, detail::with_stream(options, state_->options), a.buffer, b, c, extras...);
    });
  }

  // Finds the fastest plan for arrays of these extents by measurement, and keeps it for later launches.
  TunedPlan tune(const First &a, const Buffer<T> &b, const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return tune(TuneOptions{}, a, b, c, extras...);
  }
  TunedPlan tune(const TuneOptions &options, const First &a, const Buffer<T> &b, const Buffer<C> &c,
                 jit::ArgumentFor<Extras>... extras) const {
    const PlannedProduct product = planned_product(a.buffer, b, c, a.where);
    return detail::tune_plan(
        state_->name, product, options,
        [&](const MatmulPlan &plan) {
          return with_plan(product.shape, plan, a, [&](const auto &kernel, const LaunchExtents &blocks) {
            return kernel.record(blocks, a.buffer, b, c, extras...);
          });
        },
        a.where);
  }

  const std::string &name() const { return state_->name; }
  // The kernels for matrices, and those for batches, of all launches so far: for report().
  std::vector<KernelOf<2>> kernels() const { return state_->matrices.all(); }
  std::vector<KernelOf<3>> kernels_of_batches() const { return state_->batches.all(); }

 private:
  using State = detail::Operation<MatmulOptions, MatmulPlan, KernelOf<2>, KernelOf<3>>;

  PlannedProduct planned_product(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &c,
                                 SourceLocation where) const {
    const auto &options = state_->options;
    return {state_->identity, matmul_shape(state_->name, {a, b, c, options.transposed}, where),
            MatmulFactors{.type = scalar_type_of<T>,
                          .precision = options.precision,
                          .transposed = options.transposed,
                          .differentiated = a.tracks_gradient() || b.tracks_gradient() || c.tracks_gradient(),
                          .copied_where_that_pays = true},
            a.device()};
  }
  template <class F>
  decltype(auto) with_plan(const MatmulShape &shape, const MatmulPlan &plan, const First &a, const F &function) const {
    const bool in_batches = a.buffer.rank() == 3;
    const LaunchExtents blocks(matmul_blocks(shape, plan, in_batches), a.where);
    if (in_batches) return function(state_->batches.at(plan), blocks);
    return function(state_->matrices.at(plan), blocks);
  }
  template <class F>
  decltype(auto) with_kernel(const LaunchOptions &options, const First &a, const AnyBuffer &b, const AnyBuffer &c,
                             const F &function) const {
    const PlannedProduct product = planned_product(a.buffer, b, c, a.where);
    MatmulPlan plan = chosen_plan(product);
    if (product.device.kind() == DeviceKind::cuda) plan = obeying(options.cuda.plan, plan);
    return with_plan(product.shape, plan, a, function);
  }

  template <int Rank, class E>
  static KernelOf<Rank> kernel(const std::string &name, const E &epilogue, const MatmulOptions &options,
                               const MatmulPlan &plan, SourceLocation where) {
    return KernelOf<Rank>(
        name,
        [&](Array<const T, Rank> a, Array<const T, Rank> b, Array<C, Rank> c, Extras... extras) {
          const std::array<Int, Rank> block = block_index<Rank>(where);
          const Int &i = block[Rank - 2], &j = block[Rank - 1];
          auto sum = detail::block_sums<Rank, T>(a, b, block, options, plan, where);
          detail::store_part<Rank>(
              c, block,
              Tile<C>(epilogue(Sums<T>(std::move(sum), i, j, c.extent(Rank - 2), c.extent(Rank - 1)), extras...)),
              where);
        },
        TileOptions{.threads = plan.threads}, where);
  }

  std::shared_ptr<State> state_;
};

template <class E, class Signature = typename detail::EpilogueOf<E>::type>
Matmul(std::string, E) -> Matmul<Signature>;
template <class E, class Signature = typename detail::EpilogueOf<E>::type>
Matmul(std::string, E, MatmulOptions) -> Matmul<Signature>;

// c = a b, rounded to c's type, for types as in MatmulByType (ops/matmul_by_type.h). UserError for others, and as for a
// Matmul.
void matmul(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &c, const MatmulOptions &options = {},
            SourceLocation where = std::source_location::current());

}  // namespace samite::ops
