// A schedule's program (schedule/program.h), ready to run: its kernels are definitions, which compile at their first
// launch.
//
// Immutable and thread-safe.
#pragma once

#include "samite/jit/failure_report.h"
#include "samite/jit/host_values.h"

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace samite::jit {

class ScheduledProgram {
 public:
  explicit ScheduledProgram(schedules::Program program);
  ScheduledProgram(const ScheduledProgram &) = delete;
  ScheduledProgram &operator=(const ScheduledProgram &) = delete;

  const schedules::Program &program() const { return program_; }
  // In the order of the program's text.
  const std::vector<std::shared_ptr<KernelDefinition>> &kernels() const { return kernels_; }
  // Sets of the pipeline's parameters, as bits: arrays that some kernel writes, and scalars that the host computes
  // with.
  std::uint64_t written() const { return written_; }
  std::uint64_t read_by_host() const { return read_by_host_; }

  // Whether nothing was compiled for it yet. True only for the first caller.
  bool is_new() const { return new_.exchange(false, std::memory_order_relaxed); }

  // The operations of one launch, in order. `kernel` is an index into kernels().
  class Visitor {
   public:
    virtual ~Visitor() = default;
    virtual void allocate(const schedules::Temporary &temporary, const Extents &extents) = 0;
    virtual void launch(std::size_t kernel, const schedules::KernelLaunch &launch, const Extents &extents,
                        const HostValues &values) = 0;
  };
  // Skips launches over no instances. UserError if a requirement does not hold.
  void run(std::span<const Argument> arguments, Visitor &visitor) const;

  // Call in the handler of such an exception from a launch of this kernel: rethrows it with indices counted from the
  // array's first index.
  [[noreturn]] void rethrow(const OutsideOfArray &error, const schedules::KernelLaunch &launch,
                            std::span<const Argument> arguments) const;

 private:
  void add(const schedules::Steps &steps);
  void read(const ir::Value &value);
  // The array's first index in that dimension, if it is not the usual one.
  std::optional<std::int64_t> origin(const schedules::KernelLaunch &launch, std::span<const Argument> arguments,
                                     const OutsideOfArray::Index &index) const;
  void run(const schedules::Steps &steps, HostValues &values, Visitor &visitor) const;

  const schedules::Program program_;
  std::vector<std::shared_ptr<KernelDefinition>> kernels_;
  std::unordered_map<const schedules::KernelLaunch *, std::size_t> numbers_;
  std::uint64_t written_ = 0, read_by_host_ = 0;
  mutable std::atomic<bool> new_{true};
};

}  // namespace samite::jit
