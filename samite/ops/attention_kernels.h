// The kernels of attention (ops/attention.h), for one type and one tiling of the rows. Those with masks have further
// arguments, and share the rest with those without.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/as_type.h"
#include "samite/ops/attention_plan.h"
#include "samite/ops/rows.h"

#include <limits>
#include <numbers>

namespace samite::ops::detail {

SAMITE_TRACED_ONCE_BEGIN

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
  using Slopes = Array<const S, 1>;
  using Lengths = Array<const std::int32_t, 1>;
  using MaskedForward = TileKernel<void(In, In, In, In, Slopes, Lengths, Out, Rows, Number, Int, Int)>;
  using MaskedOfQueries = TileKernel<void(In, In, In, In, Slopes, Lengths, RowsIn, RowsIn, In, Out, Number, Int, Int)>;
  using MaskedOfKeys =
      TileKernel<void(In, In, In, In, Slopes, Lengths, RowsIn, RowsIn, In, Out, Out, Number, Int, Int)>;

  // exp2 takes fewer instructions than exp.
  static constexpr S binary_logarithm_of_e = std::numbers::log2e_v<S>;

  // The block's head of a batch, and its tile of rows.
  struct Block {
    Int batch, head, tile;
    Block() {
      auto [i, j, k] = block_index<3>();
      batch = i, head = j, tile = k;
    }
    // The head of k and v that this head of q attends to.
    Block of_keys(const AttentionPlan &plan) const {
      Block block = *this;
      if (plan.heads_of_key > 1) block.head = head / plan.heads_of_key;
      return block;
    }
    Block with_head(const Int &other) const {
      Block block = *this;
      block.head = other;
      return block;
    }
  };

  // The arguments of masked kernels, and the range they give for one batch element: row i of q sees rows j of k before
  // `end` for which -before <= j - i - diagonal <= behind.
  struct Masks {
    In bias;
    Slopes slopes;
    Int before, behind, rows, end, diagonal;
    AttentionPlan plan;

    Masks(const In &q, const In &k, const In &bias, const Slopes &slopes, const Lengths &lengths, const Int &before,
          const Int &behind, const Block &block, const AttentionPlan &plan)
        : bias(bias),
          slopes(slopes),
          before(before),
          behind(behind),
          rows(q.extent(2)),
          end(plan.masks.lengths ? min(k.extent(2), lengths(block.batch)) : k.extent(2)),
          diagonal(plan.masks.from_the_end ? end - rows : Int(0)),
          plan(plan) {}

    // The tiles of k that rows of q in tile i see some of, and vice versa.
    std::pair<Int, Int> keys_of(const Int &i) const {
      const Int row = i * plan.queries + diagonal;
      return tiles(row - before, min(end, row + plan.queries + behind), plan.keys);
    }
    std::pair<Int, Int> queries_of(const Int &j) const {
      const Int row = j * plan.keys - diagonal;
      return tiles(row - behind, min(rows, row + plan.keys + before), plan.queries);
    }
    // The distance of rows of k in tile j from the diagonal of rows of q in tile i.
    Tile<std::int32_t> distances(const Int &i, const Int &j, bool keys_down) const {
      return keys_down ? tile::coordinate({plan.keys, plan.queries}, 0) + j * plan.keys -
                             (tile::coordinate({plan.keys, plan.queries}, 1) + i * plan.queries + diagonal)
                       : tile::coordinate({plan.queries, plan.keys}, 1) + j * plan.keys -
                             (tile::coordinate({plan.queries, plan.keys}, 0) + i * plan.queries + diagonal);
    }
    Tile<bool> seen(const Int &i, const Int &j, bool keys_down) const {
      const Tile<std::int32_t> distance = distances(i, j, keys_down);
      const Tile<bool> near = distance >= 0 - before && distance <= behind;
      if (!keys_down) return near && tile::coordinate({1, plan.keys}, 1) + j * plan.keys < end;
      return near && tile::coordinate({plan.keys, 1}, 0) + j * plan.keys < end &&
             tile::coordinate({1, plan.queries}, 1) + i * plan.queries < rows;
    }
    // The products, given for exp2, and what is added to them.
    Tile<S> added(const Tile<S> &products, const Block &block, const Int &i, const Int &j, bool keys_down) const {
      Tile<S> sum = products;
      if (plan.masks.bias)
        sum =
            sum + binary_logarithm_of_e *
                      detail::as_type<S>(
                          keys_down ? tile::load_view(bias, {block.batch, block.head, i * plan.queries, j * plan.keys},
                                                      {plan.keys, plan.queries}, {.order = {1, 0}})
                                    : tile::load(bias, {block.batch, block.head, i, j}, {plan.queries, plan.keys}));
      if (plan.masks.slopes) {
        const Tile<std::int32_t> distance = distances(i, j, keys_down);
        const Number slope = slopes(block.head) * binary_logarithm_of_e;
        sum = sum - detail::as_type<S>(max(distance, 0 - distance)) * slope;
      }
      return sum;
    }

