// Reductions with a function of the user's, and tiles made of functions of their indices.
//
//   Tile<float> top = tile::reduce(x, {1}, [](auto a, auto b) { return log(exp(a) + exp(b)); });
//   Tile<float> w = tile::generate<float>({64}, [](auto i) { return 0.5f - 0.5f * cos(tile::cast<float>(i) * 0.1f); });
#pragma once

#include "samite/lang/tile_operations.h"

#include <optional>

namespace samite {
namespace lang {

// What lies before, along and after a dimension. UserError where there is no such dimension.
struct AroundDimension {
  std::int64_t outer, extent, inner;
};
AroundDimension around_dimension(const ir::Type &type, int dimension, SourceLocation where);
ir::Value reshape_tile(ir::Value x, std::span<const std::int64_t> extents, SourceLocation where);
// Pairs of neighbours along the middle one of three dimensions: their first, or their second ones.
ir::Value halves_of_pairs(ir::Value x, int which, SourceLocation where);
ir::Value last_of_middle(ir::Value x, SourceLocation where);
// UserError where a function of so many indices is to make a tile of other than so many dimensions.
void check_indices(std::size_t indices, TileExtents extents, SourceLocation where);

// Along the middle one of three dimensions, as a tree. What is left over comes at the end.
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

}  // namespace lang

namespace tile {

// Takes the elements along the dimensions together by an associative function of two tiles, element by element; it need
// not be commutative. As many of them at once as there are pairs, so that the steps are the logarithm of the extent.
// The gradient is that of the function, of the partial results, which the adjoint computes again.
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
    extents[static_cast<std::size_t>(dimension)] = 1;
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

// Each element as a function of its indices: a tile of Int for each dimension.
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
  } else {
    static_assert(std::invocable<const F &, Index, Index, Index, Index>,
                  "generate: the function has an Int tile for each of one to four dimensions");
    lang::check_indices(4, extents, where);
    return made(function(index(0), index(1), index(2), index(3)));
  }
}

}  // namespace tile
}  // namespace samite
