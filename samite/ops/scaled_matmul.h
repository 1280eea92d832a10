// Products of matrices of 8-bit floating numbers with scales, c = f((a scale_a) (b scale_b)).
//
//   ops::scaled_matmul(a, b, scale_a, scale_b, c);
//
//   const auto layer = ops::scaled_product<f8e4m3>(
//       "layer", [](const ops::Sums<float> &s, Array<const float, 1> bias) {
//         return tile::cast<bfloat16>(s.values() + s.for_columns(bias));
//       });
//   layer.launch(a, b, scale_a, scale_b, c, bias);
//
// Which numbers share a scale is read off the scales' extents (ops/scales.h); a and b choose for themselves. Products
// are added up in float. Scales that change along the sum are applied to the sums of 128 terms, others to the sums of
// all. One factor may be f8e5m2, as gradients are in training; of two such factors a product would have two digits, and
// is refused.
//
// The epilogue is that of ops/matmul.h, on sums that are scaled. An 8-bit result is rounded to the nearest number and
// stays within the type's range: `tile::cast<f8e4m3>(s.values() * scale)`.
#pragma once

#include "samite/ops/matmul.h"
#include "samite/ops/scales.h"

#include <optional>
#include <vector>

namespace samite::ops {

namespace detail {

struct ScaledPlan {
  MatmulPlan plan;
  ScaleGroups a, b;

  bool by_terms() const { return a.columns != ScaleGroup::all || b.rows != ScaleGroup::all; }
  friend auto operator<=>(const ScaledPlan &, const ScaledPlan &) = default;
};

// Factors of two types are multiplied as halves, which hold both. `x` meets a factor of Other.
template <Scalar Other, Scalar T>
auto with_half(const Tile<T> &x) {
  if constexpr (std::same_as<Other, T>)
    return x;
  else
    return tile::cast<half>(x);
}

// The scales that a block's tile needs, to be multiplied with its elements: (rows x 1) or (1 x columns), or one number
// of each, (1 x 1). `i` and `j` count tiles of the result, `k` blocks of 128 terms.
template <int Rank>
Tile<float> scales_of_rows(const Array<const float, Rank> &scales, const std::array<Int, Rank> &block, const Int &k,
                           const ScaledPlan &p, SourceLocation where) {
  const Int &i = block[Rank - 2];
  const Int at = p.a.columns == ScaleGroup::all ? Int(0) : Int(k);
  if (p.a.rows == ScaleGroup::one) return load_part<Rank>(scales, block, i, at, {p.plan.rows, 1}, where);
  const Int row = p.a.rows == ScaleGroup::all ? Int(0) : Int(i * p.plan.rows / scale_block);
  return load_part<Rank>(scales, block, row, at, {1, 1}, where);
}
template <int Rank>
Tile<float> scales_of_columns(const Array<const float, Rank> &scales, const std::array<Int, Rank> &block, const Int &k,
                              const ScaledPlan &p, SourceLocation where) {
  const Int &j = block[Rank - 1];
  const Int at = p.b.rows == ScaleGroup::all ? Int(0) : Int(k);
  if (p.b.columns == ScaleGroup::one) return load_part<Rank>(scales, block, at, j, {1, p.plan.columns}, where);
  const Int column = p.b.columns == ScaleGroup::all ? Int(0) : Int(j * p.plan.columns / scale_block);
  return load_part<Rank>(scales, block, at, column, {1, 1}, where);
}

// The scales of 128 terms of a block's tile of the result. Those of single rows and columns are read for each element,
// where they are needed: threads that wait for each other in each iteration would take longer. What is one number is
// read first.
template <int Rank>
class ScalesOfTerms {
 public:
  using Scales = Array<const float, Rank>;

  ScalesOfTerms(const Scales &a, const Scales &b, const std::array<Int, Rank> &block, const Int &k, const ScaledPlan &p,
                SourceLocation where)
      : a_(a),
        b_(b),
        block_(block),
        p_(p),
        where_(where),
        row_(block[Rank - 2] * p.plan.rows),
        column_(block[Rank - 1] * p.plan.columns),
        of_a_(p.a.columns == ScaleGroup::all ? Int(0) : Int(k)),
        of_b_(p.b.rows == ScaleGroup::all ? Int(0) : Int(k)) {
    if (p.a.rows != ScaleGroup::one)
      multiply(at(a, p.a.rows == ScaleGroup::all ? Int(0) : Int(row_ / scale_block), of_a_));
    if (p.b.columns != ScaleGroup::one)
      multiply(at(b, of_b_, p.b.columns == ScaleGroup::all ? Int(0) : Int(column_ / scale_block)));
  }

  Tile<float> of(const Tile<float> &product) const {
    const bool rows = p_.a.rows == ScaleGroup::one, columns = p_.b.columns == ScaleGroup::one;
    if (!rows && !columns) return product * *number_;
    Tile<float> scales = rows ? of_each(a_, row_, of_a_, {1, 0}) : of_each(b_, of_b_, column_, {0, 1});
    if (rows && columns) return product * (scales * of_each(b_, of_b_, column_, {0, 1}));
    return product * (scales * *number_);
  }

