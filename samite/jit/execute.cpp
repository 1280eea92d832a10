#include "samite/jit/execute.h"

#include "samite/base/error.h"
#include "samite/jit/messages.h"
#include "samite/jit/private_sums.h"
#include "samite/jit/workspaces.h"
#include "samite/runtime/task_pool.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace samite::jit {
namespace {

// About the operations that a thread does in ten microseconds, some times what it takes to hand work to another.
constexpr double worthwhile_operations = 200'000;

// Memory is streamed in boxes of at least this many instances, so that hardware prefetch gets going.
constexpr std::int64_t minimum_row = 256;

std::string opening(const Variant &variant, const std::string &kernel) {
  return "kernel '" + kernel + "' (" + std::string(name(variant.key.direction)) + "): ";
}

[[noreturn]] void report(const Variant &variant, const std::string &kernel, const codegen::Failure &failure) {
  SourceLocation where;
  if (failure.file < variant.source_files.size())
    where = {intern_file(variant.source_files[failure.file]), failure.line};
  std::string opening = jit::opening(variant, kernel);
  if (failure.kind == codegen::FailureKind::out_of_memory) {
    const bool adjoint = variant.key.direction == Direction::adjoint;
    const std::string mend =
        "; LaunchOptions::memory_limit has loops keep fewer values, and run once more for the rest";
    throw DeviceError(opening + "allocating " + std::to_string(failure.index) + " bytes on cpu for the local array" +
                          (adjoint ? ", or what the adjoint keeps of the loop, at " : " at ") +
                          variant.sites[failure.array].to_string() + " of " + std::to_string(variant.lanes) +
                          " instances",
                      adjoint && !variant.key.memory_limit ? "out of memory" + mend : "out of memory");
  }
  if (failure.kind == codegen::FailureKind::integer_division_by_zero)
    throw UserError(where, opening + "integer division by zero");
  if (failure.kind == codegen::FailureKind::local_index_out_of_bounds)
    throw UserError(where, opening + "index " + std::to_string(failure.index) +
                               " is outside of the local array, whose size is " + std::to_string(failure.extent));
  const ir::Parameter &array = variant.parameters[failure.array];
  throw UserError(where, opening + "index " + std::to_string(failure.index) + " is outside of dimension " +
                             std::to_string(failure.dimension) + " of array '" + array.name + "', whose extent is " +
                             std::to_string(failure.extent));
}

struct Box {
  const Variant &variant;
  const std::byte *arguments;
  PrivateSums *sums;       // null where the launch is one box
  Workspaces *workspaces;  // null where the kernel needs none
  const Extents &extents;
  int dimension;
  LaunchMessages failure;
};

void run_box(void *context, std::int64_t begin, std::int64_t end) {
  auto &box = *static_cast<Box *>(context);
  long long low[maximum_rank] = {}, high[maximum_rank] = {};
  for (int d = 0; d < box.extents.rank(); ++d) high[d] = box.extents[d];
  low[box.dimension] = begin, high[box.dimension] = end;
  box.variant.entry(box.sums ? box.sums->block() : box.arguments, low, high, &box.failure,
                    box.workspaces ? box.workspaces->of_worker() : nullptr);
}

}  // namespace

Partition partition(const Variant &variant, const Extents &extents) {
  double instances = static_cast<double>(extents.count());
  double operations = instances * variant.cost / variant.lanes;
  if (operations < worthwhile_operations || worker_count() == 1 || variant.one_thread) return {0, 0, true};
  // The outermost dimension that gives every thread several boxes, else the longest one.
  const std::int64_t several_each = std::int64_t{4} * worker_count();
  int last = extents.rank() - 1, dimension = 0;
  while (dimension < last && extents[dimension] < several_each) ++dimension;
  if (extents[dimension] < several_each)
    for (int d = 0; d <= last; ++d)
      if (extents[d] > extents[dimension]) dimension = d;
  double share = std::ceil(static_cast<double>(extents[dimension]) * worthwhile_operations / operations);
  auto minimum = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  if (dimension == last) {
    std::int64_t row = variant.cost > 64 ? variant.lanes : std::max<std::int64_t>(minimum_row, variant.lanes);
    minimum = (minimum + row - 1) / row * row;
  }
  return {dimension, minimum, minimum >= extents[dimension]};
}

void execute(const Variant &variant, const std::string &kernel, const std::byte *arguments, const Extents &extents,
             const Partition &partition) {
  if (!variant.entry || extents.count() == 0) return;
  Box box{variant, arguments, nullptr, nullptr, extents, partition.dimension, LaunchMessages(variant, extents.rank())};
  std::optional<Workspaces> workspaces;
  if (variant.uses_workspace) box.workspaces = &workspaces.emplace();
  if (partition.whole) {
    run_box(&box, 0, extents[partition.dimension]);
  } else {
    std::optional<PrivateSums> sums;
    if (!variant.summed.empty()) box.sums = &sums.emplace(variant, arguments);
    parallel_for_blocks(extents[partition.dimension], run_box, &box, partition.minimum);
    if (sums) sums->merge();
  }
  if (box.failure.state != 0) report(variant, kernel, box.failure);
  box.failure.throw_first(opening(variant, kernel));
  if (const Variant *next = variant.afterwards.get())
    execute(*next, kernel, arguments, extents, jit::partition(*next, extents));
}

}  // namespace samite::jit
