// The kernels of attention (ops/attention.h), for one type and one way to cut rows into tiles.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/ops/as_type.h"
#include "samite/ops/attention_plan.h"

#include <limits>
#include <numbers>

namespace samite::ops::detail {

template <Scalar T>
struct AttentionKernels {
  using S = lang::Accumulator<T>;
  using In = Array<const T, 4>;
  using Out = Array<T, 4>;
  using Rows = Array<S, 3>;
  using RowsIn = Array<const S, 3>;
  using Number = Traced<S>;
  using Forward = TileKernel<void(In, In, In, Out, Rows, Number)>;
  using OfQueries = TileKernel<void(In, In, In, In, RowsIn, In, Out, Rows, Number)>;
  using OfKeys = TileKernel<void(In, In, In, RowsIn, RowsIn, In, Out, Out, Number)>;

  // Powers are those of two, which are fewer instructions than those of e.
  static constexpr S binary_logarithm_of_e = std::numbers::log2e_v<S>;

  // A head of a batch, and which tile of its rows the block has.
  struct Block {
    Int batch, head, tile;
    Block() {
      auto [i, j, k] = block_index<3>();
      batch = i, head = j, tile = k;
    }
  };

  static Tile<T> rows_of(const In &x, const Block &block, const Int &tile, int rows, const AttentionPlan &plan) {
    return tile::load(x, {block.batch, block.head, tile, 0}, {rows, plan.size});
  }
  static void store_rows(const Out &x, const Block &block, const Tile<S> &values) {
    tile::store(x, {block.batch, block.head, block.tile, 0}, detail::as_type<T>(values));
  }
  // The sum of each row of the products of two arrays' elements: by parts of the rows, each of which takes memory.
  static Tile<S> row_products(const In &x, const In &y, const Block &block, const AttentionPlan &plan) {
    const int part = plan.size % 64 == 0 ? 64 : plan.size;
    const auto factor = [&](const In &of, int number) {
      return detail::as_type<S>(tile::load(of, {block.batch, block.head, block.tile, number}, {plan.queries, part}));
    };
    Tile<S> sum = tile::sum(factor(x, 0) * factor(y, 0), {1});
    for (int number = 1; number < plan.size / part; ++number)
      sum = sum + tile::sum(factor(x, number) * factor(y, number), {1});
    return sum;
  }
  static Tile<S> column_of(const RowsIn &x, const Block &block, const Int &tile, const AttentionPlan &plan) {
    return tile::reshape(tile::load(x, {block.batch, block.head, tile}, {plan.queries}), {plan.queries, 1});
  }
  // Which rows of k, in tile j, those of q in tile i see. Rows of q beyond the last are zero, as their cotangents are.
  static Tile<bool> seen(const In &k, const Int &i, const Int &j, const AttentionPlan &plan) {
    const Tile<std::int32_t> key = tile::coordinate({plan.queries, plan.keys}, 1) + j * plan.keys;
    Tile<bool> inside = key < k.extent(2);
    if (!plan.causal) return inside;
    return inside && key <= tile::coordinate({plan.queries, plan.keys}, 0) + i * plan.queries;
  }

  static Forward forward(const AttentionPlan &plan) {
    return {"attention",
            {"q", "k", "v", "out", "row_sums", "scale"},
            [=](In q, In k, In v, Out out, Rows row_sums, const Number &scale) {
              const Block block;
              const Tile<T> own = rows_of(q, block, block.tile, plan.queries, plan);
              const Number scale_of_logarithm = scale * binary_logarithm_of_e;
              // The result does not depend on what is subtracted from products, so that it has no gradient.
              Tile<S> largest = tile::full<S>({plan.queries, 1}, std::numeric_limits<S>::lowest() / 2);
              Tile<S> sum = tile::zeros<S>({plan.queries, 1});
              Tile<S> weighted = tile::zeros<S>({plan.queries, plan.size});
              for (Int j : range(tiles_seen(k, block, plan), pipelined(plan.stages))) {
                Tile<S> products =
                    tile::matmul(own, rows_of(k, block, j, plan.keys, plan), tile::Transposes{.b = true}) *
                    scale_of_logarithm;
                products = select(seen(k, block.tile, j, plan), products, -std::numeric_limits<S>::infinity());
                // What there is of each row is computed together, before the powers of all.
                const Tile<S> next = stop_gradient(max(largest, tile::max(products, {1})));
                const Tile<S> smaller = fast_exp2(largest - next), powers = fast_exp2(products - next);
                sum = sum * smaller + tile::sum(powers, {1});
                weighted = weighted * smaller;
                tile::matmul(detail::as_type<T>(powers), rows_of(v, block, j, plan.keys, plan), weighted);
                largest = next;
              }
              store_rows(out, block, weighted / sum);
              tile::store(row_sums, {block.batch, block.head, block.tile},
                          tile::reshape((largest + log2(sum)) * (1 / binary_logarithm_of_e), {plan.queries}));
            },
            TileOptions{.threads = plan.threads}};
  }