 private:
  void multiply(const Float &scale) {
    const Float product = number_ ? Float(*number_ * scale) : scale;
    number_.emplace(product);
  }

  Float at(const Scales &scales, const Int &i, const Int &j) const {
    if constexpr (Rank == 3)
      return scales(block_[0], i, j);
    else
      return scales(i, j);
  }
  Tile<float> of_each(const Scales &scales, const Int &i, const Int &j, std::vector<std::int64_t> steps) const {
    const tile::View view{.steps = std::move(steps)};
    if constexpr (Rank == 3)
      return tile::load_view(scales, {block_[0], i, j}, {p_.plan.rows, p_.plan.columns}, view, where_);
    else
      return tile::load_view(scales, {i, j}, {p_.plan.rows, p_.plan.columns}, view, where_);
  }

  const Scales &a_, &b_;
  const std::array<Int, Rank> &block_;
  const ScaledPlan &p_;
  SourceLocation where_;
  Int row_, column_, of_a_, of_b_;
  std::optional<Float> number_;  // the scale, or the product of both, that is one for all elements
};

// The sums of a block's tile of the result.
template <int Rank, Scalar A, Scalar B>
Tile<float> scaled_block_sums(const Array<const A, Rank> &a, const Array<const B, Rank> &b,
                              const Array<const float, Rank> &scale_a, const Array<const float, Rank> &scale_b,
                              const std::array<Int, Rank> &block, tile::Transposes transposed, const ScaledPlan &p,
                              SourceLocation where) {
  const Int &i = block[Rank - 2], &j = block[Rank - 1];
  const MatmulPlan &plan = p.plan;
  Tile<float> sum = tile::zeros<float>({plan.rows, plan.columns}, where);
  const auto scales = [&](const Int &k) {
    return scales_of_rows<Rank>(scale_a, block, k, p, where) * scales_of_columns<Rank>(scale_b, block, k, p, where);
  };
  const Int steps = tile::ceil_div(a.extent(Rank - (transposed.a ? 2 : 1)), plan.inner);
  for (Int k : range(steps, pipelined(plan.stages))) {
    const auto left = load_factor<Rank>(a, block, i, k, {plan.rows, plan.inner}, transposed.a, where);
    const auto right = load_factor<Rank>(b, block, k, j, {plan.inner, plan.columns}, transposed.b, where);
    const auto product = [&] {
      return tile::matmul(with_half<B>(left), with_half<A>(right), transposed, tile::Precision::full, where);
    };
    if (!p.by_terms()) {
      tile::matmul(with_half<B>(left), with_half<A>(right), sum, transposed, where);
    } else if (plan.stages == 1) {
      sum += product() * scales(k);
    } else {
      const ScalesOfTerms<Rank> scales_of_terms(scale_a, scale_b, block, k, p, where);
      sum += scales_of_terms.of(product());
    }
  }
  if (!p.by_terms()) sum = sum * scales(Int(0));
  return sum;
}

// How a product with scales of these groups is cut. UserError where there is a scale for each term.
inline ScaledPlan scaled_plan(const std::string &name, const MatmulShape &shape, MatmulFactors factors,
                              const ScaleGroups &of_a, const ScaleGroups &of_b, const MatmulDevice &device,
                              SourceLocation where) {
  if (of_a.columns == ScaleGroup::one || of_b.rows == ScaleGroup::one) refuse_scale_for_each_term(name, where);
  ScaledPlan plan{{}, of_a, of_b};
  factors.block_scales = plan.by_terms();
  plan.plan = matmul_plan(shape, factors, device);
  return plan;
}

}  // namespace detail

template <Scalar A, Scalar B, class Epilogue>
class ScaledMatmul;

template <Scalar A, Scalar B, Scalar C, class... Extras>
class ScaledMatmul<A, B, Tile<C>(Sums<float>, Extras...)> {
  static_assert((std::same_as<A, f8e4m3> || std::same_as<A, f8e5m2>) &&
                    (std::same_as<B, f8e4m3> || std::same_as<B, f8e5m2>),
                "a scaled product has factors of f8e4m3 or f8e5m2; ops::Matmul multiplies other types");
  static_assert(!std::same_as<A, f8e5m2> || !std::same_as<B, f8e5m2>,
                "two factors of f8e5m2 leave two digits of a product; quantise one of them to f8e4m3");
  template <int Rank>
  using KernelOf = TileKernel<void(Array<const A, Rank>, Array<const B, Rank>, Array<const float, Rank>,
                                   Array<const float, Rank>, Array<C, Rank>, Extras...)>;

