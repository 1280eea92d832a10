// The main loop of a product, C += A B: the copy engine loads the factors, step by step, into rings of stages in shared
// memory, and warp groups multiply them. Compute capability 9.0.
//
// Each stage has two barriers: the bytes of both factors arrive at `full`, and each multiplying warp arrives at `empty`
// when it has read them. The maps' boxes are panels: 128 bytes wide, and as high as the factor's window.
#pragma once

#include "samite/device/cuda/sm90_copies.h"
#include "samite/device/tile/sm90_multiply.h"
#include "samite/device/tile/sm90_turns.h"

namespace samite {

// Windows of an array that a loop visits: the indices of the first one, the outermost dimension first. The last two
// dimensions are those of the window.
template <int rank>
struct BulkWindows {
  const TensorMap *map;
  i32 at[rank];
};

// A loop's position in its ring. Copying and multiplying threads each have their own; both continue from loop to loop
// if a block runs several. The number of the thread's warp group is read only once, because each step of a loop that
// does more would wait for the answer.
template <int stages>
struct RingPosition {
  u32 stage = 0, parity = 0;
  int warp_group = warp_group_of_block();

  SAMITE_INLINE_MEMBER void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  SAMITE_INLINE_MEMBER void skip(u32 steps) {
    stage += steps;
    parity ^= stage / stages % 2;
    stage %= stages;
  }
};

// The two barriers of each stage of a ring, at `barriers`: the first half are `full`.
template <int stages>
struct RingBarriers {
  u64 *barriers;

  SAMITE_INLINE_MEMBER u64 *full(u32 stage) const { return barriers + stage; }
  SAMITE_INLINE_MEMBER u64 *empty(u32 stage) const { return barriers + stages + stage; }

  // Called by one thread. The block's threads use them after a barrier of the block. `readers`: the number of arrivals
  // that mark a stage as empty.
  SAMITE_INLINE_MEMBER void make(u32 readers) const {
#pragma unroll 1
    for (u32 stage = 0; stage < stages; ++stage) {
      make_barrier(full(stage), 1);
      make_barrier(empty(stage), readers);
    }
    show_barriers();
  }
  SAMITE_INLINE_MEMBER void end() const {
#pragma unroll 1
    for (u32 barrier = 0; barrier < 2 * stages; ++barrier) end_barrier(barriers + barrier);
  }
  // Called by each multiplying warp, when the products of a stage are complete.
  SAMITE_INLINE_MEMBER void release(u32 stage) const {
    if (lane_of_warp() == 0) arrive(empty(stage));
  }
};

// The blocks of a cluster, whose producers load parts of shared windows of the factors for each other.
template <int blocks_, bool shares_a_, bool shares_b_>
struct Cluster {
  static constexpr int blocks = blocks_;
  static constexpr bool shares_a = shares_a_, shares_b = shares_b_;
};
using Alone = Cluster<1, false, false>;

// The rings of both factors, each at a multiple of 1,024 bytes. In a cluster all blocks write to a stage, so it is
// empty only when the consumers in all of them have read it. Bytes from other blocks may arrive before a block has
// announced how many it expects, but not before the ring's previous products in that stage are complete.
template <class Product, class Kind, int K, int stages_, bool transposed_a, bool transposed_b, class Cluster_>
struct ProductRings : RingBarriers<stages_> {
  using Cluster = Cluster_;
  using Factors = GroupProduct<Product, Kind, K, transposed_a, transposed_b>;
  using RowsOfA = typename Factors::RowsOfA;
  using RowsOfB = typename Factors::RowsOfB;
  using Position = RingPosition<stages_>;
  static constexpr bool a_along_terms = !transposed_a, b_along_terms = transposed_b;
  static constexpr int terms = K, threads = Product::warps * 128;  // of a step; that multiply
  static constexpr int stages = stages_, readers = Product::warps * 4 * Cluster::blocks;
  static_assert(stages >= 2, "a stage is free when the products of the next one have begun");

  u8 *a, *b;

