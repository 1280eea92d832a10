// The tiles of a block as each of its threads sees them: in memory that all share, or in registers that the threads
// have between them.
#pragma once

#include "tests/passes/block_memory.h"
#include "tests/passes/block_places.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

namespace samite::test {

// A thread's view of a tile since its last allocation.
struct TileView {
  std::int64_t begin = 0, elements = 0;
  ir::LocalArrayId memory = 0;   // its own, or the one that it is a buffer of
  std::uint32_t allocation = 0;  // of that memory, counted as every thread of the block does

  friend bool operator==(const TileView &, const TileView &) = default;
};

class BlockTiles {
 public:
  using Element = tiles::Element;
  using Array = ir::LocalArrayId;

  explicit BlockTiles(const ir::Kernel &planned)
      : threads_(planned.block_threads), all_(block_places(planned)), own_(all_.tiles.size()) {
    for (std::size_t array = 0; array < all_.tiles.size(); ++array)
      if (all_.tiles[array].layout) own_[array] = elements_of_threads(*all_.tiles[array].layout, threads_);
  }

  // Memory of another block, in which nothing is yet.
  void begin_block() {
    memory_ = {};
    memory_.grow(all_.shared_bytes);
    apart_.clear();
  }

  const TilePlace &place(Array array) const { return all_.tiles.at(array); }
  bool in_registers(Array array) const { return place(array).space == ir::MemorySpace::registers; }
  bool is_in_every_thread(Array array) const {
    const auto &layout = place(array).layout;
    return layout && layout->unit == ir::FragmentLayout::Unit::everywhere;
  }
  // For a tile in registers: the elements of each thread.
  const std::vector<std::vector<std::int64_t>> &elements_of_threads_of(Array array) const { return own_.at(array); }

  TileView view(Array array, std::int64_t elements, std::uint32_t allocation, int thread) {
    const TilePlace &own = place(array);
    if (own.space == ir::MemorySpace::shared) return {own.offset, elements, array, allocation};
    const bool repeats = own.layout && own.layout->repeats();  // each thread has elements of its own
    const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(own.type));
    const auto [known, added] = apart_.try_emplace({array, own.space == ir::MemorySpace::device ? allocation : 0});
    if (added) known->second = memory_.grow(repeats ? bytes * threads_ : bytes);
    return {known->second + (repeats ? bytes * thread : 0), elements, array, allocation};
  }
  // A buffer of other memory.
  TileView buffer_of(const TileView &memory, std::int64_t number) const {
    TileView buffer = memory;
    buffer.begin += number * place(memory.memory).bytes_of_buffer;
    return buffer;
  }

  const Element &read(Array array, const TileView &view, std::int64_t element) const {
    const TilePlace &own = place(array);
    check(array, view, element);
    const Element *found = memory_.read(view.begin + own.place(element), size_of(own.type), name(view, element));
    if (!found) throw std::runtime_error("nothing is at element " + std::to_string(element) + " of " + text(array));
    return *found;
  }
  void write(Array array, const TileView &view, std::int64_t element, const Element &value) {
    check(array, view, element);
    memory_.write(view.begin + place(array).place(element), size_of(place(array).type), name(view, element), value);
  }
  void poison(Array array, const TileView &view, std::int64_t element) {
    memory_.poison(view.begin + place(array).place(element), size_of(place(array).type));
  }

  // Throws if an element is in another thread's registers.
  void check_owner(Array array, std::int64_t element, int thread) const {
    if (in_registers(array) && std::ranges::find(own_[array].at(static_cast<std::size_t>(thread)), element) ==
                                   own_[array].at(static_cast<std::size_t>(thread)).end())
      throw std::runtime_error("element " + std::to_string(element) + " of " + text(array) + " is another thread's");
  }

  // Whether two tiles have bytes in common.
  bool overlap(Array a, const TileView &of_a, Array b, const TileView &of_b) const {
    return of_a.begin < end(b, of_b) && of_b.begin < end(a, of_a);
  }

  // The number of writes so far, and this number at the last write near the tile.
  std::uint64_t writes() const { return memory_.writes(); }
  std::uint64_t last_write(Array array, const TileView &view) const {
    return memory_.last_write(view.begin, end(array, view));
  }

 private:
  static std::string text(Array array) { return "$" + std::to_string(array); }

  std::int64_t end(Array array, const TileView &view) const {
    return view.begin + place(array).place(view.elements - 1) + static_cast<std::int64_t>(size_of(place(array).type));
  }
  void check(Array array, const TileView &view, std::int64_t element) const {
    if (view.allocation == 0) throw std::runtime_error(text(array) + " is not allocated");
    if (element < 0 || element >= view.elements)
      throw std::runtime_error("element " + std::to_string(element) + " is outside of " + text(array));
  }
  static BlockMemory::Name name(const TileView &view, std::int64_t element) {
    return {view.memory, view.allocation, static_cast<std::uint32_t>(element)};
  }

  int threads_;
  BlockPlaces all_;
  std::vector<std::vector<std::vector<std::int64_t>>> own_;  // by array and thread
  BlockMemory memory_;
  std::map<std::pair<Array, std::uint32_t>, std::int64_t> apart_;  // places of tiles that share no bytes
};

}  // namespace samite::test
