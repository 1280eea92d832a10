// A layer's epilogue for the sums of a block's tile (ops/matmul_by_type.h), and kernels with it: their parameters are
// the common ones, then a bias and a residual if there are such, then the result.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/ops/matmul.h"
#include "samite/ops/matmul_by_type.h"

#include <numbers>
#include <vector>

namespace samite::ops::detail {

template <Scalar S>
Tile<S> activated(Activation activation, const Tile<S> &x) {
  if constexpr (FloatingScalar<S>) {
    switch (activation) {
      case Activation::none: break;
      case Activation::relu: return max(x, S(0));
      case Activation::silu: return x / (S(1) + exp(-x));
      case Activation::gelu: return x * (S(0.5) * (S(1) + erf(x * S(1 / std::numbers::sqrt2))));
      case Activation::tanh: return tanh(x);
      case Activation::sigmoid: return S(1) / (S(1) + exp(-x));
    }
  }
  return x;
}

// A kernel of (factors…, bias, residual, c); `sums` computes, from the factors, the sums of each column part of a
// block's tile.
template <int Rank, Scalar C, class... Factors>
struct LayerKernel {
  using Bias = Array<const C, 1>;
  using Matrices = Array<const C, Rank>;
  using Result = Array<C, Rank>;

  template <class Sums>
  static std::shared_ptr<jit::KernelDefinition> made(const char *name, const LayerEpilogue &epilogue,
                                                     const MatmulPlan &plan, const Sums &sums) {
    if (epilogue.bias && epilogue.residual) return with<Bias, Matrices>(name, epilogue, plan, sums);
    if (epilogue.bias) return with<Bias>(name, epilogue, plan, sums);
    if (epilogue.residual) return with<Matrices>(name, epilogue, plan, sums);
    return with<>(name, epilogue, plan, sums);
  }

 private:
  template <class P>
  static std::string name_of() {
    return std::same_as<P, Bias> ? "bias" : "residual";
  }

  template <class... More, class Sums>
  static std::shared_ptr<jit::KernelDefinition> with(const char *name, const LayerEpilogue &epilogue,
                                                     const MatmulPlan &plan, const Sums &sums) {
    const auto function = [&](const Factors &...factors, const More &...more, const Result &c) {
      const SourceLocation where = std::source_location::current();
      const std::array<Int, Rank> block = block_index<Rank>(where);
      const std::vector parts = sums(block, factors...);
      const int count = static_cast<int>(parts.size()), width = plan.columns / count;
      for (int part = 0; part < count; ++part) {
        std::array<Int, Rank> own = block;
        if (count != 1) own[Rank - 1] = block[Rank - 1] * count + part;
        const Int &i = own[Rank - 2], &j = own[Rank - 1];
        auto x = parts[static_cast<std::size_t>(part)];
        using S = typename decltype(x)::value_type;
        const auto add = [&]<class P>(const P &array) {
          if constexpr (std::same_as<P, Bias>)
            x = x + tile::reshape(as_type<S>(tile::load(array, {j}, {width}, where)), {1, width}, where);
          else
            x = x + as_type<S>(load_part<Rank>(array, own, i, j, {plan.rows, width}, where));
        };
        [[maybe_unused]] const auto add_bias = [&]<class P>(const P &array) {
          if constexpr (std::same_as<P, Bias>) add(array);
        };
        [[maybe_unused]] const auto add_residual = [&]<class P>(const P &array) {
          if constexpr (!std::same_as<P, Bias>) add(array);
        };
        (add_bias(more), ...);
        x = activated(epilogue.activation, x);
        (add_residual(more), ...);
        store_part<Rank>(c, own, as_type<C>(x), where);
      }
    };
    const auto kernel = [&](const Names &names) {
      return TileKernel<void(Factors..., More..., Result)>(name, names, function, TileOptions{.threads = plan.threads})
          .definition();
    };
    if constexpr (sizeof...(Factors) == 2)
      return kernel({"a", "b", name_of<More>()..., "c"});
    else
      return kernel({"a", "b", "scale_a", "scale_b", name_of<More>()..., "c"});
  }
};

}  // namespace samite::ops::detail