  // In all blocks of the cluster.
  SAMITE_INLINE_MEMBER void release(u32 stage) const {
    if constexpr (Cluster::blocks == 1)
      RingBarriers<stages>::release(stage);
    else if (const u32 lane = lane_of_warp(); lane < Cluster::blocks)
      arrive_in_block(this->empty(stage), lane);
  }
};

// Starts the copy of a window, panel by panel, by one thread. The map's box is one panel.
template <class Rows, int rank>
SAMITE_INLINE void copy_window(u8 *to, const BulkWindows<rank> &window, u64 *barrier) {
  i32 from[rank];
#pragma unroll
  for (int d = 0; d < rank; ++d) from[d] = window.at[d];
#pragma unroll
  for (int panel = 0; panel < Rows::panels; ++panel) {
    copy_box(to + panel * Rows::panel_bytes, window.map, from, barrier);
    from[rank - 1] += Rows::of_panel;
  }
}
// The part of each panel that this block loads for all blocks of the cluster. The map's box is such a part.
template <class Rows, int blocks, int rank>
SAMITE_INLINE void copy_part_of_window(u8 *to, const BulkWindows<rank> &window, u64 *barrier) {
  constexpr int height = Rows::rows / blocks;
  const int part = int(block_of_cluster());
  static_assert(height % 8 == 0, "each part begins as the swizzle does");
  i32 from[rank];
#pragma unroll
  for (int d = 0; d < rank; ++d) from[d] = window.at[d];
  from[rank - 2] += part * height;
#pragma unroll
  for (int panel = 0; panel < Rows::panels; ++panel) {
    copy_box_to_blocks(to + panel * Rows::panel_bytes + part * (height * 128), window.map, from, barrier,
                       (1u << blocks) - 1);
    from[rank - 1] += Rows::of_panel;
  }
}

template <class Rows, class Cluster, bool shared, int rank>
SAMITE_INLINE void copy_window_of(u8 *to, const BulkWindows<rank> &window, u64 *barrier) {
  if constexpr (shared)
    copy_part_of_window<Rows, Cluster::blocks>(to, window, barrier);
  else
    copy_window<Rows>(to, window, barrier);
}

// Called by one thread: starts the copies of the windows at these places.
template <class Rings, int rank_a, int rank_b>
SAMITE_INLINE void copy_step(const Rings &rings, u32 stage, const BulkWindows<rank_a> &a,
                             const BulkWindows<rank_b> &b) {
  using RowsOfA = typename Rings::RowsOfA;
  using RowsOfB = typename Rings::RowsOfB;
  arrive_expecting(rings.full(stage), RowsOfA::size + RowsOfB::size);
  copy_window_of<RowsOfA, typename Rings::Cluster, Rings::Cluster::shares_a>(rings.a + stage * RowsOfA::size, a,
                                                                             rings.full(stage));
  copy_window_of<RowsOfB, typename Rings::Cluster, Rings::Cluster::shares_b>(rings.b + stage * RowsOfB::size, b,
                                                                             rings.full(stage));
}
template <int rows, int columns, int rank>
SAMITE_INLINE void advance_window(BulkWindows<rank> &window) {
  if constexpr (rank > 1) window.at[rank - 2] += rows;
  window.at[rank - 1] += columns;
}

// Called by one thread: loads the windows of `steps` steps, as stages become free.
template <int a_rows, int a_columns, int b_rows, int b_columns, class Rings, int rank_a, int rank_b>
SAMITE_INLINE void produce(const Rings &rings, typename Rings::Position &at, BulkWindows<rank_a> a,
                           BulkWindows<rank_b> b, i32 steps) {
#pragma unroll 1
  for (i32 step = 0; step < steps; ++step) {
    wait_for_phase(rings.empty(at.stage), at.parity ^ 1);
    copy_step(rings, at.stage, a, b);
    advance_window<a_rows, a_columns>(a);
    advance_window<b_rows, b_columns>(b);
    at.advance();
  }
}

// Writes zeros in place of a factor's terms from `first` on, by this many threads.
template <class Rows, bool along_terms, int threads>
SAMITE_INLINE void clear_terms(u8 *factor, int first) {
  constexpr int across = Rows::columns / Rows::of_unit;
#pragma unroll 1
  for (int unit = int(flat_thread()); unit < Rows::rows * across; unit += threads) {
    const int row = unit / across, column = unit % across * Rows::of_unit;
    const int kept = along_terms ? first - column : row < first ? Rows::of_unit : 0;
    if (kept >= Rows::of_unit) continue;
    u8 *const at = factor + Rows::place(row, column) * Rows::bytes;
    if (kept <= 0)
      store_pack(reinterpret_cast<u32 *>(at), Pack<u32, 4>{});
    else
#pragma unroll 1
      for (int byte = kept * Rows::bytes; byte < 16; ++byte) at[byte] = 0;
  }
}

// The valid terms of a loop: the windows' elements at terms from `terms` on are arbitrary, and count as zeros.
struct TermsBelow {
  i32 terms;

