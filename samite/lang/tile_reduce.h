// Reductions and scans with a user's function, and tiles made of functions of their indices.
//
//   // The greatest element, and the sum of exponentials relative to it, as in an online softmax:
//   auto [top, total] = tile::reduce(std::tuple{x, tile::ones<float>({8, 64})}, {1}, [](auto a, auto b) {
//     auto [m, s] = a;
//     auto [n, t] = b;
//     Tile<float> top = max(m, n);
//     return std::tuple{top, Tile<float>(s * exp(m - top) + t * exp(n - top))};
//   });
//   Tile<float> top = tile::reduce(x, {1}, [](auto a, auto b) { return log(exp(a) + exp(b)); });
//   Tile<float> w = tile::generate<float>({64}, [](auto i) { return 0.5f - 0.5f * cos(tile::cast<float>(i) * 0.1f); });
#pragma once

#include "samite/lang/tile_operations.h"
#include "samite/lang/tile_threads.h"

#include <optional>
#include <tuple>

namespace samite {
namespace lang {

// The extents before, along and after a dimension. UserError if there is no such dimension.
struct AroundDimension {
  std::int64_t outer, extent, inner;
};
AroundDimension around_dimension(const ir::Type &type, int dimension, SourceLocation where);
ir::Value reshape_tile(ir::Value x, std::span<const std::int64_t> extents, SourceLocation where);
// The first, or the second, elements of neighbouring pairs along the middle one of three dimensions.
ir::Value halves_of_pairs(ir::Value x, int which, SourceLocation where);
ir::Value last_of_middle(ir::Value x, SourceLocation where);
// UserError if the function's number of indices is not the tile's number of dimensions.
void check_indices(std::size_t indices, TileExtents extents, SourceLocation where);

// Reduces along the middle one of three dimensions, as a tree. Leftover elements are combined at the end.
template <Scalar T, class F>
Tile<T> reduce_middle(const Tile<T> &x, std::optional<std::type_identity_t<Tile<T>>> rest, const F &function,
                      SourceLocation where) {
  const std::int64_t extent = x.extent(1);
  if (extent == 1) return rest ? Tile<T>(function(x, *rest)) : x;
  if (extent % 2 == 1) {
    Tile<T> last = Tile<T>::adopt(last_of_middle(x.value(where), where));
    if (rest)
      rest.emplace(Tile<T>(function(last, *rest)));
    else
      rest.emplace(std::move(last));
  }
  const Tile<T> first = Tile<T>::adopt(halves_of_pairs(x.value(where), 0, where));
  const Tile<T> second = Tile<T>::adopt(halves_of_pairs(x.value(where), 1, where));
  return reduce_middle(Tile<T>(function(first, second)), std::move(rest), function, where);
}

// Several tiles of equal extents at once.
template <class... Ts>
using TilesOf = std::tuple<Tile<Ts>...>;
// UserError unless all have the extents of the first.
void check_equal_extents(std::initializer_list<ir::Type> types, SourceLocation where);
// Part of the middle one of three dimensions.
ir::Value part_of_middle(ir::Value x, std::int64_t begin, std::int64_t extent, SourceLocation where);

template <Scalar... Ts, class F>
TilesOf<Ts...> each_of(const TilesOf<Ts...> &tiles, const F &function) {
  return std::apply([&](const Tile<Ts> &...x) { return TilesOf<Ts...>{Tile<Ts>::adopt(function(x))...}; }, tiles);
}
template <Scalar... Ts, class F>
TilesOf<Ts...> each_of(const TilesOf<Ts...> &tiles, const TilesOf<Ts...> &others, const F &function) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return TilesOf<Ts...>{Tile<Ts>::adopt(function(std::get<I>(tiles), std::get<I>(others)))...};
  }(std::index_sequence_for<Ts...>{});
}
template <Scalar... Ts>
const ir::Type &first_type(const TilesOf<Ts...> &tiles) {
  return std::get<0>(tiles).type();
}
template <class F, class Tiles>
concept CombinesTiles = std::invocable<const F &, const Tiles &, const Tiles &> &&
                        std::convertible_to<std::invoke_result_t<const F &, const Tiles &, const Tiles &>, Tiles>;

