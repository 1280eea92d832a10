// The program of a scheduled pipeline for given arguments: checked, compiled and allocated.
//
// Extents and host loops depend only on the arguments, so it is a list of launches. If that list would exceed a few
// thousand, there is one Launch for each kernel instead, which is edited while the program runs.
//
// One thread uses it at a time.
#pragma once

#include "samite/jit/scheduled_program.h"
#include "samite/jit/temporaries.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace samite::jit {

class RecordedProgram {
 public:
  static constexpr std::size_t most_unrolled_launches = 4096;

  // `storages` as in Temporaries.
  RecordedProgram(std::shared_ptr<const ScheduledProgram> program, const LaunchOptions &options,
                  std::vector<OwnedArgument> arguments, std::vector<std::shared_ptr<Storage>> storages = {});
  RecordedProgram(RecordedProgram &&) = default;
  RecordedProgram &operator=(RecordedProgram &&) = default;

  // On another stream of the device, if not null.
  void launch(const Stream *other, SourceLocation where);

  // For a parameter that the host does not compute with.
  void set_bits(std::size_t parameter, std::uint64_t bits);

  const ScheduledProgram &program() const { return *program_; }
  const std::vector<OwnedArgument> &arguments() const { return arguments_; }
  const std::vector<std::shared_ptr<Storage>> &storages() const { return temporaries_.storages(); }
  std::size_t launch_count() const { return launch_count_; }

 private:
  // A scalar that is passed to a kernel unchanged.
  struct Passed {
    std::size_t launch, index, parameter;
  };
  class Survey;
  class Unroll;
  class Replay;

  void survey();
  void unroll();
  void replay(const Stream *other, SourceLocation where, bool dry);
  // `kernel`: what it launches, in the program.
  void launch(Launch &launch, const schedules::KernelLaunch &kernel, const Stream *other, SourceLocation where);

  std::shared_ptr<const ScheduledProgram> program_;
  LaunchOptions options_;
  std::vector<OwnedArgument> arguments_;
  Temporaries temporaries_;
  std::size_t launch_count_ = 0;
  std::vector<Launch> launches_;                           // in order, if the list is unrolled
  std::vector<const schedules::KernelLaunch *> launched_;  // of each of them, in the program
  std::vector<Passed> passed_;
  // Otherwise one for each kernel, with its arguments.
  struct Edited {
    Launch launch;
    std::vector<OwnedArgument> arguments;
  };
  std::vector<std::optional<Edited>> edited_;
};

// The arguments of one of the program's kernels.
std::vector<Argument> arguments_of(const schedules::KernelLaunch &launch, std::span<const Argument> arguments,
                                   const Temporaries &temporaries, const HostValues &values);

// Compiles the kernels of a new program concurrently, for the first launch of each.
void compile_first_launches(const ScheduledProgram &program, const LaunchOptions &options,
                            std::span<const Argument> arguments, Temporaries &temporaries);

}  // namespace samite::jit
