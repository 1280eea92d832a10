// Calls on tiles by the threads of a block: part of the interpreter of the lowered form.
//
// Each thread computes its share of the result when it reaches the call, from the current operands. Its elements there
// differ from those in loops over elements, so that it never needs only its own elements by chance. In calls whose
// device functions have barriers, threads wait for each other: operands must not change from a thread's arrival until
// all of them have continued, and the result comes after the barrier. There is no wait at the end.
//
// Copies arrive when their thread waits for them, and no earlier; until then nothing is in their place.
#pragma once

#include "samite/ir/visit.h"
#include "samite/passes/tiles/spread_tiles.h"
#include "tests/passes/block_threads.h"
#include "tests/passes/block_tiles.h"

#include <map>
#include <set>

namespace samite::test {

// One thread of a block, as far as it has come.
struct BlockThread {
  int number = 0;
  const ir::Stmt *at = nullptr;
  std::vector<tiles::Element> locals;
  std::vector<TileView> tiles;                                         // by local array
  std::vector<std::vector<std::optional<tiles::Element>>> own_arrays;  // likewise
  std::uint32_t allocations = 0;                                       // of memory of the block
  bool in_elements = false;                                            // of tiles
  std::map<ir::LocalArrayId, std::size_t> taken;                       // windows by their barriers, in this block

  struct Copy {
    ir::LocalArrayId array;
    TileView to;
    std::int64_t element;
    std::uint32_t from;                // parameter
    std::optional<std::size_t> place;  // in it; none outside of it
    tiles::Element begun;              // the element when the copy was started
    int group;
  };
  std::vector<Copy> copies;
  int groups = 0;         // that are complete
  std::size_t loops = 0;  // of products, in this block

  struct Stream {
    std::vector<std::int64_t> next;      // start of the next window
    std::int64_t rows = 0, columns = 0;  // from it to the one after it
  };
  std::vector<Stream> streams;                         // by local array
  std::map<const ir::TileCall *, std::int64_t> turns;  // number of turns of calls whose parts all threads read
};

// The barrier inside a call's device function, see samite/device/tile/; none if it has no barrier.
inline std::optional<Meeting::Of> meets_inside(const ir::TileCall &call, const BlockTiles &tiles, int threads) {
  const std::optional<Meeting::Of> block = Meeting::Of::Block, nowhere;
  const ir::TileShape to = call.result.type.shape();
  const std::int64_t warps = threads / 32, count = call.result.type.count();
  switch (ir::info(call.op).typing) {
    case ir::Typing::Reduce: {
      const ir::LocalArrayId from = call.operands[0].array;
      if (const auto &layout = tiles.place(from).layout) {
        if (tiles.is_in_every_thread(call.result.array)) return block;
        // Warps that have parts of the same columns take turns.
        const std::int64_t turns = layout->down * ir::piece_of(layout->unit).threads / 32;
        const std::int64_t parts = passes::reduces_all(call)       ? layout->down * layout->across
                                   : passes::reduces_columns(call) ? turns
                                                                   : layout->across;
        return parts > 1 ? Meeting::Of::Block : Meeting::Of::Warp;
      }
      return call.operands.size() == 2 && warps / count > 1 ? block : nowhere;
    }
    case ir::Typing::Scan: {
      const auto [outer, extent, inner] = ir::scan_extents(call.result.type, call.attribute & ir::scan_dimension);
      const std::int64_t lines = outer * inner, wanted = lines < warps ? warps / lines : 1;
      const std::int64_t chunks = (extent + 31) / 32, length = (chunks + wanted - 1) / wanted * 32;
      return (inner > 1 && 4 * lines >= threads) || length >= extent ? nowhere : block;
    }
    case ir::Typing::Solve: return count / to[to.rank() - 2] < threads ? block : nowhere;
    case ir::Typing::Put: return call.attribute & ir::put_in_order ? nowhere : block;
    case ir::Typing::Fourier: {
      const std::int64_t n = to[to.rank() - 2];
      for (std::int64_t factor = 2; factor < n; ++factor)
        if (n % factor == 0 && n != 4) return block;
      return nowhere;
    }
    case ir::Typing::Cholesky:
    case ir::Typing::Order: return block;
    default: return nowhere;
  }
}

class LoweredCalls : protected tiles::TileOperations {
 protected:
  using Element = tiles::Element;
  using TileArray = tiles::TileArray;
  using TileValue = tiles::TileValue;
  using Thread = BlockThread;

  LoweredCalls(const ir::Kernel &planned, std::vector<TileArray> arguments)
      : tiles_(planned), arguments_(std::move(arguments)), threads_(planned.block_threads) {}

