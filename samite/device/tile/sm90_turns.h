// Warp groups that take turns at the tensor cores. Compute capability 9.0.
#pragma once

#include "samite/device/cuda/sm90_roles.h"

namespace samite {

// Warp groups that take turns: one has its turn until it gives it to the next one. All threads of the group call these.
// Of the block's barriers one is for each group, from this one on.
template <int groups, int first_barrier = 2>
struct Turns {
  int group = warp_group_of_block();

  // Before the first turn and after the last one: the first group begins, and nothing is left in the barriers.
  SAMITE_INLINE_MEMBER void open() const {
    if (group == groups - 1) give();
  }
  SAMITE_INLINE_MEMBER void close() const {
    if (group == 0) take();
  }
  SAMITE_INLINE_MEMBER void take() const { sync_with_group(first_barrier + group); }
  SAMITE_INLINE_MEMBER void give() const { arrive_for_group(first_barrier + (group == groups - 1 ? 0 : group + 1)); }
};
// What a product does when it begins, and when it is on its way.
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
// What a loop of products does: one for each index of the launch, of which teams have one after another.
template <int teams>
using TurnsOfTeams = Turns<teams, 1 + teams>;  // behind the teams' own barriers
template <int teams>
struct TeamTurn {
  const TurnsOfTeams<teams> &turns;
  bool is_last;  // of the block's
  SAMITE_INLINE_MEMBER void begin() const { turns.take(); }
  SAMITE_INLINE_MEMBER void end() const {
    if (!is_last) turns.give();
  }
};
struct NoTurn {
  SAMITE_INLINE_MEMBER void begin() const {}
  SAMITE_INLINE_MEMBER void end() const {}
};

}  // namespace samite
