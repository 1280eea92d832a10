// The kernels of a mixture of experts (ops/experts.h).
#pragma once

#include "samite/lang/tile_functions.h"
#include "samite/lang/tile_memory.h"
#include "samite/lang/tile_scan.h"
#include "samite/lang/tile_shape.h"
#include "samite/lang/tile_sort.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/layer_epilogue.h"
#include "samite/ops/rows.h"

#include <limits>

namespace samite::ops::detail {

// A tile of this many tokens, or rows of experts, with `columns` numbers of each, or with all experts.
struct ExpertPlan {
  int rows = 0, columns = 0, chosen = 0, threads = 0;
  bool weighted = false;    // by the weights of a routing, or of the chosen experts alone
  bool add = false;         // to the existing values
  Activation activation{};  // of gates

  friend auto operator<=>(const ExpertPlan &, const ExpertPlan &) = default;
};

using Entries = Array<const std::int32_t, 1>;
using Chosen = Array<const std::int32_t, 2>;

// Computes where the rows of expert number block_index() begin, and their entries in order.
inline TileKernel<void(Entries, Array<std::int32_t, 1>, Array<std::int32_t, 1>, Array<std::int32_t, 1>)> order_entries(
    const ExpertPlan &plan) {
  return {"order_of_experts",
          {"experts", "places", "entries", "offsets"},
          [=](Entries experts, Array<std::int32_t, 1> places, Array<std::int32_t, 1> entries,
              Array<std::int32_t, 1> offsets) {
            const Int expert = block_index(), tiles = tile::ceil_div(experts.extent(0), plan.rows);
            // Entries beyond the last belong to no expert.
            const auto numbers = [&](const Int &k) { return tile::load(experts, {k}, {plan.rows}, -1); };
            Tile<std::int32_t> earlier = tile::zeros<std::int32_t>({plan.rows});
            for (Int k : range(tiles)) {
              const Tile<std::int32_t> of = numbers(k);
              earlier += tile::cast<std::int32_t>(of >= 0 && of < expert);
            }
            const Int first = tile::sum(earlier);
            Int next = first;
            for (Int k : range(tiles)) {
              const Tile<bool> own = numbers(k) == expert;
              const Tile<std::int32_t> ones = tile::cast<std::int32_t>(own),
                                       place = tile::exclusive_scan(ones, 0) + next,
                                       entry = tile::arange(plan.rows) + k * plan.rows;
              tile::scatter(places, {entry}, place, own);
              tile::scatter(entries, {place}, entry, own);
              next = next + tile::sum(ones);
            }
            offsets(expert) = first;
            if_(expert == offsets.extent(0) - 2, [&] { offsets(expert + 1) = next; });
          },
          TileOptions{.threads = plan.threads}};
}

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T>
struct ExpertKernels {
  using S = RowNumber<T>;
  using In = Array<const T, 2>;
  using Out = Array<T, 2>;
  using Weights = Array<const S, 2>;
  using Plan = ExpertPlan;
  using Choose = TileKernel<void(In, Array<std::int32_t, 2>, Array<S, 2>)>;
  using OfLogits = TileKernel<void(In, Chosen, Weights, Out)>;
  using Spread = TileKernel<void(In, Entries, Array<const S, 1>, Out)>;
  using Collect = TileKernel<void(In, Chosen, Weights, Out)>;
  using OfWeights = TileKernel<void(In, In, Chosen, Array<S, 2>)>;
  using Gate = TileKernel<void(In, In, Out)>;

  // The logits of a tile of tokens; minus infinity beyond the last expert.
  static Tile<S> logits_of(const In &logits, const Int &i, const Plan &plan) {
    const Tile<bool> exists = tile::coordinate({plan.rows, plan.columns}, 1) < logits.extent(1);
    return select(exists, as_type<S>(tile::load(logits, {i, 0}, {plan.rows, plan.columns})),
                  -std::numeric_limits<S>::infinity());
  }
  static Tile<S> softmax_of(const Tile<S> &x) {
    const Tile<S> powers = exp(x - tile::max(x, {1}));
    return powers / tile::sum(powers, {1});
  }

  static Choose choose(const Plan &plan) {
    return {"choose_experts",
            {"logits", "experts", "weights"},
            [=](In logits, Array<std::int32_t, 2> experts, Array<S, 2> weights) {
              const Int i = block_index();
              const Tile<S> x = logits_of(logits, i, plan);
              const auto [best, which] = tile::topk(x, plan.chosen);
              const Tile<S> powers = exp(best - tile::max(x, {1}));
              const Tile<S> sum = plan.weighted ? tile::sum(powers, {1}) : tile::sum(exp(x - tile::max(x, {1})), {1});
              tile::store_at(experts, {i * plan.rows, 0}, which);
              tile::store_at(weights, {i * plan.rows, 0}, powers / sum);
            },
            TileOptions{.threads = plan.threads}};
  }

