// The functions consisting of several operations that random tile kernels use (lang/tile_functions.h,
// lang/tile_shape.h, lang/tile_memory.h, lang/tile_reduce.h).
#pragma once

#include "samite/samite.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

namespace samite::test::tiles {

struct LanguageResult {
  ir::Value value;
  double bound;  // no element is larger
};

// A function of a tile of float or double with elements of at most `bound`, which is at most 4. `number` is the
// block's, and small.
template <Scalar T>
class RandomTileFunction {
 public:
  static constexpr unsigned count = 24;

  RandomTileFunction(const Tile<T> &x, double bound, const Int &number) : x_(x), bound_(bound), number_(number) {}

  LanguageResult operator()(unsigned which, unsigned how) const {
    const int rank = x_.rank(), dimension = static_cast<int>(how % static_cast<unsigned>(rank)) - (how & 64 ? rank : 0);
    const bool may_grow = x_.type().count() <= 1024;
    switch (which % count) {
      case 0: return {value(clamp(x_, -0.7, 1.1) + lerp(x_, x_ * x_, 0.25)), 2 + bound_ + bound_ * bound_};
      case 1: return {value(fma(x_, x_ + T(0.5), T(0.125))), bound_ * (bound_ + 1) + 1};
      case 2: return {value(tile::sigmoid(x_) + smoothstep(-1, 3, x_)), 2};
      case 3: return {value(tile::silu(x_) - tile::relu(x_)), 2 * bound_};
      case 4: return {value(how & 8 ? tile::gelu(x_) : tile::gelu_tanh(x_)), bound_};
      case 5: return {value(tile::softmax(x_, {dimension})), 1};
      case 6: return {value(tile::log_softmax(x_, {dimension})), 2 * bound_ + 10};
      case 7: return {value(x_ - tile::mean(x_, {dimension})), 2 * bound_};
      case 8: return {value(tile::var(x_, {dimension}) + tile::var(x_) * T(0.5)), 6 * bound_ * bound_};
      case 9: return {value(tile::norm(x_, {dimension})), bound_ * 64};
      case 10: return {value(tile::flip(x_, dimension)), bound_};
      case 11: return {value(tile::roll(x_, number_ * 2 - 3, dimension)), bound_};
      case 12: return {value(tile::roll(x_, static_cast<int>(how >> 8) % 5, dimension) + sign(x_)), bound_ + 1};
      case 13: return padded(how);
      case 14:
        if (!may_grow) break;
        return {value(how & 8 ? tile::repeat(x_, 2, dimension) : tile::repeat_interleave(x_, 3, dimension)), bound_};
      case 15:
        if (!may_grow || rank == 4) break;
        return {value(tile::stack(x_, Tile<T>(x_ * T(0.5)), dimension)), bound_};
      case 16: {
        const std::vector<Tile<T>> parts = tile::split(x_, x_.extent(dimension) % 2 == 0 ? 2 : 1, dimension);
        return {value(parts.front() - parts.back() * T(0.5)), 2 * bound_};
      }
      case 17: return {sum_of_exponentials(dimension), bound_ + 10};
      case 18: return {lines(dimension), 10 * bound_};
      case 19: {
        const auto first = static_cast<int>(std::min<std::int64_t>(x_.extent(-1), 1 + (how >> 8) % 4));
        return {value(tile::topk(x_, first, {.descending = (how & 8) != 0}).keys), bound_};
      }
      case 20: return {mapped(), 2 * bound_ + 1};
      case 21: {
        const Tile<bool> positive = x_ > T(0.3);
        const Tile<T> share = tile::cast<T>(tile::count(positive, {dimension}) + tile::sum(positive) % 3);
        return {value(select(tile::any(positive, {dimension}), x_, x_ * T(0.5)) + share * T(0.0625) +
                      select(tile::all(isfinite(x_)), x_, -x_)),
                2 * bound_ + 16};
      }
      case 22: return {value(tile::dropout(x_, 0.25f, static_cast<int>(how), {.stream = number_ * 500})), 2 * bound_};
      default: {
        const Tile<T> first = tile::full_like(x_, tile::reshape(x_, {x_.type().count()})[number_]);
        return {value(x_ * T(0.5) + first), 2 * bound_};
      }
    }
    return {value(-x_), bound_};
  }

 private:
  static ir::Value value(const Tile<T> &tile) { return tile.value(std::source_location::current()); }

  LanguageResult padded(unsigned how) const {
    const T around = how & 8 ? T(0) : T(0.75);
    switch (x_.rank()) {
      case 1: return {value(tile::pad(x_, {1}, {2}, around)), bound_ + 1};
      case 2: return {value(tile::pad(x_, {0, 2}, {1, 0}, around)), bound_ + 1};
      case 3: return {value(tile::pad(x_, {1, 0, 0}, {0, 0, 1}, around)), bound_ + 1};
      default: return {value(x_), bound_};
    }
  }

  // Its logarithm, from parts that each have their greatest element and a sum relative to it.
  ir::Value sum_of_exponentials(int dimension) const {
    const auto both = [](const auto &a, const auto &b) {
      const auto &[m, s] = a;
      const auto &[n, t] = b;
      const Tile<T> top = max(m, n);
      return std::tuple{top, Tile<T>(s * exp(m - top) + t * exp(n - top))};
    };
    const auto [top, sum] = tile::reduce(std::tuple{x_, tile::full_like(x_, 1)}, {dimension}, both);
    return value(top + log(sum));
  }
  // y[i] = 0.5 y[i - 1] + x[i]
  ir::Value lines(int dimension) const {
    const auto after = [](const auto &a, const auto &b) {
      return std::tuple{Tile<T>(std::get<0>(a) * std::get<0>(b)),
                        Tile<T>(std::get<0>(b) * std::get<1>(a) + std::get<1>(b))};
    };
    return value(std::get<1>(tile::inclusive_scan(std::tuple{tile::full_like(x_, T(0.5)), x_}, dimension, after)));
  }
  ir::Value mapped() const {
    const auto code = [](const Traced<T> &a, const Traced<T> &b) {
      Traced<T> y = a * T(0.5) + b;
      if_(a > T(0.21), [&] { y = y - a * T(0.25); });
      return y;
    };
    return value(tile::map(code, x_, Tile<T>(sin(x_))));
  }

  const Tile<T> &x_;
  double bound_;
  const Int &number_;
};

}  // namespace samite::test::tiles