// Reshapes to three dimensions around one of them; and back to the extents.
template <Scalar... Ts>
TilesOf<Ts...> around_middle(const TilesOf<Ts...> &tiles, int dimension, SourceLocation where) {
  const AroundDimension e = around_dimension(first_type(tiles), dimension, where);
  return each_of(tiles, [&](const auto &x) {
    const std::int64_t three[] = {e.outer, e.extent, e.inner};
    return reshape_tile(x.value(where), three, where);
  });
}
template <Scalar... Ts>
TilesOf<Ts...> middles(const TilesOf<Ts...> &tiles, std::int64_t begin, std::int64_t extent, SourceLocation where) {
  return each_of(tiles, [&](const auto &x) { return part_of_middle(x.value(where), begin, extent, where); });
}

template <Scalar... Ts, class F>
TilesOf<Ts...> reduce_middles(const TilesOf<Ts...> &tiles, const TilesOf<Ts...> *rest, const F &function,
                              SourceLocation where) {
  const std::int64_t extent = first_type(tiles).shape()[1];
  if (extent == 1) return rest ? TilesOf<Ts...>(function(tiles, *rest)) : tiles;
  const auto halves = [&](int which) {
    return each_of(tiles, [&](const auto &x) { return halves_of_pairs(x.value(where), which, where); });
  };
  const TilesOf<Ts...> pairs = function(halves(0), halves(1));
  if (extent % 2 == 0) return reduce_middles(pairs, rest, function, where);
  const TilesOf<Ts...> last = middles(tiles, extent - 1, 1, where);
  const TilesOf<Ts...> left = rest ? TilesOf<Ts...>(function(last, *rest)) : last;
  return reduce_middles(pairs, &left, function, where);
}

// Each step combines elements that are twice as far apart.
template <Scalar... Ts, class F>
TilesOf<Ts...> scan_middles(TilesOf<Ts...> tiles, std::int64_t apart, const F &function, SourceLocation where) {
  const std::int64_t extent = first_type(tiles).shape()[1];
  if (apart >= extent) return tiles;
  const TilesOf<Ts...> combined =
      function(middles(tiles, 0, extent - apart, where), middles(tiles, apart, extent - apart, where));
  return scan_middles(each_of(middles(tiles, 0, apart, where), combined,
                              [&](const auto &first, const auto &rest) {
                                return concatenate_tiles(first.value(where), rest.value(where), 1, where);
                              }),
                      2 * apart, function, where);
}

}  // namespace lang

