// The kernels of cross entropy (ops/cross_entropy.h), for one type of logits and one of targets.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/rows.h"

#include <limits>

namespace samite::ops::detail {

struct CrossEntropyPlan {
  RowPlan rows;
  bool gradient_for_each = false;  // the loss of each row has a gradient of its own
  bool add_gradients = false;

  friend auto operator<=>(const CrossEntropyPlan &, const CrossEntropyPlan &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

template <Scalar T, std::integral I>
struct CrossEntropyKernels {
  using S = RowNumber<T>;
  using Logits = Array<const T, 2>;
  using Targets = Array<const I, 1>;
  using Numbers = Array<const S, 1>;
  using Forward = TileKernel<void(Logits, Targets, Array<S, 1>, Array<S, 1>, Traced<S>, Int)>;
  using Reduce = TileKernel<void(Numbers, Targets, Array<S, 1>, Int)>;
  using Share = TileKernel<void(Targets, Numbers, Array<S, 1>, Int)>;
  using Adjoint = TileKernel<void(Logits, Targets, Numbers, Numbers, Array<T, 2>, Traced<S>, Int)>;

  static constexpr S infinity = std::numeric_limits<S>::infinity();

  // The targets of tile i of rows, a column.
  struct Rows {
    Tile<std::int32_t> chosen;  // -1 if the target is no class
    Tile<bool> ignored;

    Rows(const Targets &targets, const Int &i, const Int &classes, const Int &ignored_target, int rows)
        : Rows(tile::reshape(tile::load(targets, {i}, {rows}), {rows, 1}), classes, ignored_target) {}
    Rows(const Tile<I> &targets, const Int &classes, const Int &ignored_target)
        : chosen(select(targets >= I(0) && targets < cast<Traced<I>>(classes), as_type<std::int32_t>(targets), -1)),
          ignored(targets == cast<Traced<I>>(ignored_target)) {}

    Tile<bool> are_classes() const { return chosen >= 0; }
    // The mask of the chosen elements of part k.
    Tile<bool> choice(const Int &k, const RowPlan &plan) const {
      return tile::coordinate({1, plan.columns}, 1) + k * plan.columns == chosen;
    }
  };

  // The sums that a row's loss is computed from.
  struct Sums {
    Tile<S> largest, powers, chosen, all;  // the sums of exp(x - largest), of the target's logit and of all logits
  };
  static Sums sums_of(const Logits &logits, const Rows &rows, const Int &i, const RowPlan &plan) {
    const auto part = [&](const Int &k) { return load_rows<T>(logits, i, k, plan); };
    const auto inside = [&](const Int &k, const Tile<S> &values) {
      return select(inside_rows(logits.extent(1), k, plan), values, -infinity);
    };
    const auto chosen = [&](const Int &k, const Tile<S> &values) {
      return Tile<S>(tile::sum(select(rows.choice(k, plan), values, S(0)), {1}));
    };
    if (!plan.in_parts) {
      const Tile<S> values = part(0), row = inside(0, values);
      // The result does not depend on the subtracted number, so it has no gradient.
      const Tile<S> largest = stop_gradient(tile::max(row, {1}));
      return {largest, tile::sum(exp(row - largest), {1}), chosen(0, values), tile::sum(values, {1})};
    }
    Sums sums{tile::full<S>({plan.rows, 1}, std::numeric_limits<S>::lowest() / 2), tile::zeros<S>({plan.rows, 1}),
              tile::zeros<S>({plan.rows, 1}), tile::zeros<S>({plan.rows, 1})};
    // One exponential for each element: each has its own sum until the end of the row.
    Tile<S> powers = tile::zeros<S>({plan.rows, plan.columns}), all = powers;
    for (Int k : range(tile::ceil_div(logits.extent(1), plan.columns))) {
      const Tile<S> values = part(k), row = inside(k, values);
      const Tile<S> next = stop_gradient(max(sums.largest, tile::max(row, {1})));
      powers = powers * exp(sums.largest - next) + exp(row - next);
      all = all + values;
      sums.chosen += chosen(k, values);
      sums.largest = next;
    }
    sums.powers = tile::sum(powers, {1});
    sums.all = tile::sum(all, {1});
    return sums;
  }

  static Forward forward(const CrossEntropyPlan &cross_entropy) {
    const RowPlan plan = cross_entropy.rows;
    return {"cross_entropy",
            {"logits", "targets", "losses", "row_sums", "smoothing", "ignored"},
            [=](Logits logits, Targets targets, Array<S, 1> losses, Array<S, 1> row_sums, const Traced<S> &smoothing,
                const Int &ignored) {
              const Int i = block_index();
              const Rows rows(targets, i, logits.extent(1), ignored, plan.rows);
              const Sums sums = sums_of(logits, rows, i, plan);
              const Tile<S> logarithm = log(sums.powers);
              const auto put = [&](const Array<S, 1> &array, const Tile<S> &values) {
                tile::store(array, {i}, tile::reshape(values, {plan.rows}));
              };
              put(row_sums, sums.largest + logarithm);
              // Subtracts logits first: the differences may be far smaller than the logits. Without smoothing, infinite
              // logits of other classes do not count.
              const Tile<S> plain = (sums.largest - sums.chosen) + logarithm;
              const Tile<S> uniform =
                  (sums.largest - sums.all * (S(1) / cast<Traced<S>>(logits.extent(1)))) + logarithm;
              const Tile<S> loss = select(tile::full<S>({plan.rows, 1}, smoothing) == S(0), plain,
                                          plain * (S(1) - smoothing) + uniform * smoothing);
              put(losses,
                  select(rows.ignored, S(0), select(rows.are_classes(), loss, std::numeric_limits<S>::quiet_NaN())));
            },
            TileOptions{.threads = plan.threads}};
  }

  static constexpr int reduced_at_a_time = 1024;

  // How many rows are not ignored, by one block.
  static Traced<S> counted(const Targets &targets, const Int &ignored) {
    Tile<S> count = tile::zeros<S>({reduced_at_a_time});
    for (Int k : range(tile::ceil_div(targets.extent(0), reduced_at_a_time))) {
      const Tile<I> part = tile::load(targets, {k}, {reduced_at_a_time});
      const Tile<bool> inside = tile::coordinate({reduced_at_a_time}, 0) + k * reduced_at_a_time < targets.extent(0);
      count += select(inside, select(part == cast<Traced<I>>(ignored), S(0), S(1)), S(0));
    }
    return tile::sum(count);
  }

  // By one block, always in the same order.
  static Reduce reduce(const bool &mean) {
    return {mean ? "cross_entropy_mean" : "cross_entropy_sum",
            {"losses", "targets", "loss", "ignored"},
            [=](Numbers losses, Targets targets, Array<S, 1> loss, const Int &ignored) {
              Tile<S> sum = tile::zeros<S>({reduced_at_a_time});
              for (Int k : range(tile::ceil_div(losses.extent(0), reduced_at_a_time)))
                sum += tile::load(losses, {k}, {reduced_at_a_time});
              const Traced<S> all = tile::sum(sum);
              tile::store(loss, {0}, tile::full<S>({1}, mean ? Traced<S>(all / counted(targets, ignored)) : all));
            },
            TileOptions{.threads = 256}};
  }

  static Share share(const bool &) {
    return {"cross_entropy_share",
            {"targets", "loss_gradient", "share", "ignored"},
            [=](Targets targets, Numbers loss_gradient, Array<S, 1> share, const Int &ignored) {
              tile::store(share, {0}, tile::load(loss_gradient, {0}, {1}) / counted(targets, ignored));
            },
            TileOptions{.threads = 256}};
  }

  // logits_gradient = (softmax - the smoothed target) times the gradient of the row's loss.
  static Adjoint adjoint(const CrossEntropyPlan &cross_entropy) {
    const RowPlan plan = cross_entropy.rows;
    return {"cross_entropy_adjoint",
            {"logits", "targets", "row_sums", "gradients", "logits_gradient", "smoothing", "ignored"},
            [=](Logits logits, Targets targets, Numbers row_sums, Numbers gradients, Array<T, 2> logits_gradient,
                const Traced<S> &smoothing, const Int &ignored) {
              const Int i = block_index();
              const Rows rows(targets, i, logits.extent(1), ignored, plan.rows);
              const auto of_rows = [&](const Numbers &numbers) {
                return tile::reshape(tile::load(numbers, {i}, {plan.rows}), {plan.rows, 1});
              };
              const Tile<S> logarithm = of_rows(row_sums);
              const Tile<S> given =
                  cross_entropy.gradient_for_each
                      ? of_rows(gradients)
                      : tile::broadcast<S>(tile::reshape(tile::load(gradients, {0}, {1}), {1, 1}), {plan.rows, 1});
              const Tile<S> gradient = select(rows.are_classes(), given, std::numeric_limits<S>::quiet_NaN());
              const Traced<S> uniform = smoothing / cast<Traced<S>>(logits.extent(1));
              const auto finish = [&](const Int &k) {
                const Tile<S> target = select(rows.choice(k, plan), S(1) - smoothing, S(0)) + uniform;
                const Tile<S> slope = exp(load_rows<T>(logits, i, k, plan) - logarithm) - target;
                put_rows<T>(logits_gradient, i, k, select(rows.ignored, S(0), slope * gradient), plan,
                            cross_entropy.add_gradients);
              };
              if (!plan.in_parts) return finish(0);
              for (Int k : range(tile::ceil_div(logits.extent(1), plan.columns))) finish(k);
            },
            TileOptions{.threads = plan.threads}};
  }
};

SAMITE_TRACED_ONCE_END

}  // namespace samite::ops::detail