  void begin_block() {
    tiles_.begin_block();
    calls_.clear();
  }

  Steps call(Thread &thread, const ir::Stmt &at, const ir::TileCall &call) {
    Call &state = calls_[&at.kind()];
    check_apart(thread, call);
    const std::optional<Meeting::Of> inside = meets_inside(call, tiles_, threads_);
    // If a warp reduces alone, its first thread has the result.
    const bool of_warp = inside == Meeting::Of::Warp && !tiles_.in_registers(call.result.array);
    const std::vector<std::int64_t> share = of_warp ? sums_of_warp(thread, call) : share_of(thread, call.result);
    if (inside) {
      arrive(thread, call, state, share);
      co_await Meeting{*inside, &at};
    }
    if (share.empty()) co_return;
    if (tiles_.is_in_every_thread(call.result.array)) read_parts(thread, call);
    if (inside == Meeting::Of::Warp) state.made.reset();  // another warp may have come here since
    const TileValue &result = computed(thread, call, state, inside.has_value());
    const TileView &view = thread.tiles[call.result.array];
    for (const std::int64_t e : share) {
      Element element = result.elements[static_cast<std::size_t>(e)];
      // The addend of a product is the thread's own.
      if (call.op == Op::MatMul)
        element = combined(Op::Add, call.result.type, tiles_.read(call.result.array, view, e), element);
      tiles_.write(call.result.array, view, e, element);
    }
  }

