// Adds debug mode's race checks. Two instances of a launch race if they access the same element of an array, at least
// one of them writes it, and they do not both use atomic operations.
//
// Each array that may have a race gets shadow arrays: parameters of the same rank whose elements are 64-bit words, one
// word for each kind of access. The first instance that accesses an element stores its own number in the word of that
// kind, by compare and exchange. Then it reads the words of the kinds that race with its own. If two instances race,
// the one that reads later finds the other. A `check race` (ir/stmt.h) reports it; its message has three kinds of
// values: which of `accesses` this is, the word of the other instance, and the indices of the element.
//
// Instances that write the same value race too: the analysis does not compare values. An instance never races with
// itself.
//
// Arrays that share memory share shadows. The launcher gives a shadow the layout of its array, and one word to each
// element, no matter which arrays contain it (jit/race_shadows.h).
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::passes {

enum class Touch : std::uint8_t { write, read, atomic };

struct RaceAccess {
  std::uint32_t array;
  Touch touch;
  SourceLocation where;
};

// A parameter of i64, with the rank, extents and strides of `array`. Arrays that share memory have the same number of
// shadows, `slots`; this is number `slot`. All words are zero when the launch begins.
struct Shadow {
  std::uint32_t parameter, array;
  int slot, slots;
};

struct RaceChecks {
  std::vector<Shadow> shadows;
  std::vector<std::uint32_t> launch_extents;  // scalar parameters of i64: the launch's extents except for the first one
  std::vector<RaceAccess> accesses;

  bool any() const { return !shadows.empty(); }
};

struct CheckedForRaces {
  ir::Kernel kernel;
  RaceChecks races;
};

// `structured` has lowered tiles, and its launch is not yet loops. `may_share` is by parameter: arrays that may share
// memory with another array of the kernel.
CheckedForRaces check_races(const ir::Kernel &structured, const std::vector<bool> &may_share);

// A word of a shadow: the number of the instance, counted row by row over the launch, and its access.
struct RaceWord {
  std::int64_t instance;
  std::optional<std::size_t> access;  // empty if its number does not fit a word

  static constexpr int access_bits = 16;
  static RaceWord of(std::int64_t word);
};

}  // namespace samite::passes
