// The kernels of packed attention (ops/packed_attention.h), for one type and one tiling of the rows. Tiles begin at a
// sequence's first row and may reach into the next sequence, so all that follows from those rows is masked: a product
// of zero and another sequence's NaN would be NaN.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/lang/tile_masked.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/as_type.h"
#include "samite/ops/grouped_rows.h"
#include "samite/ops/rows.h"

#include <limits>
#include <numbers>

namespace samite::ops::detail {

struct PackedAttentionPlan {
  int queries = 0, keys = 0, size = 0;  // rows of q and of k in a tile, and numbers of each row
  int threads = 0;
  int stages = 1;
  int heads_of_key = 1;
  bool from_the_end = false, add_gradients = false;
  GroupSearch search;

  friend auto operator<=>(const PackedAttentionPlan &, const PackedAttentionPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct PackedAttentionKernels {
  using S = lang::Accumulator<T>;
  using In = Array<const T, 3>;
  using Out = Array<T, 3>;
  using Rows = Array<S, 2>;
  using RowsIn = Array<const S, 2>;
  using Number = Traced<S>;
  using Plan = PackedAttentionPlan;
  using Forward = TileKernel<void(In, In, In, Offsets, Offsets, Out, Rows, Number, Int, Int)>;
  using RowProducts = TileKernel<void(In, In, RowsIn, Rows)>;
  using OfQueries = TileKernel<void(In, In, In, Offsets, Offsets, RowsIn, RowsIn, In, Out, Number, Int, Int)>;
  using OfKeys = TileKernel<void(In, In, In, Offsets, Offsets, RowsIn, RowsIn, In, Out, Out, Number, Int, Int)>;

  static constexpr S binary_logarithm_of_e = std::numbers::log2e_v<S>;

  // The block's head, its rows of one sequence, and the range that rows of that sequence see.
  struct Block {
    Plan plan;
    Int head, before, behind;
    RowsOfGroup own;
    Int first_query, queries, first_key, keys, diagonal;

    Block(const char *name, const Plan &plan, const Offsets &q_offsets, const Offsets &k_offsets, const In &q,
          const In &k, const Int &before, const Int &behind, bool of_keys)
        : Block(name, plan, block_index<2>(), q_offsets, k_offsets, q, k, before, behind, of_keys) {}

    // The tiles of k that the block's rows of q see some of, and vice versa; none for a block without rows.
    std::pair<Int, Int> key_tiles() const {
      const Int row = own.first - first_query + diagonal;
      return tiles(row - before, min(keys, row + own.height + behind), plan.keys);
    }
    std::pair<Int, Int> query_tiles() const {
      const Int row = own.first - first_key - diagonal;
      return tiles(row - behind, min(queries, row + own.height + before), plan.queries);
    }
    // Rows of q in tile i of the sequence down, or rows of k with `keys_down`, and the others across.
    Tile<bool> seen(const Int &query, const Int &key, bool keys_down) const {
      const std::int64_t down = keys_down ? plan.keys : plan.queries, across = keys_down ? plan.queries : plan.keys;
      const Tile<std::int32_t> rows = tile::coordinate({down, across}, keys_down ? 1 : 0) + query,
                               terms = tile::coordinate({down, across}, keys_down ? 0 : 1) + key;
      const Tile<std::int32_t> distance = terms - rows - diagonal;
      return distance >= 0 - before && distance <= behind && terms < keys && rows < queries;
    }

   private:
    template <class Index>
    Block(const char *name, const Plan &plan, const Index &index, const Offsets &q_offsets, const Offsets &k_offsets,
          const In &q, const In &k, const Int &before, const Int &behind, bool of_keys)
        : plan(plan), head(index[0]), before(before), behind(behind) {
      const SourceLocation where = std::source_location::current();
      const Int &number = index[1];
      if (plan.search.checked) {
        check_offsets(std::string(name) + ", q_offsets", q_offsets, number, head, q.extent(1), where);
        check_offsets(std::string(name) + ", k_offsets", k_offsets, number, head, k.extent(1), where);
      }
      own = rows_of_group(of_keys ? k_offsets : q_offsets, number, of_keys ? plan.keys : plan.queries, plan.search,
                          where);
      first_query = q_offsets(own.group), queries = q_offsets(own.group + 1) - first_query;
      first_key = k_offsets(own.group), keys = k_offsets(own.group + 1) - first_key;
      diagonal = plan.from_the_end ? keys - queries : Int(0);
    }
    std::pair<Int, Int> tiles(const Int &first, const Int &last, int height) const {
      return {max(first, 0) / height, select(own.height > 0, tile::ceil_div(max(last, 0), height), 0)};
    }
  };

  // A tile of rows that begins at `row` of a sequence, zero from its `count` rows on.
  static Tile<T> rows_of(const In &x, const Int &head, const Int &first, const Int &row, const Int &count, int height,
                         int size) {
    return tile::load_at(x, {head, first + row, 0}, {height, size}, tile::coordinate({height, size}, 0) + row < count);
  }
  static Tile<S> numbers_of(const RowsIn &x, const Int &head, const Int &first, const Int &row, const Int &count,
                            int height) {
    return tile::load_at(x, {head, first + row}, {height}, tile::coordinate({height}, 0) + row < count);
  }
  static void put_rows(const Out &x, const Block &block, const Int &head, const Tile<S> &values, bool add) {
    const std::int64_t height = values.extent(0), size = values.extent(1);
    Tile<S> sum = values;
    if (add) sum = sum + as_type<S>(tile::load_at(x, {head, block.own.first, 0}, {height, size}));
    tile::store_at(x, {head, block.own.first, 0}, as_type<T>(sum),
                   tile::coordinate({height, size}, 0) < block.own.height);
  }

  static Forward forward(const Plan &plan) {
    return {"packed_attention",
            {"q", "k", "v", "q_offsets", "k_offsets", "out", "row_sums", "scale", "before", "behind"},
            [=](In q, In k, In v, Offsets q_offsets, Offsets k_offsets, Out out, Rows row_sums, const Number &scale,
                const Int &before, const Int &behind) {
              const Block block("packed_attention", plan, q_offsets, k_offsets, q, k, before, behind, false);
              const Int key_head = block.head / plan.heads_of_key, query = block.own.first - block.first_query;
              const Tile<T> own = tile::load_at(q, {block.head, block.own.first, 0}, {plan.queries, plan.size});
              const Number scale_of_powers = scale * binary_logarithm_of_e;
              // The result does not depend on the subtracted number, so it has no gradient.
              Tile<S> largest = tile::full<S>({plan.queries, 1}, std::numeric_limits<S>::lowest() / 2);
              Tile<S> sum = tile::zeros<S>({plan.queries, 1});
              Tile<S> weighted = tile::zeros<S>({plan.queries, plan.size});
              const auto [first, last] = block.key_tiles();
              for (const Int &j : range(first, last, pipelined(plan.stages))) {
                const Int key = j * plan.keys;
                const Tile<T> keys = tile::load_at(k, {key_head, block.first_key + key, 0}, {plan.keys, plan.size});
                const Tile<S> products = select(block.seen(query, key, false),
                                                tile::matmul(own, keys, tile::Transposes{.b = true}) * scale_of_powers,
                                                -std::numeric_limits<S>::infinity());
                const Tile<S> next = stop_gradient(max(largest, tile::max(products, {1})));
                const Tile<S> smaller = fast_exp2(largest - next), powers = fast_exp2(products - next);
                sum = sum * smaller + tile::sum(powers, {1});
                weighted = weighted * smaller;
                tile::matmul(as_type<T>(powers),
                             rows_of(v, key_head, block.first_key, key, block.keys, plan.keys, plan.size), weighted);
                largest = next;
              }
              const Tile<bool> sees = sum > S(0);
              const Tile<S> divisor = select(sees, sum, S(1));
              put_rows(out, block, block.head, weighted / divisor, false);
              const Tile<S> logarithms = select(sees, (largest + log2(divisor)) * (1 / binary_logarithm_of_e),
                                                -std::numeric_limits<S>::infinity());
              tile::store_at(row_sums, {block.head, block.own.first}, tile::reshape(logarithms, {plan.queries}),
                             tile::coordinate({plan.queries}, 0) < block.own.height);
            },
            TileOptions{.threads = plan.threads}};
  }

  // The dot product of each row of two arrays, minus the gradient of the row's logarithm; the cotangent of each weight
  // is reduced by this.
  static RowProducts row_products(const RowPlan &plan) {
    return {"packed_attention_row_products",
            {"out", "out_gradient", "row_sums_gradient", "products"},
            [=](In out, In out_gradient, RowsIn row_sums_gradient, Rows products) {
              auto [head, i] = block_index<2>();
              const auto rows = [&](const In &x) {
                return as_type<S>(tile::load(x, {head, i, 0}, {plan.rows, plan.columns}));
              };
              const Tile<S> dots = tile::reshape(tile::sum(rows(out) * rows(out_gradient), {1}), {plan.rows});
              tile::store(products, {head, i}, dots - tile::load(row_sums_gradient, {head, i}, {plan.rows}));
            },
            TileOptions{.threads = plan.threads}};
  }

  // With weights p, d(objective) / d(products) = p (out_gradient vᵀ - row products).
  static OfQueries of_queries(const Plan &plan) {
    return {
        "packed_attention_of_queries",
        {"q", "k", "v", "q_offsets", "k_offsets", "row_sums", "products", "out_gradient", "q_gradient", "scale",
         "before", "behind"},
        [=](In q, In k, In v, Offsets q_offsets, Offsets k_offsets, RowsIn row_sums, RowsIn products, In out_gradient,
            Out q_gradient, const Number &scale, const Int &before, const Int &behind) {
          const Block block("packed_attention_of_queries", plan, q_offsets, k_offsets, q, k, before, behind, false);
          const Int key_head = block.head / plan.heads_of_key, query = block.own.first - block.first_query;
          const Tile<T> own = tile::load_at(q, {block.head, block.own.first, 0}, {plan.queries, plan.size}),
                        cotangent =
                            tile::load_at(out_gradient, {block.head, block.own.first, 0}, {plan.queries, plan.size});
          const auto column = [&](const RowsIn &x) {
            return tile::reshape(tile::load_at(x, {block.head, block.own.first}, {plan.queries}), {plan.queries, 1});
          };
          const Tile<S> logarithms = column(row_sums) * binary_logarithm_of_e, of_row = column(products);
          const Number scale_of_powers = scale * binary_logarithm_of_e;
          Tile<S> gradient = tile::zeros<S>({plan.queries, plan.size});
          const auto [first, last] = block.key_tiles();
          for (const Int &j : range(first, last, pipelined(plan.stages))) {
            const Int key = j * plan.keys;
            const Tile<T> keys = rows_of(k, key_head, block.first_key, key, block.keys, plan.keys, plan.size),
                          values = rows_of(v, key_head, block.first_key, key, block.keys, plan.keys, plan.size);
            const Tile<S> powers =
                fast_exp2(tile::matmul(own, keys, tile::Transposes{.b = true}) * scale_of_powers - logarithms);
            const Tile<S> slopes = powers * (tile::matmul(cotangent, values, tile::Transposes{.b = true}) - of_row);
            tile::matmul(as_type<T>(select(block.seen(query, key, false), slopes, S(0))), keys, gradient);
          }
          put_rows(q_gradient, block, block.head, gradient * scale, plan.add_gradients);
        },
        TileOptions{.threads = plan.threads}};
  }

  static OfKeys of_keys(const Plan &plan) {
    return {
        "packed_attention_of_keys",
        {"q", "k", "v", "q_offsets", "k_offsets", "row_sums", "products", "out_gradient", "k_gradient", "v_gradient",
         "scale", "before", "behind"},
        [=](In q, In k, In v, Offsets q_offsets, Offsets k_offsets, RowsIn row_sums, RowsIn products, In out_gradient,
            Out k_gradient, Out v_gradient, const Number &scale, const Int &before, const Int &behind) {
          const Block block("packed_attention_of_keys", plan, q_offsets, k_offsets, q, k, before, behind, true);
          const Int key = block.own.first - block.first_key;
          const Tile<T> keys = tile::load_at(k, {block.head, block.own.first, 0}, {plan.keys, plan.size}),
                        values = tile::load_at(v, {block.head, block.own.first, 0}, {plan.keys, plan.size});
          Tile<S> of_keys = tile::zeros<S>({plan.keys, plan.size}), of_values = of_keys;
          const Number scale_of_powers = scale * binary_logarithm_of_e;
          // One loop over the tiles of all heads of q that share this one of k.
          const auto [first, last] = block.query_tiles();
          const Int tiles = max(last - first, 0), divisor = max(tiles, 1);
          for (Int n : range(tiles * plan.heads_of_key, pipelined(plan.stages))) {
            const Int head = block.head * plan.heads_of_key + n / divisor, query = (first + n % divisor) * plan.queries;
            const auto rows = [&](const In &x) {
              return rows_of(x, head, block.first_query, query, block.queries, plan.queries, plan.size);
            };
            const auto across = [&](const RowsIn &x) {
              return tile::reshape(numbers_of(x, head, block.first_query, query, block.queries, plan.queries),
                                   {1, plan.queries});
            };
            const Tile<T> queries = rows(q), cotangent = rows(out_gradient);
            const Tile<bool> seen = block.seen(query, key, true);
            const Tile<S> powers =
                select(seen,
                       fast_exp2(tile::matmul(keys, queries, tile::Transposes{.b = true}) * scale_of_powers -
                                 across(row_sums) * binary_logarithm_of_e),
                       S(0));
            const Tile<S> slopes = select(
                seen, powers * (tile::matmul(values, cotangent, tile::Transposes{.b = true}) - across(products)), S(0));
            tile::matmul(as_type<T>(powers), cotangent, of_values);
            tile::matmul(as_type<T>(slopes), queries, of_keys);
          }
          put_rows(k_gradient, block, block.head, of_keys * scale, plan.add_gradients);
          put_rows(v_gradient, block, block.head, of_values, plan.add_gradients);
        },
        TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

}  // namespace samite::ops::detail