  // A window of an array, with zeros outside of that.
  TileValue loaded(std::uint32_t array, const ir::Type &type, const std::vector<std::int64_t> &origin) const {
    const TileArray &from = arguments_.at(array);
    const Shape extents = shape_of(type);
    TileValue made = zero(type);
    for (std::int64_t e = 0; e < type.count(); ++e) {
      Shape index = origin;
      std::int64_t rest = e;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d])
        index[origin.size() - extents.size() + d] += rest % extents[d];
      if (const auto at = place(from.extents, index)) made.elements[static_cast<std::size_t>(e)] = from.elements[*at];
    }
    return made;
  }

  struct Window {
    std::uint32_t array;
    std::vector<std::int64_t> origin;
    friend bool operator==(const Window &, const Window &) = default;
  };

  // The operands of a main loop, or of one product of it. `first`: a tile that the block has; null if both factors are
  // windows.
  struct Multiplied {
    struct Windows {
      ir::Type type;
      Window first;
      std::int64_t rows = 0, columns = 0;  // to the next one
    };
    std::int32_t attribute;
    const ir::TileMemory *first = nullptr;
    std::vector<Windows> windows;
    std::int64_t count = 1;
    std::optional<std::int64_t> terms = {};  // that count, if not all
    bool sets = false;
  };

  // A loop of products: its buffers belong to the copies from the arrival of all threads until all have their sums, to
  // which each thread adds its own products, one step after another.
  Steps product_loop(Thread &thread, const ir::Stmt &at, Multiplied multiplied) {
    Call &state = calls_[&at.kind()];
    state.products.clear();
    // The block's part of the first factor, as all of its threads see it on arrival.
    if (const ir::TileMemory *first = multiplied.first) {
      state.arrived.resize(1);
      state.arrived[0].resize(size_of_type(first->type));
      for (const std::int64_t e : share_read(thread, *first))
        state.arrived[0][static_cast<std::size_t>(e)] = tiles_.read(first->array, thread.tiles[first->array], e);
    }
    for_each_tile(at, [&](const ir::TileMemory &tile, ir::TileAccess access) {
      if (access != ir::TileAccess::ring && access != ir::TileAccess::barriers) return;
      const TileView &view = thread.tiles[tile.array];
      for (int stage = 0; stage < tiles_.place(tile.array).buffers; ++stage)
        for (const std::int64_t e : share_of(thread, tile)) tiles_.poison(tile.array, tiles_.buffer_of(view, stage), e);
    });
    co_await Meeting{Meeting::Of::Block, &at};
    const ir::TileMemory result = *result_of(at);
    for (auto step = static_cast<std::int64_t>(state.products.size()); step < multiplied.count; ++step) {
      std::vector<TileValue> operands;
      if (multiplied.first) {
        operands.push_back(zero(multiplied.first->type));
        operands.back().elements = state.arrived[0];
      }
      for (const typename Multiplied::Windows &windows : multiplied.windows) {
        std::vector<std::int64_t> origin = windows.first.origin;
        origin.back() += step * windows.columns;
        origin[origin.size() - 2] += step * windows.rows;
        operands.push_back(loaded(windows.first.array, windows.type, origin));
      }
      if (multiplied.terms) clear_terms(multiplied, step, operands);
      operands.push_back(zero(result.type));
      state.products.push_back(of_tiles({Op::MatMul, result.type, {}, 0, multiplied.attribute}, operands).value());
    }
    const TileView &view = thread.tiles[result.array];
    for (const std::int64_t e : share_of(thread, result))
      for (const TileValue &product : state.products) {
        const Element &own = product.elements[static_cast<std::size_t>(e)];
        tiles_.write(result.array, view, e,
                     multiplied.sets ? own : combined(Op::Add, result.type, tiles_.read(result.array, view, e), own));
      }
    co_await Meeting{Meeting::Of::Block, &at};
  }

  static void clear_terms(const Multiplied &multiplied, std::int64_t step, std::vector<TileValue> &factors) {
    const bool down[] = {(multiplied.attribute & ir::transposed_a) != 0,
                         (multiplied.attribute & ir::transposed_b) == 0};
    const std::int64_t inner = multiplied.windows[0].type.shape()[down[0] ? 0 : 1];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t columns = multiplied.windows[i].type.shape()[1];
      for (std::size_t e = 0; e < factors[i].elements.size(); ++e) {
        const std::int64_t place = static_cast<std::int64_t>(e), own = down[i] ? place / columns : place % columns;
        if (step * inner + own >= *multiplied.terms) factors[i].elements[e] = {};
      }
    }
  }

  // Starts to copy, or, if the tile is in registers, loads.
  void load(Thread &thread, const ir::TileLoad &load, const std::vector<std::int64_t> &origin) {
    const TileArray &array = arguments_.at(load.array);
    const Shape extents = shape_of(load.result.type);
    const TileView &view = thread.tiles[load.result.array];
    const std::size_t before = origin.size() - extents.size();
    for (const std::int64_t e : share_of(thread, load.result)) {
      Shape index = origin;
      std::int64_t rest = e;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) index[before + d] += rest % extents[d];
      const std::optional<std::size_t> from = place(array.extents, index);
      const Element element = from ? array.elements[*from] : Element{};
      if (tiles_.in_registers(load.result.array)) {
        tiles_.write(load.result.array, view, e, element);
        continue;
      }
      tiles_.poison(load.result.array, view, e);
      thread.copies.push_back({load.result.array, view, e, load.array, from, element, thread.groups});
    }
  }
  static void end_group(Thread &thread) { ++thread.groups; }
  // Waits until all but the last this many groups have arrived. A copy whose source has changed on the way does not
  // arrive.
  void wait_for_copies(Thread &thread, int groups) {
    std::vector<Thread::Copy> left;
    for (const Thread::Copy &copy : thread.copies) {
      if (copy.group >= thread.groups - groups) {
        left.push_back(copy);
        continue;
      }
      const Element element = copy.place ? arguments_.at(copy.from).elements[*copy.place] : Element{};
      if (same(element, copy.begun)) tiles_.write(copy.array, copy.to, copy.element, element);
    }
    thread.copies = std::move(left);
  }

  BlockTiles tiles_;
  std::vector<TileArray> arguments_;
  int threads_;

 private:
  struct Call {
    std::vector<std::vector<Element>> arrived;  // for each operand, the elements that its threads found
    // The result, if its operands have not been written since this number of writes.
    std::optional<std::uint64_t> made;
    std::vector<TileView> views;
    TileValue result;
    std::vector<TileValue> products;  // of a loop of them, since the threads have met before it
  };

  static bool same(const Element &a, const Element &b) {
    return a.integer == b.integer && (a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)));
  }
  // The others are for the device function to write to.
  static std::size_t operands_read(const ir::TileCall &call) {
    return std::min(call.operands.size(), static_cast<std::size_t>(ir::info(call.op).arity));
  }

  std::vector<std::int64_t> share_of(const Thread &thread, const ir::TileMemory &tile) const {
    if (tiles_.in_registers(tile.array))
      return tiles_.elements_of_threads_of(tile.array)[static_cast<std::size_t>(thread.number)];
    return every_from(threads_ - 1 - thread.number, tile);
  }
  // The share that it reads before the threads wait for each other; none of it written by this thread, here or at
  // another call.
  std::vector<std::int64_t> share_read(const Thread &thread, const ir::TileMemory &tile) const {
    return tiles_.in_registers(tile.array) ? share_of(thread, tile)
                                           : every_from((thread.number + threads_ / 2) % threads_, tile);
  }
  std::vector<std::int64_t> every_from(std::int64_t first, const ir::TileMemory &tile) const {
    std::vector<std::int64_t> share;
    for (std::int64_t e = first; e < tile.type.count(); e += threads_) share.push_back(e);
    return share;
  }
  // The elements of a reduction's result that the thread's warp has, if the thread is its first.
  std::vector<std::int64_t> sums_of_warp(const Thread &thread, const ir::TileCall &call) const {
    if (thread.number % 32 != 0) return {};
    const ir::LocalArrayId from = call.operands[0].array;
    const std::int64_t columns = tiles_.place(from).layout->columns;
    std::set<std::int64_t> sums;
    for (int lane = 0; lane < 32; ++lane)
      for (const std::int64_t e : tiles_.elements_of_threads_of(from)[static_cast<std::size_t>(thread.number + lane)])
        sums.insert(passes::reduces_all(call) ? 0 : passes::reduces_columns(call) ? e % columns : e / columns);
    return {sums.begin(), sums.end()};
  }

  void check_apart(const Thread &thread, const ir::TileCall &call) const {
    for (const ir::TileMemory &operand : call.operands)
      if (tiles_.overlap(operand.array, thread.tiles[operand.array], call.result.array,
                         thread.tiles[call.result.array]))
        throw std::runtime_error("a call writes to the memory of what it reads");
  }

  void arrive(Thread &thread, const ir::TileCall &call, Call &state, const std::vector<std::int64_t> &share) {
    state.arrived.resize(call.operands.size());
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const ir::TileMemory &operand = call.operands[i];
      const TileView &view = thread.tiles[operand.array];
      state.arrived[i].resize(size_of_type(operand.type));
      if (i < operands_read(call))
        for (const std::int64_t e : share_read(thread, operand))
          state.arrived[i][static_cast<std::size_t>(e)] = tiles_.read(operand.array, view, e);
      else if (!tiles_.is_in_every_thread(call.result.array))
        for (const std::int64_t e : share_of(thread, operand)) tiles_.poison(operand.array, view, e);
    }
    for (const std::int64_t e : share) tiles_.poison(call.result.array, thread.tiles[call.result.array], e);
    if (tiles_.is_in_every_thread(call.result.array)) write_part(thread, call);
  }

  // The partial results of a block's warps for all of its threads, with the number of the call's turn.
  void write_part(Thread &thread, const ir::TileCall &call) {
    const std::int64_t turn = ++thread.turns[&call];
    if (thread.number % 32 != 0) return;
    const ir::TileMemory &parts = call.operands.at(1);
    Element part{};
    part.integer = turn;
    tiles_.write(parts.array, thread.tiles[parts.array], thread.number / 32, part);
  }
  void read_parts(Thread &thread, const ir::TileCall &call) const {
    const ir::TileMemory &parts = call.operands.at(1);
    for (std::int64_t warp = 0; warp < threads_ / 32; ++warp)
      if (tiles_.read(parts.array, thread.tiles[parts.array], warp).integer != thread.turns[&call])
        throw std::runtime_error("a part of a reduction is overwritten before each thread has read it");
  }

  const TileValue &computed(Thread &thread, const ir::TileCall &call, Call &state, bool has_met) {
    std::vector<TileView> views;
    std::uint64_t last_write = 0;
    for (std::size_t i = 0; i < operands_read(call); ++i) {
      const ir::LocalArrayId array = call.operands[i].array;
      views.push_back(thread.tiles[array]);
      last_write = std::max(last_write, tiles_.last_write(array, thread.tiles[array]));
    }
    if (state.made >= last_write && state.views == views) return state.result;
    std::vector<TileValue> operands;
    for (std::size_t i = 0; i < operands_read(call); ++i) {
      const ir::TileMemory &operand = call.operands[i];
      operands.push_back(zero(operand.type));
      if (has_met) operands.back().elements = state.arrived[i];
      if (tiles_.in_registers(operand.array)) continue;
      for (std::size_t e = 0; e < operands.back().elements.size(); ++e) {
        Element &element = operands.back().elements[e];
        const Element &now = tiles_.read(operand.array, thread.tiles[operand.array], static_cast<std::int64_t>(e));
        if (has_met && !same(element, now)) throw std::runtime_error("an operand changes while a call reads it");
        element = now;
      }
    }
    const ir::Type type = call.result.type;
    if (call.op == Op::MatMul) operands.push_back(zero(type));
    if (call.op == Op::Cast) {
      state.result = zero(type);
      for (std::size_t e = 0; e < state.result.elements.size(); ++e)
        state.result.elements[e] = cast(type, operands[0].type, operands[0].elements[e]);
    } else {
      state.result = of_tiles({call.op, type, {}, 0, call.attribute}, operands).value();
    }
    state.views = views;
    state.made = tiles_.writes();
    return state.result;
  }

  std::map<const ir::StmtKind *, Call> calls_;
};

}  // namespace samite::test
