// The kernels of attention (ops/attention.h), for one type and one tiling of the rows.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/ops/as_type.h"
#include "samite/ops/attention_plan.h"
#include "samite/ops/rows.h"

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
  using RowProducts = TileKernel<void(In, In, Rows)>;
  using RowProductsAndSums = TileKernel<void(In, In, RowsIn, Rows)>;
  using OfQueries = TileKernel<void(In, In, In, RowsIn, RowsIn, In, Out, Number)>;
  using OfKeys = TileKernel<void(In, In, In, RowsIn, RowsIn, In, Out, Out, Number)>;

  // exp2 takes fewer instructions than exp.
  static constexpr S binary_logarithm_of_e = std::numbers::log2e_v<S>;

  // The block's head of a batch, and its tile of rows.
  struct Block {
    Int batch, head, tile;
    Block() {
      auto [i, j, k] = block_index<3>();
      batch = i, head = j, tile = k;
    }
  };

  static Tile<T> rows_of(const In &x, const Block &block, const Int &tile, int rows, int size) {
    return tile::load(x, {block.batch, block.head, tile, 0}, {rows, size});
  }
  static void store_rows(const Out &x, const Block &block, const Tile<S> &values) {
    tile::store(x, {block.batch, block.head, block.tile, 0}, detail::as_type<T>(values));
  }
  static void put_gradient(const Out &x, const Block &block, const Tile<S> &values, int rows,
                           const AttentionPlan &plan) {
    if (!plan.add_gradients) return store_rows(x, block, values);
    const Tile<T> before = tile::load(x, {block.batch, block.head, block.tile, 0}, {rows, plan.size});
    store_rows(x, block, values + detail::as_type<S>(before));
  }
  // A number for each row of q, as a column, or as a row along the rows of k.
  static Tile<S> column_of(const RowsIn &x, const Block &block, const Int &tile, const AttentionPlan &plan) {
    return tile::reshape(tile::load(x, {block.batch, block.head, tile}, {plan.queries}), {plan.queries, 1});
  }
  static Tile<S> across_keys(const RowsIn &x, const Block &block, const Int &tile, const AttentionPlan &plan) {
    if (plan.numbers_beside)
      return tile::broadcast<S>(tile::load(x, {block.batch, block.head, tile}, {1, plan.queries}),
                                {plan.keys, plan.queries});
    return tile::load_view(x, {block.batch, block.head, tile * plan.queries}, {plan.keys, plan.queries},
                           {.steps = {0, 1}});
  }
  // The adjoint's weights, exp(scale q kᵀ - logarithm of the row's sum). The logarithm, divided by the scale, is
  // subtracted before the products are added, so that it takes no extra registers; with a tiny scale, afterwards.
  struct Logarithms {
    Tile<S> taken_off;
    Number scale;  // for exp2
    bool behind;

    Logarithms(const Tile<S> &logarithm, const Number &scale, const AttentionPlan &plan)
        : taken_off(logarithm * (plan.tiny_scale ? Number(binary_logarithm_of_e) : Number(-1 / scale))),
          scale(scale * binary_logarithm_of_e),
          behind(plan.tiny_scale) {}
    // The initial sums of the products q kᵀ.
    Tile<S> start(std::int64_t rows, std::int64_t columns) const {
      return behind ? tile::zeros<S>({rows, columns}) : tile::broadcast<S>(taken_off, {rows, columns});
    }
    Tile<S> weights(const Tile<S> &products) const {
      return behind ? fast_exp2(products * scale - taken_off) : fast_exp2(products * scale);
    }
  };
  // The mask of rows of k in tile j that rows of q in tile i attend to. Rows of q beyond the last are zero, as are
  // their cotangents.
  static Tile<bool> seen(const In &k, const Int &i, const Int &j, const AttentionPlan &plan) {
    const Tile<std::int32_t> key = tile::coordinate({plan.queries, plan.keys}, 1) + j * plan.keys;
    Tile<bool> inside = key < k.extent(2);
    if (!plan.causal) return inside;
    return inside && key <= tile::coordinate({plan.queries, plan.keys}, 0) + i * plan.queries;
  }

  // The mask of rows of q in tile i that are not before rows of k in tile j.
  static Tile<bool> seen_by_later(const Int &i, const Int &j, const AttentionPlan &plan) {
    return tile::coordinate({plan.keys, plan.queries}, 0) + j * plan.keys <=
           tile::coordinate({plan.keys, plan.queries}, 1) + i * plan.queries;
  }

  static Forward forward(const AttentionPlan &plan) {
    return {"attention",
            {"q", "k", "v", "out", "row_sums", "scale"},
            [=](In q, In k, In v, Out out, Rows row_sums, const Number &scale) {
              const Block block;
              const Tile<T> own = rows_of(q, block, block.tile, plan.queries, plan.size);
              const Number scale_of_logarithm = scale * binary_logarithm_of_e;
              // The result does not depend on the subtracted number, so it has no gradient.
              Tile<S> largest = tile::full<S>({plan.queries, 1}, std::numeric_limits<S>::lowest() / 2);
              Tile<S> sum = tile::zeros<S>({plan.queries, 1});
              Tile<S> weighted = tile::zeros<S>({plan.queries, plan.size});
              for (Int j : range(tiles_seen(k, block, plan), pipelined(plan.stages))) {
                Tile<S> products =
                    tile::matmul(own, rows_of(k, block, j, plan.keys, plan.size), tile::Transposes{.b = true}) *
                    scale_of_logarithm;
                products = select(seen(k, block.tile, j, plan), products, -std::numeric_limits<S>::infinity());
                // The inputs of each row are loaded together, before all exponentials.
                const Tile<S> next = stop_gradient(max(largest, tile::max(products, {1})));
                const Tile<S> smaller = fast_exp2(largest - next), powers = fast_exp2(products - next);
                sum = sum * smaller + tile::sum(powers, {1});
                weighted = weighted * smaller;
                tile::matmul(detail::as_type<T>(powers), rows_of(v, block, j, plan.keys, plan.size), weighted);
                largest = next;
              }
              store_rows(out, block, weighted / sum);
              tile::store(row_sums, {block.batch, block.head, block.tile},
                          tile::reshape((largest + log2(sum)) * (1 / binary_logarithm_of_e), {plan.queries}));
            },
            TileOptions{.threads = plan.threads}};
  }

  // The dot product of each row of two arrays.
  static RowProducts row_products(const RowPlan &plan) {
    return {"attention_row_products",
            {"out", "out_gradient", "products"},
            [=](In out, In out_gradient, Rows products) {
              const Block block;
              tile::store(products, {block.batch, block.head, block.tile},
                          dot_products(out, out_gradient, block, plan));
            },
            TileOptions{.threads = plan.threads}};
  }

  // The derivative of a row's logarithm for a product of the row is that product's weight: its gradient adds to the
  // cotangent of each product what the dot product is subtracted from.
  static RowProductsAndSums row_products_and_sums(const RowPlan &plan) {
    return {"attention_row_products_and_sums",
            {"out", "out_gradient", "row_sums_gradient", "products"},
            [=](In out, In out_gradient, RowsIn row_sums_gradient, Rows products) {
              const Block block;
              const Tile<S> of_sums = tile::load(row_sums_gradient, {block.batch, block.head, block.tile}, {plan.rows});
              tile::store(products, {block.batch, block.head, block.tile},
                          dot_products(out, out_gradient, block, plan) - of_sums);
            },
            TileOptions{.threads = plan.threads}};
  }

  // For softmax: weights p, and d(objective) / d(products) = p (out_gradient vᵀ - the dot product of the rows of
  // out_gradient and out).
  static OfQueries of_queries(const AttentionPlan &plan) {
    return {
        "attention_of_queries",
        {"q", "k", "v", "row_sums", "products", "out_gradient", "q_gradient", "scale"},
        [=](In q, In k, In v, RowsIn row_sums, RowsIn products, In out_gradient, Out q_gradient, const Number &scale) {
          const Block block;
          const Tile<T> own = rows_of(q, block, block.tile, plan.queries, plan.size);
          const Tile<T> cotangent = rows_of(out_gradient, block, block.tile, plan.queries, plan.size);
          const Logarithms logarithms(column_of(row_sums, block, block.tile, plan), scale, plan);
          const Tile<S> product = -column_of(products, block, block.tile, plan);
          Tile<S> gradient = tile::zeros<S>({plan.queries, plan.size});
          for (Int j : range(tiles_seen(k, block, plan), pipelined(plan.stages))) {
            const Tile<T> keys = rows_of(k, block, j, plan.keys, plan.size);
            Tile<S> weights = logarithms.start(plan.queries, plan.keys);
            Tile<S> of_weights = tile::broadcast<S>(product, {plan.queries, plan.keys});
            tile::matmul(own, keys, weights, tile::Transposes{.b = true});
            tile::matmul(cotangent, rows_of(v, block, j, plan.keys, plan.size), of_weights,
                         tile::Transposes{.b = true});
            weights = select(seen(k, block.tile, j, plan), logarithms.weights(weights), S(0));
            tile::matmul(detail::as_type<T>(weights * of_weights), keys, gradient);
          }
          put_gradient(q_gradient, block, gradient * scale, plan.queries, plan);
        },
        TileOptions{.threads = plan.threads}};
  }

  // As above, with a row for each row of k and a column for each row of q: sums over rows of q then have their first
  // factor in registers. Results for rows of k beyond the last are discarded.
  static OfKeys of_keys(const AttentionPlan &plan) {
    return {"attention_of_keys",
            {"q", "k", "v", "row_sums", "products", "out_gradient", "k_gradient", "v_gradient", "scale"},
            [=](In q, In k, In v, RowsIn row_sums, RowsIn products, In out_gradient, Out k_gradient, Out v_gradient,
                const Number &scale) {
              const Block block;
              const Tile<T> own_keys = rows_of(k, block, block.tile, plan.keys, plan.size);
              const Tile<T> own_values = rows_of(v, block, block.tile, plan.keys, plan.size);
              Tile<S> of_keys = tile::zeros<S>({plan.keys, plan.size}), of_values = of_keys;
              const Int first = plan.causal ? block.tile * plan.keys / plan.queries : Int(0);
              for (Int i : range(first, tile::ceil_div(q.extent(2), plan.queries), pipelined(plan.stages))) {
                const Tile<T> queries = rows_of(q, block, i, plan.queries, plan.size);
                const Tile<T> cotangent = rows_of(out_gradient, block, i, plan.queries, plan.size);
                const Logarithms logarithms(across_keys(row_sums, block, i, plan), scale, plan);
                Tile<S> weights = logarithms.start(plan.keys, plan.queries);
                Tile<S> of_weights = -across_keys(products, block, i, plan);
                tile::matmul(own_keys, queries, weights, tile::Transposes{.b = true});
                tile::matmul(own_values, cotangent, of_weights, tile::Transposes{.b = true});
                weights = logarithms.weights(weights);
                if (plan.causal) weights = select(seen_by_later(i, block.tile, plan), weights, S(0));
                const Tile<T> factor = detail::as_type<T>(weights * of_weights);
                tile::matmul(detail::as_type<T>(weights), cotangent, of_values);
                tile::matmul(factor, queries, of_keys);
              }
              put_gradient(k_gradient, block, of_keys * scale, plan.keys, plan);
              put_gradient(v_gradient, block, of_values, plan.keys, plan);
            },
            TileOptions{.threads = plan.threads}};
  }

 private:
  static Tile<S> dot_products(const In &x, const In &y, const Block &block, const RowPlan &plan) {
    const auto rows = [&](const In &of) {
      return detail::as_type<S>(rows_of(of, block, block.tile, plan.rows, plan.columns));
    };
    return tile::reshape(tile::sum(rows(x) * rows(y), {1}), {plan.rows});
  }
  // The number of tiles of k and v that the block's rows attend to.
  static Int tiles_seen(const In &k, const Block &block, const AttentionPlan &plan) {
    Int all = tile::ceil_div(k.extent(2), plan.keys);
    if (!plan.causal) return all;
    return min(all, tile::ceil_div((block.tile + 1) * plan.queries, plan.keys));
  }
};

}  // namespace samite::ops::detail
