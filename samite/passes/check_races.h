// Debug mode's search for races: instances of one launch that meet at an element of an array, where one of them writes
// and not both do so in atomic steps.
//
// Each array that may be raced for gets shadow arrays: parameters of its rank whose elements are 64-bit words. The
// first instance that touches an element in some way leaves its number in the word for that way, by compare and
// exchange, and then looks into the words of the ways that do not go with it. Of two instances that meet, the one that
// looks last finds the other. What an instance finds is a `check race` (ir/stmt.h), whose message has three kinds of
// values: which of `accesses` this is, the word of the other instance, and the indices of the element.
//
// Instances that write the same value race, too: which one is the last cannot be told by what they write. What an
// instance does with elements that no other one touches is its own affair.
//
// Arrays that share memory have to share shadows: whoever launches the kernel lays a shadow out as its array is, and
// gives one word to one element, whichever arrays have it (jit/race_shadows.h).
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
// shadows, `slots`, of which this is number `slot`. All words are zero when the launch begins.
struct Shadow {
  std::uint32_t parameter, array;
  int slot, slots;
};

struct RaceChecks {
  std::vector<Shadow> shadows;
  std::vector<std::uint32_t> launch_extents;  // scalar parameters of i64: the launch's extents but for the first one
  std::vector<RaceAccess> accesses;

  bool any() const { return !shadows.empty(); }
};

struct CheckedForRaces {
  ir::Kernel kernel;
  RaceChecks races;
};

// Of a structured kernel, whose tiles are lowered. `may_share`, by parameter: arrays that may share memory with another
// one of the kernel's.
CheckedForRaces check_races(const ir::Kernel &structured, const std::vector<bool> &may_share);

// A word of a shadow: the instance's number in the launch, row by row, and which access it was.
struct RaceWord {
  std::int64_t instance;
  std::optional<std::size_t> access;  // nothing where it is beyond what a word can count

  static constexpr int access_bits = 16;
  static RaceWord of(std::int64_t word);
};

}  // namespace samite::passes
