// The values that an adjoint stores and recomputes, for its user (autodiff/adjoint.h).
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/type.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace samite::autodiff {

// The unit for which an array of stored values has one element.
enum class KeptFor : std::uint8_t {
  iterations,        // each iteration of the loop
  chunks,            // each chunk of it: the checkpoints
  chunk_iterations,  // each iteration of one chunk
};

// Values that an instance stores for a loop: loop-carried values, or elements of local arrays that it overwrites (with
// their indices, and the conditions of the writes).
struct KeptValue {
  SourceLocation loop, assigned;  // the loop that stores it, and the line that assigns or declares it
  ir::Type type = ScalarType::Float32;
  KeptFor kept_for = KeptFor::iterations;
  std::optional<std::int64_t> elements;     // for each unit: 1, or the size of an array if it is known
  std::optional<std::int64_t> length = {};  // the number of units, if it is known before the launch

  std::string to_string() const;  // "f32, 4 B x 1000 iterations of the loop at dir/file.cpp:12, assigned at …"
  // If they are known before the launch.
  std::optional<std::int64_t> bytes() const;
};

// The number of forward runs of a loop's body for an adjoint.
struct LoopRuns {
  SourceLocation loop;
  int runs = 0;  // including the run that recomputes an iteration to reverse it, and the run from checkpoints
  // For a loop that may use checkpoints: the limit of iterations up to which it uses none, and runs once less.
  std::optional<std::int64_t> checkpoints_beyond = {};
};

// The values that an adjoint stores and recomputes.
struct AdjointReport {
  std::string kernel;
  std::vector<KeptValue> kept;
  std::vector<LoopRuns> loops;
  std::vector<std::string> values_before;  // arrays whose elements from before the launch are needed

  // For one instance, if all sizes are known before the launch.
  std::optional<std::int64_t> bytes() const;
  std::string to_string() const;
};
std::ostream &operator<<(std::ostream &stream, const AdjointReport &report);

}  // namespace samite::autodiff