 public:
  template <class E>
  ScaledMatmul(std::string name, const E &epilogue, tile::Transposes transposed = {},
               SourceLocation where = std::source_location::current())
      : state_(std::make_shared<State>(
            name, transposed, where,
            [=](const detail::ScaledPlan &plan) { return kernel<2>(name, epilogue, transposed, plan, where); },
            [=](const detail::ScaledPlan &plan) { return kernel<3>(name, epilogue, transposed, plan, where); })) {}

  // a (rows x inner), b (inner x columns), c (rows x columns), with scales as ops/scales.h has them of a matrix of
  // (rows x inner) and one of (inner x columns), whether these lie transposed or not; or as many of each in three
  // dimensions. UserError where they do not fit each other, DeviceError as a launch.
  void launch(const Buffer<A> &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
              const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    with_kernel(a, b, scale_a, scale_b, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      kernel.launch(blocks, a, b, scale_a, scale_b, c, extras...);
    });
  }
  Launch record(const Buffer<A> &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
                const Buffer<C> &c, jit::ArgumentFor<Extras>... extras) const {
    return with_kernel(a, b, scale_a, scale_b, c, [&](const auto &kernel, const LaunchExtents &blocks) {
      return kernel.record(blocks, a, b, scale_a, scale_b, c, extras...);
    });
  }

  const std::string &name() const { return state_->name; }
  std::vector<KernelOf<2>> kernels() const { return state_->matrices.all(); }
  std::vector<KernelOf<3>> kernels_of_batches() const { return state_->batches.all(); }

 private:
  using State = detail::Operation<tile::Transposes, detail::ScaledPlan, KernelOf<2>, KernelOf<3>>;

  template <class F>
  decltype(auto) with_kernel(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &scale_a, const AnyBuffer &scale_b,
                             const AnyBuffer &c, const F &function) const {
    const std::string &name = state_->name;
    const tile::Transposes transposed = state_->options;
    const SourceLocation where = state_->where;
    const MatmulShape shape = matmul_shape(name, {a, b, c, transposed}, where);
    const std::int64_t count = a.rank() == 3 ? shape.batches : 0;
    const detail::ScaledPlan plan = detail::scaled_plan(
        name, shape, {.type = scalar_type_of<A>, .transposed = transposed, .converted = !std::same_as<A, B>},
        scale_groups(name, "scale_a", scale_a, count, shape.rows, shape.inner, where),
        scale_groups(name, "scale_b", scale_b, count, shape.inner, shape.columns, where), matmul_device(a.device()),
        where);
    const LaunchExtents blocks(matmul_blocks(shape, plan.plan, a.rank() == 3), where);
    if (a.rank() == 3) return function(state_->batches.at(plan), blocks);
    return function(state_->matrices.at(plan), blocks);
  }

  template <int Rank, class E>
  static KernelOf<Rank> kernel(const std::string &name, const E &epilogue, tile::Transposes transposed,
                               const detail::ScaledPlan &p, SourceLocation where) {
    return KernelOf<Rank>(
        name,
        [&](Array<const A, Rank> a, Array<const B, Rank> b, Array<const float, Rank> scale_a,
            Array<const float, Rank> scale_b, Array<C, Rank> c, Extras... extras) {
          const std::array<Int, Rank> block = block_index<Rank>(where);
          const Int &i = block[Rank - 2], &j = block[Rank - 1];
          auto sum = detail::scaled_block_sums<Rank, A, B>(a, b, scale_a, scale_b, block, transposed, p, where);
          detail::store_part<Rank>(
              c, block,
              Tile<C>(epilogue(Sums<float>(std::move(sum), i, j, c.extent(Rank - 2), c.extent(Rank - 1)), extras...)),
              where);
        },
        TileOptions{.threads = p.plan.threads}, where);
  }

  std::shared_ptr<State> state_;
};

// Of factors of A and B with an epilogue, for many launches.
template <Scalar A, Scalar B = A, class E>
auto scaled_product(std::string name, const E &epilogue, tile::Transposes transposed = {},
                    SourceLocation where = std::source_location::current()) {
  return ScaledMatmul<A, B, typename detail::EpilogueOf<E>::type>(std::move(name), epilogue, transposed, where);
}

// Rounded to C.
template <Scalar A, Scalar B, Scalar C>
void scaled_matmul(const Buffer<A> &a, const Buffer<B> &b, const Buffer<float> &scale_a, const Buffer<float> &scale_b,
                   const Buffer<C> &c, tile::Transposes transposed = {}) {
  using Plain = ScaledMatmul<A, B, Tile<C>(Sums<float>)>;
  static detail::Kernels<std::array<bool, 2>, Plain> made([](const std::array<bool, 2> &key) {
    return Plain("scaled_matmul", [](const Sums<float> &s) { return detail::as_type<C>(s.values()); },
                 {key[0], key[1]});
  });
  made.at({transposed.a, transposed.b}).launch(a, b, scale_a, scale_b, c);
}

}  // namespace samite::ops