  // Called by all multiplying threads, when the factors of this step have arrived.
  template <class Rings>
  SAMITE_INLINE_MEMBER void clear_others(const Rings &rings, u32 stage, i32 step) const {
    using RowsOfA = typename Rings::RowsOfA;
    using RowsOfB = typename Rings::RowsOfB;
    const i64 left = i64(terms) - i64(step) * Rings::terms;
    if (left >= Rings::terms) return;
    const int first = left > 0 ? int(left) : 0;
    clear_terms<RowsOfA, Rings::a_along_terms, Rings::threads>(rings.a + stage * RowsOfA::size, first);
    clear_terms<RowsOfB, Rings::b_along_terms, Rings::threads>(rings.b + stage * RowsOfB::size, first);
    fence_for_copies();
    sync_threads_at<1, Rings::threads>();
  }
};
struct AllTerms {
  template <class Rings>
  SAMITE_INLINE_MEMBER void clear_others(const Rings &, u32, i32) const {}
};

// Called by all multiplying threads. Each calls `release(stage)` when the products of that stage are done. The turn is
// awaited in the first step, so that the compiler has the sums in their registers before, and ends when the last
// products have started: later stages of the ring belong to the next team.
template <class Rings, class C, int count, class Terms, class Release, class Turn = NoTurn>
SAMITE_INLINE void consume(const Rings &rings, typename Rings::Position &at, C (&sums)[count], i32 steps,
                           const Terms &terms, const Release &release, const Turn &turn = {}) {
  using Factors = typename Rings::Factors;
  const auto factors = Factors::of_rings(rings.a, rings.b, at.warp_group);
  turn.prepare(steps);
  if (steps <= 0) {
    turn.begin();
    return turn.end();
  }
  u32 before = 0;
  // Registers with a factor are read until their products are complete, so the next step uses others.
#pragma unroll(Factors::turned ? 2 : 1)
  for (i32 step = 0;;) {
    if (step == 0) turn.begin();
    wait_for_phase(rings.full(at.stage), at.parity);
    terms.clear_others(rings, at.stage, step);
    const auto left = factors.left(at.stage);
    begin_products();
    Factors::begin(sums, left, factors.right(at.stage));
    end_group_of_products();
    const u32 own = at.stage;
    at.advance();
    const bool is_last = step + 1 == steps;
    if (is_last) turn.end();
    wait_for_products<1>();
    if (step > 0) release(before);
    before = own;
    if (is_last) break;
    ++step;
  }
  wait_for_products<0>();
  changed_by_products(sums);
  release(before);
}

// The functions that kernels call. The rings' contents are arbitrary before; afterwards they and the 2 * stages
// barriers are in the state of ProductRings.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, class Cluster, class F,
          class G>
SAMITE_INLINE ProductRings<Product, Kind, K, stages, transposed_a, transposed_b, Cluster> product_rings(F *ring_a,
                                                                                                        G *ring_b,
                                                                                                        u64 *barriers) {
  static_assert(sizeof(F) == Kind::bytes);
  return {{barriers}, reinterpret_cast<u8 *>(ring_a), reinterpret_cast<u8 *>(ring_b)};
}

// Called by all threads of the block, before they wait for each other; in a cluster, before all of its threads do.
template <int stages, int readers>
SAMITE_INLINE void tile_make_barriers(u64 *barriers) {
  fence_for_copies();
  if (flat_thread() == 0) RingBarriers<stages>{barriers}.make(readers);
}
// Called by the producer warp group, the one after the consumers.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, class Cluster, int a_rows,
          int a_columns, int b_rows, int b_columns, class F, class G, int rank_a, int rank_b>
SAMITE_INLINE void tile_produce(F *ring_a, G *ring_b, u64 *barriers, RingPosition<stages> &at, BulkWindows<rank_a> a,
                                BulkWindows<rank_b> b, i32 steps) {
  if (flat_thread() % 128 == 0)
    produce<a_rows, a_columns, b_rows, b_columns>(
        product_rings<Product, Kind, K, stages, transposed_a, transposed_b, Cluster>(ring_a, ring_b, barriers), at, a,
        b, steps);
}
// By the consumers: sums += the products of the produced windows.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, class Cluster, class C,
          class F, class G, class Terms = AllTerms, class Turn = NoTurn>
SAMITE_INLINE void tile_consume(C (&sums)[Product::registers], F *ring_a, G *ring_b, u64 *barriers,
                                RingPosition<stages> &at, i32 steps, const Terms &terms = {}, const Turn &turn = {}) {
  const auto rings =
      product_rings<Product, Kind, K, stages, transposed_a, transposed_b, Cluster>(ring_a, ring_b, barriers);
  consume(rings, at, sums, steps, terms, [&](u32 stage) { rings.release(stage); }, turn);
}

// A ring of windows of only the second factor, which a loop multiplies in each iteration by a factor that the block
// has: in panels, or in the registers of the consumers. By the producer warp group: one window.
template <class Product, class Kind, int K, int stages, bool transposed_b, class G, int rank>
SAMITE_INLINE void tile_produce_factor(G *ring, u64 *barriers, RingPosition<stages> &at,
                                       const BulkWindows<rank> &window) {
  using Rows = typename GroupProduct<Product, Kind, K, false, transposed_b>::RowsOfB;
  const RingBarriers<stages> own{barriers};
  static_assert(sizeof(G) == Kind::bytes);
  if (int(flat_thread()) != Product::warps * 128) return;
  wait_for_phase(own.empty(at.stage), at.parity ^ 1);
  arrive_expecting(own.full(at.stage), Rows::size);
  copy_window<Rows>(reinterpret_cast<u8 *>(ring) + at.stage * Rows::size, window, own.full(at.stage));
  at.advance();
}
// Called by the consumers: starts sums += a times the next window. `a` has the form that GroupProduct::first_factor
// takes. `first`: it is the first product of this window.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, bool first, class C,
          class A, class G, class Turn = NoTurn>
SAMITE_INLINE void tile_begin_factor(C (&sums)[Product::registers], A &&a, G *ring, u64 *barriers,
                                     const RingPosition<stages> &at, const Turn &turn = {}) {
  using Factors = GroupProduct<Product, Kind, K, transposed_a, transposed_b>;
  const auto left = Factors::first_factor(a, at.warp_group);
  const u64 right = Factors::right(shared_address(ring), at.warp_group);
  if constexpr (first) wait_for_phase(RingBarriers<stages>{barriers}.full(at.stage), at.parity);
  turn.begin();
  begin_products();
  Factors::begin(sums, left, right + at.stage * u64(Factors::RowsOfB::size / 16));
  end_group_of_products();
  turn.end();
}
// Waits until these sums are complete, with this many later products still running. `last`: of the products of this
// window.
template <int running, bool last, int stages, class C, int count>
SAMITE_INLINE void tile_end_factor(C (&sums)[count], u64 *barriers, RingPosition<stages> &at) {
  wait_for_products<running>();
  changed_by_products(sums);
  if constexpr (last) {
    RingBarriers<stages>{barriers}.release(at.stage);
    at.advance();
  }
}

// The data that an iteration reads from arrays, in one stage of several rings. By the producer warp group, the one
// after this many threads: starts all copies.
template <class Rows, int rank>
struct FactorToRing {
  static constexpr u32 bytes = Rows::size;
  u8 *ring;
  BulkWindows<rank> window;

