// Code about one thread inside a tile kernel: it computes each element of a tile as a Kernel's function would, with its
// own numbers, branches and loops.
//
//   Tile<float> depth = tile::per_thread([&](Int thread) {          // one value of each thread of the block
//     Float sum = 0;
//     for (Int k : range(first(thread), first(thread + 1))) sum += x(k);
//     return sum;
//   });
//   tile::per_thread(tile::inclusive_scan(depth, 0), [&](Int thread, Float value) { y(thread) = value; });
//
// `per_thread({8, 16}, f)` makes a tile of these extents, and passes each element's indices to `f`; without extents,
// the tile has as many elements as the block has threads (TileOptions::threads). `per_thread(t, f)` passes the indices
// of each element of `t`, and the element. The results of `f` are the elements of the resulting tile. `f` may
// return a std::tuple of numbers, for a tuple of tiles, or nothing.
//
// All elements run the code together: an operation is done for all of them before the next one. If they differ at a
// branch, both sides are run, each by its elements; a loop ends when all of them have left it. Stores of one element to
// an array are visible to the others. An index outside of its array reads zero, and stores nothing. Numbers from
// outside of `f` belong to the block, and cannot be assigned there. break_, continue_, return_, print, check, local
// arrays, and atomics that return the previous element are a UserError in this code.
#pragma once

#include "samite/lang/tile_operations.h"

#include <optional>
#include <tuple>
#include <vector>

namespace samite {
namespace lang {

// Code about one thread that is being captured, for each element of a tile.
class ThreadCode {
 public:
  // For tiles of these extents, or of as many elements as the block has threads.
  ThreadCode(std::optional<TileExtents> extents, SourceLocation where);
  // For the elements of tiles of equal extents, and their indices.
  ThreadCode(std::vector<ir::Value> tiles, SourceLocation where);

  int rank() const { return shape_.rank(); }
  ir::Value index(int dimension) const { return indices_[static_cast<std::size_t>(dimension)]; }
  ir::Value element(std::size_t tile = 0) const { return elements_[tile]; }
  // Ends the code: for each result, the tile of all elements' values.
  std::vector<ir::Value> close(const std::vector<ir::Value> &results);
  // UserError if the number of indices is not that of the dimensions.
  void check_indices(int indices) const;

 private:
  void open(const ir::TileShape &shape);

  SourceLocation where_;
  ir::TileShape shape_;
  std::size_t depth_ = 0;
  std::vector<ir::Value> indices_;
  std::vector<ir::Value> tiles_, elements_;
};

// The tile of a number that the code returns, or a tuple of tiles for a tuple of numbers.
template <class A>
auto tiles_of_results(ThreadCode &code, const A &result, SourceLocation where) {
  if constexpr (requires { std::tuple_size<A>::value; }) {
    return std::apply(
        [&](const auto &...numbers) {
          static_assert((!std::is_void_v<value_type_of<std::decay_t<decltype(numbers)>>> && ...),
                        "the tuple that the function returns is of traced numbers (Float, Int, …)");
          const std::vector<ir::Value> tiles =
              code.close({Operand<value_type_of<std::decay_t<decltype(numbers)>>>(numbers, where).value()...});
          std::size_t next = 0;
          return std::tuple{Tile<value_type_of<std::decay_t<decltype(numbers)>>>::adopt(tiles[next++])...};
        },
        result);
  } else {
    using T = value_type_of<A>;
    static_assert(!std::is_void_v<T>, "the function returns a traced number (Float, Int, …), or a std::tuple of these");
    return Tile<T>::adopt(code.close({Operand<T>(result, where).value()})[0]);
  }
}

template <int Rank, class F, class... Element>
auto run_thread_code(ThreadCode &code, const F &function, SourceLocation where, Element &&...element) {
  code.check_indices(Rank);
  return [&]<std::size_t... D>(std::index_sequence<D...>) {
    auto call = [&] {
      return function(Int::copy(code.index(static_cast<int>(D)), where)..., std::forward<Element>(element)...);
    };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      code.close({});
    } else {
      return tiles_of_results(code, call(), where);
    }
  }(std::make_index_sequence<Rank>{});
}

template <class F, class... Element>
auto thread_code(ThreadCode &code, const F &function, SourceLocation where, Element &&...element) {
  if constexpr (std::invocable<const F &, Int, Element...>) {
    return run_thread_code<1>(code, function, where, std::forward<Element>(element)...);
  } else if constexpr (std::invocable<const F &, Int, Int, Element...>) {
    return run_thread_code<2>(code, function, where, std::forward<Element>(element)...);
  } else if constexpr (std::invocable<const F &, Int, Int, Int, Element...>) {
    return run_thread_code<3>(code, function, where, std::forward<Element>(element)...);
  } else {
    static_assert(std::invocable<const F &, Int, Int, Int, Int, Element...>,
                  "per_thread: the function has an Int for each dimension of the tile, and then the element, if it is "
                  "of a tile");
    return run_thread_code<4>(code, function, where, std::forward<Element>(element)...);
  }
}

// Repeated along dimensions of extent 1, so that all have the same extents.
std::vector<ir::Value> tiles_that_fit(std::vector<ir::Value> tiles, SourceLocation where);

// The elements of compatible tiles, one of each in every call.
template <class F, Scalar... Ts>
auto map_numbers(const F &function, SourceLocation where, const Tile<Ts> &...tiles) {
  ThreadCode code(tiles_that_fit({tiles.value(where)...}, where), where);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return tiles_of_results(code, function(Traced<Ts>::copy(code.element(I), where)...), where);
  }(std::index_sequence_for<Ts...>{});
}

}  // namespace lang

// A condition that differs between the elements.
template <class... Sides>
void if_(const Tile<bool> &, Sides &&...) {
  static_assert(
      sizeof...(Sides) == 0,
      "if_ on a tile: the threads of a block go the same way. Choose elements with select, make a number of the "
      "tile (tile::max), or write code about one element with tile::per_thread");
}

namespace tile {

template <class F>
auto per_thread(TileExtents extents, const F &function, SourceLocation where = std::source_location::current()) {
  lang::ThreadCode code(extents, where);
  return lang::thread_code(code, function, where);
}
template <class F>
auto per_thread(const F &function, SourceLocation where = std::source_location::current()) {
  lang::ThreadCode code(std::nullopt, where);
  return lang::thread_code(code, function, where);
}
template <Scalar T, class F>
auto per_thread(const Tile<T> &x, const F &function, SourceLocation where = std::source_location::current()) {
  lang::ThreadCode code(std::vector{x.value(where)}, where);
  return lang::thread_code(code, function, where, Traced<T>::copy(code.element(), where));
}

// A function of tiles, or of their elements, of each element:
//
//   Tile<float> y = tile::map([](Float a, Float b) { return a * a + b; }, x, z);
template <class F, Scalar... Ts>
auto map(const F &function, const Tile<Ts> &...tiles) {
  if constexpr (std::invocable<const F &, const Tile<Ts> &...>) {
    return function(tiles...);
  } else {
    static_assert(std::invocable<const F &, Traced<Ts>...>,
                  "map: the function takes as many tiles as there are, or a traced number of each");
    return lang::map_numbers(function, lang::latest_location(), tiles...);
  }
}

}  // namespace tile
}  // namespace samite
