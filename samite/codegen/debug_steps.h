// The host's functions that debug mode's checks on the CPU call; they are compiled once instead of with each kernel:
// the host's side of `DebugSteps` in samite/device/cpu/failure.h. Any worker may call these functions.
#pragma once

#include "samite/codegen/failure.h"

namespace samite::codegen {

struct Where {
  std::uint32_t file, line;
};

// The index of a vector's first instance; dimension `along` grows by one from lane to lane, or no dimension does (-1).
struct FirstInstance {
  std::array<std::int64_t, 4> index;
  std::uint32_t rank;
  std::int32_t along;
};
static_assert(sizeof(FirstInstance) == sizeof(FailedInstance));

// An access by lanes, some of them outside of an array. `indices` has the indices of all lanes for each dimension.
struct Outside {
  const std::int64_t *indices, *extent;
  std::uint64_t active;  // bit k for lane k
  std::uint32_t lanes, rank, array;
  Where where;
  const FirstInstance *first;  // null if the instance is not known
};

// A step of active lanes on the words of their elements (passes/threads/check_races.h). A lane that is `looking` and
// finds the word of another instance reports a race; the first one does so for all.
struct LaneClaims {
  const std::int64_t *number, *instance;  // of the lanes' instances: their numbers, and their indices by dimension
  std::int64_t *shadow;
  const std::int64_t *stride, *indices;  // of the shadow and its elements, by dimension
  std::int64_t *words;                   // for each lane, the word that it finds
  std::uint64_t active, looking;
  std::int64_t access;
  std::uint32_t lanes, instance_rank, rank, site, claims;  // `claims`: stores the own word if there is none
};
static_assert(sizeof(Outside) == 56 && sizeof(LaneClaims) == 96);

struct DebugSteps {
  void (*outside)(Failure *failure, const Outside *outside) noexcept;
  void (*claim)(Failure *failure, const LaneClaims *claims) noexcept;
};

const DebugSteps &debug_steps();

}  // namespace samite::codegen
