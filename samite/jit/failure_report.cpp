#include "samite/jit/failure_report.h"

#include "samite/autodiff/adjoint.h"
#include "samite/base/error.h"
#include "samite/codegen/cuda_channel.h"
#include "samite/jit/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace samite::jit {
namespace {

// "in instance (3, 4): ", or empty if it is unknown.
std::string who(const Variant &variant, const codegen::FailedInstance &instance) {
  if (instance.rank == 0) return "";
  const std::int64_t *index = instance.index.data();
  return fmt::format("in {} ({}): ", variant.gpu.block_threads != 0 ? "block" : "instance",
                     fmt::join(index, index + instance.rank, ", "));
}

std::string outside(const std::string &opening, const std::string &name, std::uint32_t dimension, std::int64_t index) {
  return fmt::format("{}index {} is outside of dimension {} of array '{}', ", opening, index, dimension, name);
}

}  // namespace

OutsideOfArray::OutsideOfArray(SourceLocation where, const std::string &opening, const std::string &name,
                               const Index &index)
    : UserError(where,
                outside(opening, name, index.dimension, index.index) + fmt::format("whose extent is {}", index.extent)),
      opening_(opening),
      name_(name),
      index_(index) {}

UserError OutsideOfArray::counted_from(std::int64_t first) const {
  return {where(), outside(opening_, name_, index_.dimension, index_.index + first) +
                       fmt::format("which begins at {} and has {} elements", first, index_.extent)};
}

std::string opening(const Variant &variant, const std::string &kernel) {
  return "kernel '" + kernel + "' (" + std::string(name(variant.key.direction)) + "): ";
}

void throw_failure(const Variant &variant, const std::string &kernel, const std::string &device,
                   const codegen::Failure &failure) {
  SourceLocation where;
  if (failure.file < variant.text.files.size()) where = {intern_file(variant.text.files[failure.file]), failure.line};
  const std::string opening = jit::opening(variant, kernel), who = jit::who(variant, failure.instance);
  if (failure.kind == codegen::FailureKind::out_of_memory) {
    const bool adjoint = variant.key.direction == Direction::adjoint;
    const std::string array =
        (adjoint ? "the local array, or what the adjoint keeps of the loop, at " : "the local array at ") +
        variant.text.sites[failure.array].to_string();
    const std::int64_t limit = variant.key.derivative.memory_limit.value_or(autodiff::usual_memory_limit);
    const std::string mend = adjoint && limit > 0
                                 ? "; with a LaunchOptions::memory_limit of less than " + std::to_string(limit) +
                                       " bytes loops keep fewer values, and run once more for the rest"
                                 : "";
    // An overflowed number of bytes is no help.
    constexpr std::int64_t countable = std::int64_t{1} << 40;
    if (Target::of(variant.key.cuda).is_gpu() && failure.dimension == codegen::memory_of_block)
      throw DeviceError(
          opening + "allocating " + array + " in the memory of a block on " + device,
          "its tiles take more than the " + std::to_string(failure.extent) + " bytes for each of the block's " +
              std::to_string(variant.gpu.form.tile_threads) + " threads: raise LaunchOptions::cuda.workspace_bytes" +
              (failure.index < countable ? " to " + std::to_string(failure.index) + " or more" : "") + mend);
    if (Target::of(variant.key.cuda).is_gpu())
      throw DeviceError(opening + "allocating " + array + " on a thread of " + device,
                        "it takes more than the " + std::to_string(failure.extent) +
                            " bytes that a thread has: raise LaunchOptions::cuda.workspace_bytes" + mend);
    throw DeviceError(opening + "allocating " + std::to_string(failure.index) + " bytes on " + device + " for " +
                          array + " of " + std::to_string(variant.host.lanes) + " instances",
                      "out of memory" + mend);
  }
  if (failure.kind == codegen::FailureKind::integer_division_by_zero)
    throw UserError(where, opening + who + "integer division by zero");
  if (failure.kind == codegen::FailureKind::local_index_out_of_bounds)
    throw UserError(where, opening + who + "index " + std::to_string(failure.index) +
                               " is outside of the local array, whose size is " + std::to_string(failure.extent));
  throw OutsideOfArray(where, opening + who, variant.parameters[failure.array].name,
                       {failure.array, failure.dimension, failure.index, failure.extent});
}

}  // namespace samite::jit