  // Of softmax: weights p, and d(objective) / d(products) = p (out_gradient vᵀ - the row's sum of out_gradient out).
  static OfQueries of_queries(const AttentionPlan &plan) {
    return {"attention_of_queries",
            {"q", "k", "v", "out", "row_sums", "out_gradient", "q_gradient", "products", "scale"},
            [=](In q, In k, In v, In out, RowsIn row_sums, In out_gradient, Out q_gradient, Rows products,
                const Number &scale) {
              const Block block;
              const Tile<T> own = rows_of(q, block, block.tile, plan.queries, plan);
              const Tile<T> cotangent = rows_of(out_gradient, block, block.tile, plan.queries, plan);
              const Tile<S> product = row_products(out, out_gradient, block, plan);
              tile::store(products, {block.batch, block.head, block.tile}, tile::reshape(product, {plan.queries}));
              const Number scale_of_logarithm = scale * binary_logarithm_of_e;
              const Tile<S> logarithm = column_of(row_sums, block, block.tile, plan) * binary_logarithm_of_e;
              Tile<S> gradient = tile::zeros<S>({plan.queries, plan.size});
              for (Int j : range(tiles_seen(k, block, plan), pipelined(plan.stages))) {
                const Tile<T> keys = rows_of(k, block, j, plan.keys, plan);
                const Tile<S> weights = select(
                    seen(k, block.tile, j, plan),
                    fast_exp2(tile::matmul(own, keys, tile::Transposes{.b = true}) * scale_of_logarithm - logarithm),
                    S(0));
                const Tile<S> of_weights =
                    tile::matmul(cotangent, rows_of(v, block, j, plan.keys, plan), tile::Transposes{.b = true});
                tile::matmul(detail::as_type<T>(weights * (of_weights - product) * scale), keys, gradient);
              }
              store_rows(q_gradient, block, gradient);
            },
            TileOptions{.threads = plan.threads}};
  }

  static OfKeys of_keys(const AttentionPlan &plan) {
    return {"attention_of_keys",
            {"q", "k", "v", "row_sums", "products", "out_gradient", "k_gradient", "v_gradient", "scale"},
            [=](In q, In k, In v, RowsIn row_sums, RowsIn products, In out_gradient, Out k_gradient, Out v_gradient,
                const Number &scale) {
              const Block block;
              const Tile<T> own_keys = rows_of(k, block, block.tile, plan.keys, plan);
              const Tile<T> own_values = rows_of(v, block, block.tile, plan.keys, plan);
              Tile<S> of_keys = tile::zeros<S>({plan.keys, plan.size}), of_values = of_keys;
              const Number scale_of_logarithm = scale * binary_logarithm_of_e;
              const Int first = plan.causal ? block.tile * plan.keys / plan.queries : Int(0);
              for (Int i : range(first, tile::ceil_div(q.extent(2), plan.queries), pipelined(plan.stages))) {
                const Tile<T> queries = rows_of(q, block, i, plan.queries, plan);
                const Tile<T> cotangent = rows_of(out_gradient, block, i, plan.queries, plan);
                const Tile<S> weights =
                    select(seen(k, i, block.tile, plan),
                           fast_exp2(tile::matmul(queries, own_keys, tile::Transposes{.b = true}) * scale_of_logarithm -
                                     column_of(row_sums, block, i, plan) * binary_logarithm_of_e),
                           S(0));
                tile::matmul(detail::as_type<T>(weights), cotangent, of_values, tile::Transposes{.a = true});
                const Tile<S> of_weights = tile::matmul(cotangent, own_values, tile::Transposes{.b = true});
                const Tile<S> of_products = weights * (of_weights - column_of(products, block, i, plan)) * scale;
                tile::matmul(detail::as_type<T>(of_products), queries, of_keys, tile::Transposes{.a = true});
              }
              store_rows(k_gradient, block, of_keys);
              store_rows(v_gradient, block, of_values);
            },
            TileOptions{.threads = plan.threads}};
  }

 private:
  // How many tiles of k and v the block's rows see.
  static Int tiles_seen(const In &k, const Block &block, const AttentionPlan &plan) {
    Int all = tile::ceil_div(k.extent(2), plan.keys);
    if (!plan.causal) return all;
    return min(all, tile::ceil_div((block.tile + 1) * plan.queries, plan.keys));
  }
};

}  // namespace samite::ops::detail