  // With p the softmax of the logits, or of the chosen ones, and g the cotangents of the weights, zero for others:
  // p (g - the sum of p g).
  static OfLogits of_logits(const Plan &plan) {
    return {"choose_experts_adjoint",
            {"logits", "experts", "weights_gradient", "logits_gradient"},
            [=](In logits, Chosen experts, Weights weights_gradient, Out logits_gradient) {
              const Int i = block_index();
              const Tile<std::int32_t> expert = tile::coordinate({plan.rows, plan.columns}, 1);
              Tile<S> x = logits_of(logits, i, plan), g = tile::zeros<S>({plan.rows, plan.columns});
              Tile<bool> seen = expert < 0;
              for (int n = 0; n < plan.chosen; ++n) {
                const Tile<bool> here = expert == tile::load_at(experts, {i * plan.rows, n}, {plan.rows, 1});
                g = select(here, tile::load_at(weights_gradient, {i * plan.rows, n}, {plan.rows, 1}), g);
                seen = seen || here;
              }
              if (plan.weighted) x = select(seen, x, -std::numeric_limits<S>::infinity());
              const Tile<S> p = softmax_of(x);
              const Tile<S> gradient = p * (g - tile::sum(p * g, {1}));
              put_rows<T>(logits_gradient, i, 0, gradient, {plan.rows, plan.columns, plan.threads}, true);
            },
            TileOptions{.threads = plan.threads}};
  }

  // Copies each expert's row from its token's row, times its weight.
  static Spread spread(const Plan &plan) {
    return {"rows_of_experts",
            {"x", "entries", "weights", "rows"},
            [=](In x, Entries entries, Array<const S, 1> weights, Out rows) {
              auto [i, k] = block_index<2>();
              const Tile<std::int32_t> entry = tile::load(entries, {i}, {plan.rows});
              Tile<S> values = as_type<S>(tile::gather_rows(x, entry / plan.chosen, {k}, {plan.columns}));
              if (plan.weighted) values = values * tile::reshape(tile::gather(weights, {entry}), {plan.rows, 1});
              put_rows<T>(rows, i, k, values, {plan.rows, plan.columns, plan.threads}, plan.add);
            },
            TileOptions{.threads = plan.threads}};
  }

  // The sum of each token's rows, times their weights.
  static Collect collect(const Plan &plan) {
    return {"sums_of_experts",
            {"rows", "places", "weights", "y"},
            [=](In rows, Chosen places, Weights weights, Out y) {
              auto [i, k] = block_index<2>();
              Tile<S> sum = tile::zeros<S>({plan.rows, plan.columns});
              for (int n = 0; n < plan.chosen; ++n) {
                const Tile<S> values =
                    as_type<S>(tile::gather_rows(rows, place_of(places, i, n, plan), {k}, {plan.columns}));
                sum = sum +
                      (plan.weighted ? values * tile::load_at(weights, {i * plan.rows, n}, {plan.rows, 1}) : values);
              }
              put_rows<T>(y, i, k, sum, {plan.rows, plan.columns, plan.threads}, plan.add);
            },
            TileOptions{.threads = plan.threads}};
  }

  // Adds the dot product of each token's cotangent and each of its rows.
  static OfWeights of_weights(const Plan &plan) {
    return {"weights_of_experts_adjoint",
            {"y_gradient", "rows", "places", "weights_gradient"},
            [=](In y_gradient, In rows, Chosen places, Array<S, 2> weights_gradient) {
              const Int i = block_index();
              for (int n = 0; n < plan.chosen; ++n) {
                const Tile<std::int32_t> place = place_of(places, i, n, plan);
                Tile<S> products = tile::zeros<S>({plan.rows, plan.columns});
                for (Int k : range(tile::ceil_div(rows.extent(1), plan.columns)))
                  products += as_type<S>(tile::load(y_gradient, {i, k}, {plan.rows, plan.columns})) *
                              as_type<S>(tile::gather_rows(rows, place, {k}, {plan.columns}));
                tile::store_at(
                    weights_gradient, {i * plan.rows, n},
                    tile::sum(products, {1}) + tile::load_at(weights_gradient, {i * plan.rows, n}, {plan.rows, 1}));
              }
            },
            TileOptions{.threads = plan.threads}};
  }

  static Gate gate(const Plan &plan) {
    return {"gate_of_experts",
            {"gates", "values", "y"},
            [=](In gates, In values, Out y) {
              auto [i, k] = block_index<2>();
              const RowPlan rows{plan.rows, plan.columns, plan.threads};
              store_rows<T>(y, i, k,
                            activated(plan.activation, load_rows(gates, i, k, rows)) * load_rows(values, i, k, rows));
            },
            TileOptions{.threads = plan.threads}};
  }

 private:
  static Tile<std::int32_t> place_of(const Chosen &places, const Int &i, int n, const Plan &plan) {
    return tile::reshape(tile::load_at(places, {i * plan.rows, n}, {plan.rows, 1}), {plan.rows});
  }
};

SAMITE_TRACED_ONCE_END

}  // namespace samite::ops::detail