   private:
    static std::pair<Int, Int> tiles(const Int &first, const Int &last, int height) {
      return {max(first, 0) / height, tile::ceil_div(max(last, 0), height)};
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
    Tile<S> weights(const Tile<S> &products, const Masks *masks, const Block &block, const Int &i, const Int &j,
                    bool keys_down) const {
      const Tile<S> powers = behind ? products * scale - taken_off : products * scale;
      return fast_exp2(masks ? masks->added(powers, block, i, j, keys_down) : powers);
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

  static void attend(const In &q, const In &k, const In &v, const Out &out, const Rows &row_sums, const Number &scale,
                     const AttentionPlan &plan, const Block &block, const Masks *masks) {
    const Block of_keys = block.of_keys(plan);
    const Tile<T> own = rows_of(q, block, block.tile, plan.queries, plan.size);
    const Number scale_of_logarithm = scale * binary_logarithm_of_e;
    // The result does not depend on the subtracted number, so it has no gradient.
    Tile<S> largest = tile::full<S>({plan.queries, 1}, std::numeric_limits<S>::lowest() / 2);
    Tile<S> sum = tile::zeros<S>({plan.queries, 1});
    Tile<S> weighted = tile::zeros<S>({plan.queries, plan.size});
    const auto attend_to = [&](const Int &j) {
      Tile<S> products = tile::matmul(own, rows_of(k, of_keys, j, plan.keys, plan.size), tile::Transposes{.b = true}) *
                         scale_of_logarithm;
      if (masks) products = masks->added(products, block, block.tile, j, false);
      products = select(masks ? masks->seen(block.tile, j, false) : seen(k, block.tile, j, plan), products,
                        -std::numeric_limits<S>::infinity());
      // The inputs of each row are loaded together, before all exponentials.
      const Tile<S> next = stop_gradient(max(largest, tile::max(products, {1})));
      const Tile<S> smaller = fast_exp2(largest - next), powers = fast_exp2(products - next);
      sum = sum * smaller + tile::sum(powers, {1});
      weighted = weighted * smaller;
      tile::matmul(detail::as_type<T>(powers), rows_of(v, of_keys, j, plan.keys, plan.size), weighted);
      largest = next;
    };
    const auto put_sums = [&](const Tile<S> &sums) {
      tile::store(row_sums, {block.batch, block.head, block.tile}, tile::reshape(sums, {plan.queries}));
    };
    if (!masks) {
      for (Int j : range(tiles_seen(k, block, plan), pipelined(plan.stages))) attend_to(j);
      store_rows(out, block, weighted / sum);
      return put_sums((largest + log2(sum)) * (1 / binary_logarithm_of_e));
    }
    const auto [first, last] = masks->keys_of(block.tile);
    for (Int j : range(first, last, pipelined(plan.stages))) attend_to(j);
    // A row that sees nothing is zero.
    const Tile<bool> sees = sum > S(0);
    const Tile<S> divisor = select(sees, sum, S(1));
    store_rows(out, block, weighted / divisor);
    put_sums(
        select(sees, (largest + log2(divisor)) * (1 / binary_logarithm_of_e), -std::numeric_limits<S>::infinity()));
  }

  static Forward forward(const AttentionPlan &plan) {
    return {"attention",
            {"q", "k", "v", "out", "row_sums", "scale"},
            [=](In q, In k, In v, Out out, Rows row_sums, const Number &scale) {
              attend(q, k, v, out, row_sums, scale, plan, Block(), nullptr);
            },
            TileOptions{.threads = plan.threads}};
  }

  static MaskedForward masked_forward(const AttentionPlan &plan) {
    return {"masked_attention",
            {"q", "k", "v", "bias", "slopes", "lengths", "out", "row_sums", "scale", "before", "behind"},
            [=](In q, In k, In v, In bias, Slopes slopes, Lengths lengths, Out out, Rows row_sums, const Number &scale,
                const Int &before, const Int &behind) {
              const Block block;
              const Masks masks(q, k, bias, slopes, lengths, before, behind, block, plan);
              attend(q, k, v, out, row_sums, scale, plan, block, &masks);
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
  struct AdjointIn {
    In q, k, v;
    RowsIn row_sums, products;
    In out_gradient;
    Number scale;
  };

  static void differentiate_queries(const AdjointIn &in, const Out &q_gradient, const AttentionPlan &plan,
                                    const Block &block, const Masks *masks) {
    const Block of_keys = block.of_keys(plan);
    const Tile<T> own = rows_of(in.q, block, block.tile, plan.queries, plan.size);
    const Tile<T> cotangent = rows_of(in.out_gradient, block, block.tile, plan.queries, plan.size);
    const Logarithms logarithms(column_of(in.row_sums, block, block.tile, plan), in.scale, plan);
    const Tile<S> product = -column_of(in.products, block, block.tile, plan);
    Tile<S> gradient = tile::zeros<S>({plan.queries, plan.size});
    const auto add = [&](const Int &j) {
      const Tile<T> keys = rows_of(in.k, of_keys, j, plan.keys, plan.size);
      Tile<S> weights = logarithms.start(plan.queries, plan.keys);
      Tile<S> of_weights = tile::broadcast<S>(product, {plan.queries, plan.keys});
      tile::matmul(own, keys, weights, tile::Transposes{.b = true});
      tile::matmul(cotangent, rows_of(in.v, of_keys, j, plan.keys, plan.size), of_weights, tile::Transposes{.b = true});
      weights = logarithms.weights(weights, masks, block, block.tile, j, false);
      weights = select(masks ? masks->seen(block.tile, j, false) : seen(in.k, block.tile, j, plan), weights, S(0));
      tile::matmul(detail::as_type<T>(weights * of_weights), keys, gradient);
    };
    if (masks) {
      const auto [first, last] = masks->keys_of(block.tile);
      for (Int j : range(first, last, pipelined(plan.stages))) add(j);
    } else {
      for (Int j : range(tiles_seen(in.k, block, plan), pipelined(plan.stages))) add(j);
    }
    put_gradient(q_gradient, block, gradient * in.scale, plan.queries, plan);
  }

  static OfQueries of_queries(const AttentionPlan &plan) {
    return {
        "attention_of_queries",
        {"q", "k", "v", "row_sums", "products", "out_gradient", "q_gradient", "scale"},
        [=](In q, In k, In v, RowsIn row_sums, RowsIn products, In out_gradient, Out q_gradient, const Number &scale) {
          differentiate_queries({q, k, v, row_sums, products, out_gradient, scale}, q_gradient, plan, Block(), nullptr);
        },
        TileOptions{.threads = plan.threads}};
  }

  static MaskedOfQueries masked_of_queries(const AttentionPlan &plan) {
    return {"masked_attention_of_queries",
            {"q", "k", "v", "bias", "slopes", "lengths", "row_sums", "products", "out_gradient", "q_gradient", "scale",
             "before", "behind"},
            [=](In q, In k, In v, In bias, Slopes slopes, Lengths lengths, RowsIn row_sums, RowsIn products,
                In out_gradient, Out q_gradient, const Number &scale, const Int &before, const Int &behind) {
              const Block block;
              const Masks masks(q, k, bias, slopes, lengths, before, behind, block, plan);
              differentiate_queries({q, k, v, row_sums, products, out_gradient, scale}, q_gradient, plan, block,
                                    &masks);
            },
            TileOptions{.threads = plan.threads}};
  }

  // As above, with a row for each row of k and a column for each row of q: sums over rows of q then have their first
  // factor in registers. Results for rows of k beyond the last are discarded.
  static void differentiate_keys(const AdjointIn &in, const Out &k_gradient, const Out &v_gradient,
                                 const AttentionPlan &plan, const Block &block, const Masks *masks) {
    const Tile<T> own_keys = rows_of(in.k, block, block.tile, plan.keys, plan.size);
    const Tile<T> own_values = rows_of(in.v, block, block.tile, plan.keys, plan.size);
    Tile<S> of_keys = tile::zeros<S>({plan.keys, plan.size}), of_values = of_keys;
    const auto add = [&](const Block &of_queries, const Int &i) {
      const Tile<T> queries = rows_of(in.q, of_queries, i, plan.queries, plan.size);
      const Tile<T> cotangent = rows_of(in.out_gradient, of_queries, i, plan.queries, plan.size);
      const Logarithms logarithms(across_keys(in.row_sums, of_queries, i, plan), in.scale, plan);
      Tile<S> weights = logarithms.start(plan.keys, plan.queries);
      Tile<S> of_weights = -across_keys(in.products, of_queries, i, plan);
      tile::matmul(own_keys, queries, weights, tile::Transposes{.b = true});
      tile::matmul(own_values, cotangent, of_weights, tile::Transposes{.b = true});
      weights = logarithms.weights(weights, masks, of_queries, i, block.tile, true);
      if (masks)
        weights = select(masks->seen(i, block.tile, true), weights, S(0));
      else if (plan.causal)
        weights = select(seen_by_later(i, block.tile, plan), weights, S(0));
      const Tile<T> factor = detail::as_type<T>(weights * of_weights);
      tile::matmul(detail::as_type<T>(weights), cotangent, of_values);
      tile::matmul(factor, queries, of_keys);
    };
    const Int all = tile::ceil_div(in.q.extent(2), plan.queries);
    const Int causal_first = plan.causal ? block.tile * plan.keys / plan.queries : Int(0);
    const auto [first, last] = masks ? masks->queries_of(block.tile) : std::pair<Int, Int>(causal_first, all);
    if (plan.heads_of_key == 1) {
      for (Int i : range(first, last, pipelined(plan.stages))) add(block, i);
    } else {
      // One loop over the tiles of all heads of q that share this one of k.
      const Int tiles = max(last - first, 0), divisor = max(tiles, 1);
      for (Int n : range(tiles * plan.heads_of_key, pipelined(plan.stages)))
        add(block.with_head(block.head * plan.heads_of_key + n / divisor), first + n % divisor);
    }
    put_gradient(k_gradient, block, of_keys * in.scale, plan.keys, plan);
    put_gradient(v_gradient, block, of_values, plan.keys, plan);
  }

  static OfKeys of_keys(const AttentionPlan &plan) {
    return {"attention_of_keys",
            {"q", "k", "v", "row_sums", "products", "out_gradient", "k_gradient", "v_gradient", "scale"},
            [=](In q, In k, In v, RowsIn row_sums, RowsIn products, In out_gradient, Out k_gradient, Out v_gradient,
                const Number &scale) {
              differentiate_keys({q, k, v, row_sums, products, out_gradient, scale}, k_gradient, v_gradient, plan,
                                 Block(), nullptr);
            },
            TileOptions{.threads = plan.threads}};
  }

  static MaskedOfKeys masked_of_keys(const AttentionPlan &plan) {
    return {"masked_attention_of_keys",
            {"q", "k", "v", "bias", "slopes", "lengths", "row_sums", "products", "out_gradient", "k_gradient",
             "v_gradient", "scale", "before", "behind"},
            [=](In q, In k, In v, In bias, Slopes slopes, Lengths lengths, RowsIn row_sums, RowsIn products,
                In out_gradient, Out k_gradient, Out v_gradient, const Number &scale, const Int &before,
                const Int &behind) {
              const Block block;
              const Masks masks(q, k, bias, slopes, lengths, before, behind, block, plan);
              differentiate_keys({q, k, v, row_sums, products, out_gradient, scale}, k_gradient, v_gradient, plan,
                                 block, &masks);
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

SAMITE_TRACED_ONCE_END

}  // namespace samite::ops::detail
