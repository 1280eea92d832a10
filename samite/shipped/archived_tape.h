// A tape of archived launches, whose adjoints run in reverse order: jit/tape.h for programs without the kernels.
//
// A launch is run and recorded; an array with a gradient takes part in backward(), which runs the archive's adjoints
// for exactly these arrays. The caller owns all memory, including gradients, and sets gradients before backward():
// those of the objective to their cotangents, and all others to zero. backward() adds to the gradients of arrays that
// the tape only reads, and uses up those of arrays that it writes.
//
// A gradient is correct or refused, as far as the tape sees: values that an adjoint needs are copied before a launch on
// the tape overwrites them. Between launches, other code may write only to arrays that no adjoint needs. UserError
// names kernel and argument
//   - if the archives lack the adjoint, before the forward launch runs;
//   - if two launches use the same memory with different gradients, or one of them with none;
//   - if an array without a gradient carries values from one array with a gradient to another.
//
// One thread uses a tape at a time.
#pragma once

#include "samite/shipped/archived_launch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace samite::shipped {

class ArchivedTape {
 public:
  ArchivedTape() = default;
  ArchivedTape(const ArchivedTape &) = delete;
  ArchivedTape &operator=(const ArchivedTape &) = delete;
  ~ArchivedTape() { clear(); }

  // Runs the forward launch; if it throws, it is not on the tape.
  void launch(const std::string &kernel, const Extents &extents, std::vector<LaunchArgument> arguments,
              const std::optional<Stream> &stream);

  // Runs all adjoints. May be called again, after the gradients have been reset.
  void backward() const;

  // On CUDA waits for the streams of launches whose values it has copied.
  void clear();
  std::size_t size() const { return entries_.size(); }
  std::int64_t kept_bytes() const;  // in copies

 private:
  struct Entry {
    std::string kernel;
    std::vector<LaunchArgument> arguments;  // as given
    std::uint64_t written = 0;
    std::optional<RecordedLaunch> adjoint = {};  // if it has gradients
    std::uint64_t copied = 0;                    // arrays that the adjoint reads from a copy, as bits
    bool carries = false;                        // its results depend on arrays with gradients
  };

  void check_gradients(const Entry &entry, const LaunchForm &form) const;
  // Before a launch that writes `target`.
  void keep_overwritten(const AnyBuffer &target);
  static void keep(Entry &entry, std::size_t argument);

  std::vector<Entry> entries_;
};

}  // namespace samite::shipped