  SAMITE_INLINE_MEMBER void copy(u32 stage, u64 *barrier) const {
    copy_window<Rows>(ring + stage * bytes, window, barrier);
  }
};
template <u32 bytes_, int rank>
struct ValuesToRing {
  static constexpr u32 bytes = bytes_;
  u8 *ring;
  BulkWindows<rank> window;

  SAMITE_INLINE_MEMBER void copy(u32 stage, u64 *barrier) const {
    copy_box(ring + stage * bytes, window.map, window.at, barrier);
  }
};
template <class Rows, class T, int rank>
SAMITE_INLINE FactorToRing<Rows, rank> factor_to(T *ring, const BulkWindows<rank> &window) {
  return {reinterpret_cast<u8 *>(ring), window};
}
template <int count, class T, int rank>
SAMITE_INLINE ValuesToRing<count * u32(sizeof(T)), rank> values_to(T *ring, const BulkWindows<rank> &window) {
  return {reinterpret_cast<u8 *>(ring), window};
}
template <int producers_after, int stages, class... Windows>
SAMITE_INLINE void tile_bring(u64 *barriers, RingPosition<stages> &at, const Windows &...windows) {
  if (int(flat_thread()) != producers_after) return;
  const RingBarriers<stages> own{barriers};
  wait_for_phase(own.empty(at.stage), at.parity ^ 1);
  arrive_expecting(own.full(at.stage), (Windows::bytes + ...));
  (windows.copy(at.stage, own.full(at.stage)), ...);
  at.advance();
}
// Called by the consumers: wait until the stage has arrived; sums += or = a product of two windows in it; and release
// it when they have read all of it.
template <int stages>
SAMITE_INLINE void tile_wait_for_stage(u64 *barriers, const RingPosition<stages> &at) {
  wait_for_phase(RingBarriers<stages>{barriers}.full(at.stage), at.parity);
}
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, bool adding, class C,
          class F, class G>
SAMITE_INLINE void tile_multiply_stage(C (&sums)[Product::registers], F *ring_a, G *ring_b,
                                       const RingPosition<stages> &at) {
  using Factors = GroupProduct<Product, Kind, K, transposed_a, transposed_b>;
  const auto factors = Factors::of_rings(ring_a, ring_b, at.warp_group);
  const auto left = factors.left(at.stage);
  begin_products();
  Factors::begin(sums, left, factors.right(at.stage), adding);
  end_group_of_products();
  wait_for_products<0>();
  changed_by_products(sums);
}
template <int stages>
SAMITE_INLINE void tile_release_stage(u64 *barriers, RingPosition<stages> &at) {
  sync_warp();
  RingBarriers<stages>{barriers}.release(at.stage);
  at.advance();
}

// A whole loop by all threads of the block, which are those of the product's warp groups; the first one also starts the
// copies. Step `s` multiplies the windows that begin `s` times (a_rows, a_columns) and (b_rows, b_columns) after the
// first: for A, M by K elements, or K by M if transposed; for B, K by N, or N by K. Adds the products to `sums`.
//
// The contents of the rings and the 2 * stages barriers are arbitrary before, and unneeded afterwards.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, class Cluster, int a_rows,
          int a_columns, int b_rows, int b_columns, class C, class F, class G, int rank_a, int rank_b,
          class Terms = AllTerms>
SAMITE_INLINE void tile_product_loop(C (&sums)[Product::registers], F *ring_a, G *ring_b, u64 *barriers,
                                     BulkWindows<rank_a> a, BulkWindows<rank_b> b, i32 steps, const Terms &terms = {}) {
  const auto rings =
      product_rings<Product, Kind, K, stages, transposed_a, transposed_b, Cluster>(ring_a, ring_b, barriers);
  const bool copies = flat_thread() == 0;
  fence_for_copies();
  if (copies) {
    fetch_map(a.map);
    fetch_map(b.map);
    rings.make(rings.readers);
  }
  __syncthreads();
  i32 left = steps;
  u32 parity = 0, last = stages - 1;
  const auto copy_next = [&](u32 stage) {
    copy_step(rings, stage, a, b);
    advance_window<a_rows, a_columns>(a);
    advance_window<b_rows, b_columns>(b);
    --left;
  };
  if (copies)
#pragma unroll 1
    for (u32 stage = 0; stage < stages && left > 0; ++stage) copy_next(stage);
  RingPosition<stages> at;
  consume(rings, at, sums, steps, terms, [&](u32 stage) {
    rings.release(stage);
    if (copies && left > 0) {
      wait_for_phase(rings.empty(stage), parity);
      copy_next(stage);
    }
    if (stage == last) parity ^= 1;
  });
  __syncthreads();
  if (copies) rings.end();
  __syncthreads();
}

// The same for sums in shared memory, row by row.
template <class Product, class Kind, int K, int stages, bool transposed_a, bool transposed_b, class Cluster, int a_rows,
          int a_columns, int b_rows, int b_columns, class C, class F, class G, int rank_a, int rank_b,
          class Terms = AllTerms>
SAMITE_INLINE void tile_product_loop_in_memory(C *c, F *ring_a, G *ring_b, u64 *barriers, BulkWindows<rank_a> a,
                                               BulkWindows<rank_b> b, i32 steps, const Terms &terms = {}) {
  typename Kind::Sum sums[Product::registers];
#pragma unroll
  for (int r = 0; r < Product::registers; ++r)
    sums[r] = Product::holds(r) ? c[Product::row(r) * Product::columns + Product::column(r)] : C(0);
  tile_product_loop<Product, Kind, K, stages, transposed_a, transposed_b, Cluster, a_rows, a_columns, b_rows,
                    b_columns>(sums, ring_a, ring_b, barriers, a, b, steps, terms);
#pragma unroll
  for (int r = 0; r < Product::registers; ++r)
    if (Product::holds(r)) c[Product::row(r) * Product::columns + Product::column(r)] = C(sums[r]);
}

}  // namespace samite
