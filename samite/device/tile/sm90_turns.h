// Warp groups that take turns at the tensor cores. Compute capability 9.0.
#pragma once

#include "samite/device/cuda/sm90_barriers.h"
#include "samite/device/cuda/sm90_roles.h"
#include "samite/device/tile/fragments.h"

namespace samite {

// Warp groups that take turns: each has its turn until it passes it on. All threads of the group call these. Each group
// has one of the block's barriers, from this one on.
template <int groups>
struct Turns {
  static constexpr int first_barrier = 2;
  int group = warp_group_of_block();

  // Before the first turn and after the last one: the first group starts, and the barriers end with no pending
  // arrivals.
  SAMITE_INLINE_MEMBER void open() const {
    if (group == groups - 1) give();
  }
  SAMITE_INLINE_MEMBER void close() const {
    if (group == 0) take();
  }
  SAMITE_INLINE_MEMBER void take() const { sync_with_group(first_barrier + group); }
  SAMITE_INLINE_MEMBER void give() const { arrive_for_group(first_barrier + (group == groups - 1 ? 0 : group + 1)); }
};
// The hooks of a product: `begin` before it starts, `end` when it has been issued.
template <int groups>
struct TakesTurn {
  const Turns<groups> &turns;
  SAMITE_INLINE_MEMBER void begin() const { turns.take(); }
  SAMITE_INLINE_MEMBER void end() const {}
};
template <int groups>
struct GivesTurn {
  const Turns<groups> &turns;
  SAMITE_INLINE_MEMBER void begin() const {}
  SAMITE_INLINE_MEMBER void end() const { turns.give(); }
};

// Teams that process the indices of a launch in turn, sharing one ring of stages. A team waits for its turn at a
// barrier in shared memory, at which the warps of the previous team arrive.
template <int teams, int warps>
struct TeamBarriers {
  u64 *barriers;  // one of each team
  u32 team;       // of this thread
  u32 parity = 0;

  // Called by one thread. The block's threads use them after a barrier of the block.
  SAMITE_INLINE_MEMBER void make() const {
#pragma unroll
    for (int other = 0; other < teams; ++other) make_barrier(barriers + other, warps);
    show_barriers();
  }
  SAMITE_INLINE_MEMBER void take() {
    wait_for_phase(barriers + team, parity);
    parity ^= 1;
  }
  SAMITE_INLINE_MEMBER void give() const {
    sync_warp();
    if (lane_of_warp() == 0) arrive(barriers + (team == teams - 1 ? 0 : team + 1));
  }
};

// For kernels in which each index has one loop, and all loops have the same number of steps. So each team can compute
// its position in the ring, and prepare before its turn.
template <int teams, int warps>
struct EqualTurns : TeamBarriers<teams, warps> {
  bool is_last = false;
  bool has_had_one = false;

  // Called once: the first team begins.
  SAMITE_INLINE_MEMBER void open() const {
    if (this->team == teams - 1) this->give();
  }
  // Called for each index; `last` says that the block has no more.
  SAMITE_INLINE_MEMBER void begin(bool last) { is_last = last; }
  // Called by a loop of products: before anything else, before its first products, and when its last ones have been
  // issued. A stage may be waited for only when all stages before it have arrived: a barrier distinguishes a phase only
  // from the next one. `steps` is not negative.
  template <class Position>
  SAMITE_INLINE_MEMBER void prepare(Position &at, i32 steps) {
    const u32 others = has_had_one ? teams - 1 : this->team;
    at.skip(others * u32(steps));
    has_had_one = true;
  }
  SAMITE_INLINE_MEMBER void start() { this->take(); }
  template <class Position>
  SAMITE_INLINE_MEMBER void finish(const Position &) const {
    if (!is_last) this->give();
  }
  // Called after all work for an index.
  template <class Position>
  SAMITE_INLINE_MEMBER void end(const Position &) const {}
};

// For any kernel: each team passes its position in the ring to the next one. The barrier orders the write before the
// read.
template <int teams, int warps>
struct TeamTurns : TeamBarriers<teams, warps> {
  // Two numbers that each team writes for the next one. It overwrites them only after the whole next team has read
  // them, since that team has had a turn in between.
  u32 *handed_on = reinterpret_cast<u32 *>(this->barriers + teams);
  bool is_last = false, has_turn = false, has_given = false;

  SAMITE_INLINE_MEMBER void open() const {
    if (this->team == teams - 1) hand_on(0, 0);
  }
  SAMITE_INLINE_MEMBER void begin(bool last) {
    is_last = last;
    has_turn = has_given = false;
  }
  template <class Position>
  SAMITE_INLINE_MEMBER void prepare(Position &at, i32) {
    if (has_turn) return;
    this->take();
    // The thread that arrives for its warp reads for it.
    u32 from[2] = {};
    if (lane_of_warp() == 0)
      for (int i = 0; i < 2; ++i) from[i] = handed_on[2 * (this->team == 0 ? teams - 1 : this->team - 1) + i];
    at.stage = shuffle(from[0], 0);
    at.parity = shuffle(from[1], 0);
    has_turn = true;
  }
  SAMITE_INLINE_MEMBER void start() const {}
  template <class Position>
  SAMITE_INLINE_MEMBER void finish(const Position &at) {
    if (!is_last) hand_on(at.stage, at.parity);
    has_given = true;
  }
  template <class Position>
  SAMITE_INLINE_MEMBER void end(Position &at) {
    prepare(at, 0);
    if (!has_given) finish(at);
  }

 private:
  SAMITE_INLINE_MEMBER void hand_on(u32 stage, u32 parity_of_stage) const {
    if (flat_thread() == 0) {
      handed_on[2 * this->team] = stage;
      handed_on[2 * this->team + 1] = parity_of_stage;
    }
    this->give();
  }
};

// The turn of one loop of products.
template <class Turns, class Position>
struct TeamTurn {
  Turns &turns;
  Position &at;
  bool is_last;  // the last loop of this index
  SAMITE_INLINE_MEMBER void prepare(i32 steps) const { turns.prepare(at, steps); }
  SAMITE_INLINE_MEMBER void begin() const { turns.start(); }
  SAMITE_INLINE_MEMBER void end() const {
    if (is_last) turns.finish(at);
  }
};
struct NoTurn {
  SAMITE_INLINE_MEMBER void prepare(i32) const {}
  SAMITE_INLINE_MEMBER void begin() const {}
  SAMITE_INLINE_MEMBER void end() const {}
};

}  // namespace samite