namespace tile {

// Combines the elements along the dimensions by an associative function of two tiles, element by element; it need not
// be commutative. Each step combines all pairs at once, so that the number of steps is the logarithm of the extent. The
// gradient is that of the function at the partial results, which the adjoint recomputes.
template <Scalar T, class F>
  requires std::invocable<const F &, const Tile<T> &, const Tile<T> &>
Tile<T> reduce(const Tile<T> &x, lang::Dimensions along, const F &function,
               SourceLocation where = std::source_location::current()) {
  static_assert(
      std::same_as<std::remove_cvref_t<std::invoke_result_t<const F &, const Tile<T> &, const Tile<T> &>>, Tile<T>>,
      "reduce: the function of two tiles gives a tile of the same type");
  std::vector<ir::Value> done{x.value(where)};
  for (int dimension : along) {
    const ir::Value from = done.back();
    const lang::AroundDimension e = lang::around_dimension(from.type(), dimension, where);
    const std::int64_t three[] = {e.outer, e.extent, e.inner};
    const Tile<T> reduced =
        lang::reduce_middle(Tile<T>::adopt(lang::reshape_tile(from, three, where)), std::nullopt, function, where);
    const ir::TileShape shape = from.type().shape();
    std::vector<std::int64_t> extents(shape.begin(), shape.end());
    extents[static_cast<std::size_t>(lang::tile_dimension(dimension, from.type(), where))] = 1;
    done.push_back(lang::reshape_tile(reduced.value(where), extents, where));
  }
  return Tile<T>::adopt(done.back());
}
// Reduces all elements, row by row, to a number.
template <Scalar T, class F>
  requires(std::invocable<const F &, const Tile<T> &, const Tile<T> &> && ArithmeticScalar<T>)
Traced<T> reduce(const Tile<T> &x, const F &function, SourceLocation where = std::source_location::current()) {
  const std::int64_t count[] = {x.type().count()};
  const Tile<T> all = reduce(Tile<T>::adopt(lang::reshape_tile(x.value(where), count, where)), {0}, function, where);
  return extract(all, {0}, where);
}

// Several tiles of equal extents at once, by an associative function of two tuples of tiles.
template <Scalar... Ts, class F>
  requires lang::CombinesTiles<F, std::tuple<Tile<Ts>...>>
std::tuple<Tile<Ts>...> reduce(const std::tuple<Tile<Ts>...> &x, lang::Dimensions along, const F &function,
                               SourceLocation where = std::source_location::current()) {
  using All = std::tuple<Tile<Ts>...>;
  std::apply([&](const auto &...tiles) { lang::check_equal_extents({tiles.type()...}, where); }, x);
  std::vector<All> done{x};
  for (const int dimension : along) {
    const All reduced = lang::reduce_middles(lang::around_middle(done.back(), dimension, where),
                                             static_cast<const All *>(nullptr), function, where);
    const ir::TileShape shape = lang::first_type(done.back()).shape();
    std::vector<std::int64_t> extents(shape.begin(), shape.end());
    extents[static_cast<std::size_t>(lang::tile_dimension(dimension, lang::first_type(done.back()), where))] = 1;
    done.push_back(lang::each_of(
        reduced, [&](const auto &tile) { return lang::reshape_tile(tile.value(where), extents, where); }));
  }
  return done.back();
}

// Combines each element with all before it along a dimension, by an associative function of two tiles, or of two tuples
// of tiles. Takes as many steps as the extent has bits.
template <Scalar... Ts, class F>
  requires lang::CombinesTiles<F, std::tuple<Tile<Ts>...>>
std::tuple<Tile<Ts>...> inclusive_scan(const std::tuple<Tile<Ts>...> &x, int dimension, const F &function,
                                       SourceLocation where = std::source_location::current()) {
  std::apply([&](const auto &...tiles) { lang::check_equal_extents({tiles.type()...}, where); }, x);
  const ir::TileShape shape = lang::first_type(x).shape();
  const std::vector<std::int64_t> extents(shape.begin(), shape.end());
  return lang::each_of(lang::scan_middles(lang::around_middle(x, dimension, where), 1, function, where),
                       [&](const auto &tile) { return lang::reshape_tile(tile.value(where), extents, where); });
}
template <Scalar T, class F>
  requires std::invocable<const F &, const Tile<T> &, const Tile<T> &>
Tile<T> inclusive_scan(const Tile<T> &x, int dimension, const F &function,
                       SourceLocation where = std::source_location::current()) {
  using One = std::tuple<Tile<T>>;
  const auto of_tuples = [&](const One &a, const One &b) {
    return One{Tile<T>(function(std::get<0>(a), std::get<0>(b)))};
  };
  return std::get<0>(inclusive_scan(One{x}, dimension, of_tuples, where));
}

// Each element as a function of its indices: a tile of Int for each dimension, or an Int.
template <Scalar T, class F>
Tile<T> generate(TileExtents extents, const F &function, SourceLocation where = std::source_location::current()) {
  using Index = Tile<std::int32_t>;
  const auto index = [&](int dimension) { return coordinate<std::int32_t>(extents, dimension, where); };
  const auto made = [&](const TileOperand<T> &value) { return broadcast<T>(value, extents, where); };
  if constexpr (std::invocable<const F &, Index>) {
    lang::check_indices(1, extents, where);
    return made(function(index(0)));
  } else if constexpr (std::invocable<const F &, Index, Index>) {
    lang::check_indices(2, extents, where);
    return made(function(index(0), index(1)));
  } else if constexpr (std::invocable<const F &, Index, Index, Index>) {
    lang::check_indices(3, extents, where);
    return made(function(index(0), index(1), index(2)));
  } else if constexpr (std::invocable<const F &, Index, Index, Index, Index>) {
    lang::check_indices(4, extents, where);
    return made(function(index(0), index(1), index(2), index(3)));
  } else {
    static_assert(std::invocable<const F &, Int> || std::invocable<const F &, Int, Int> ||
                      std::invocable<const F &, Int, Int, Int> || std::invocable<const F &, Int, Int, Int, Int>,
                  "generate: the function has an index, an Int or a tile of them, for each of one to four dimensions");
    return made(per_thread(extents, function, where));
  }
}

}  // namespace tile
}  // namespace samite
