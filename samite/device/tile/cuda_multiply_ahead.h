// The main loop of a product whose factors threads copy ahead of time, step by step, and multiply on tensor cores.
//
// A warp can issue a product of f64 only every 39 cycles; the tensor cores need 32 for one. So two warps keep them busy
// while both multiply; but a warp that loads all operands of a step, and then multiplies them, leaves the tensor cores
// to the other warp meanwhile. Here everything else is interleaved with products: the loads of some terms with the
// products of the previous terms, also those of the next step's first terms, after the barrier at which that step has
// arrived, and the copies of a later step.
#pragma once

#include "samite/device/tile/cuda_load.h"
#include "samite/device/tile/cuda_multiply_matrices.h"

namespace samite {

// Windows of `height` by `width` elements at constant distances of rows and columns, which `threads` threads copy into
// stages of a ring, `stage_bytes` each, in the layout `Rows_`. `in_units`: see tile_load.
template <class Rows_, int height, int width, int threads, bool in_units, int rows, int columns, int stage_bytes>
struct StepLoads {
  using Rows = Rows_;

  template <class T>
  static SAMITE_INLINE_MEMBER T *stage(T *ring, int number) {
    return ring + number * (stage_bytes / int(sizeof(T)));
  }
  template <class From>
  static SAMITE_INLINE_MEMBER TileLoads<Rows, height, width, threads, in_units, From> from(
      const TileWindow<From> &first) {
    return {first, rows, columns};
  }
  // The window of a step, which may reach beyond the array.
  template <class T, class From>
  static SAMITE_INLINE_MEMBER void at_edge(T *to, TileWindow<From> window, i32 step) {
    window.row += i64(step) * rows, window.column += i64(step) * columns;
    tile_load<Rows, height, width, threads, in_units>(to, window);
  }
};

// sums += A B, of `steps` windows of each, by all threads of the block. The rings have `stages` stages; their contents
// are arbitrary before, and unneeded afterwards.
template <class Product, int K, int stages, bool transposed_a, bool transposed_b, class LoadsA, class LoadsB, class C,
          class F, class G, class FromA, class FromB>
SAMITE_INLINE void tile_multiply_ahead(C (&sums)[Product::registers], F *ring_a, G *ring_b, const TileWindow<FromA> &a,
                                       const TileWindow<FromB> &b, i32 steps) {
  using Factors =
      MatrixFactorsOfWarp<Product, K, transposed_a, transposed_b, typename LoadsA::Rows, typename LoadsB::Rows, F, G>;
  constexpr int terms = Factors::terms, turns = K / terms, lead = stages - 1;
  static_assert(K % terms == 0 && stages >= 2, "whole steps of the tensor cores");
  auto loads_a = LoadsA::from(a);
  auto loads_b = LoadsB::from(b);
  const i32 inside = min(steps, min(loads_a.inside(), loads_b.inside()));
  const auto load_at_edge = [&](i32 step, int stage) {
    LoadsA::at_edge(LoadsA::stage(ring_a, stage), a, step);
    LoadsB::at_edge(LoadsB::stage(ring_b, stage), b, step);
  };
#pragma unroll 1
  for (i32 step = 0; step < lead; ++step) {
    if (step < inside) {
      loads_a.next(LoadsA::stage(ring_a, step));
      loads_b.next(LoadsB::stage(ring_b, step));
    } else if (step < steps) {
      load_at_edge(step, step);
    }
    end_group_of_copies();
  }
  wait_for_copies<lead - 1>();
  __syncthreads();
  Factors factors[2];
  factors[0].load(ring_a, ring_b, 0);

  // `copying`: copies are started after the products of all turns but the last, or of the only one. `waits_behind`: the
  // next step is waited for a quarter into the last turn, so that its first terms have arrived when they are
  // multiplied.
  constexpr int products = Factors::products, copying = (turns > 1 ? turns - 1 : 1) * products,
                waits_behind = turns > 1 ? products / 4 : products - 1;
  constexpr int parts_of_a = decltype(loads_a)::parts, parts = parts_of_a + decltype(loads_b)::parts;
  int stage = 0, filled = lead;
#pragma unroll 1
  for (i32 step = 0; step < steps; ++step) {
    // After the barrier of the previous step, all threads have read the stage that is filled now.
    const bool copies = inside - step > lead;
    if (!copies && steps - step > lead) load_at_edge(step + lead, filled);
    const int next = stage + 1 == stages ? 0 : stage + 1;
    const F *const own_a = LoadsA::stage(ring_a, stage), *const next_a = LoadsA::stage(ring_a, next);
    const G *const own_b = LoadsB::stage(ring_b, stage), *const next_b = LoadsB::stage(ring_b, next);
    F *const to_a = LoadsA::stage(ring_a, filled);
    G *const to_b = LoadsB::stage(ring_b, filled);
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const bool last = turn + 1 == turns;
      Factors &following = factors[(turn + 1) % 2];
      factors[turn % 2].multiply(sums, [&](int n) {
        const int slot = turn * products + n;
        if (slot < copying)
#pragma unroll
          for (int part = slot * parts / copying; part < (slot + 1) * parts / copying; ++part) {
            if (part < parts_of_a)
              loads_a.part(part, to_a, copies);
            else
              loads_b.part(part - parts_of_a, to_b, copies);
          }
        const int first = last ? waits_behind : 0;
        if (last && n == first) {
          end_group_of_copies();
          wait_for_copies<lead - 1>();
          __syncthreads();
        }
        // One load after each product, and the rest after the last.
#pragma unroll
        for (int load = n - first; load >= 0 && load < Factors::loads; ++load) {
          following.load(load, last ? next_a : own_a, last ? next_b : own_b, last ? 0 : (turn + 1) * terms);
          if (n + 1 < products) break;
        }
      });
    }
    if constexpr (turns % 2 != 0) factors[0] = factors[1];
    loads_a.advance();
    loads_b.advance();
    filled = stage;
    stage = next;
  }
  wait_for_copies<0>();
  __syncthreads();
}

}  // namespace samite
