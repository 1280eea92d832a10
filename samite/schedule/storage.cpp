#include "samite/schedule/storage.h"

#include "samite/base/error.h"
#include "samite/schedule/launch_sizes.h"
#include "samite/schedule/lowering.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

constexpr std::int64_t most_elements = 1 << 24;  // of a function, inside a kernel, if their number is a constant

std::string text_of(const Affine &extent) { return extent.is_constant() ? std::to_string(extent.constant()) : "?"; }

// "f32[y 34, x ?]": "?" is known only at launch.
std::string dimensions_of(const Function &of, const Region &region) {
  std::vector<std::string> all;
  for (std::size_t d = 0; d < region.size(); ++d)
    all.push_back(of.definitions[0].pure[d]->name + " " + text_of(region[d].extent));
  return fmt::format("{}[{}]", name(of.types[0]), fmt::join(all, ", "));
}

// "store f in shared memory: f32[y 8, x 32], 256 elements, 1024 bytes, pitch 32"
std::string kept_as(const Lowering &lowering, std::uint32_t f, const Storage &storage, const Region &region,
                    std::optional<std::int64_t> elements) {
  const Function &of = lowering.function(f);
  const char *memory = storage.space == MemorySpace::registers ? "registers"
                       : !lowering.gpu                         ? "memory of its task"
                       : storage.space == MemorySpace::shared  ? "shared memory"
                                                               : "local memory of its thread";
  std::string text = fmt::format("store {} in {}: {}", of.name, memory, dimensions_of(of, region));
  for (std::size_t v = 1; v < of.types.size(); ++v) text += fmt::format(" and {}", name(of.types[v]));
  if (elements) {
    std::int64_t bytes = 0;
    for (const ScalarType type : of.types) bytes += *elements * static_cast<std::int64_t>(size_of(type));
    text += fmt::format(", {} element{}, {} bytes", *elements, *elements == 1 ? "" : "s", bytes);
  }
  if (region.size() > 1) {
    const Affine &pitch = storage.strides[static_cast<std::size_t>(lowering.schedules[f].storage_order[1])];
    if (pitch.is_constant() && (!elements || pitch.constant() < *elements))
      text += fmt::format(", pitch {}", pitch.constant());
  }
  for (std::size_t d = 0; d < region.size(); ++d)
    if (storage.folds[d])
      text += fmt::format(", folded along {} after {}", of.definitions[0].pure[d]->name, *storage.folds[d]);
  return text;
}

MemorySpace space_of(const Lowering &lowering, std::uint32_t f) {
  const FunctionSchedule &schedule = lowering.schedules[f];
  if (schedule.space == MemorySpace::shared) return MemorySpace::shared;
  if (schedule.space == MemorySpace::device)
    throw UserError(schedule.space_where,
                    fmt::format("'{}' is computed inside of a kernel, and is to be in device memory; compute it at "
                                "the root for that",
                                lowering.function(f).name));
  if (schedule.space == MemorySpace::registers) {
    if (!lowering.open.threads && !lowering.open.lanes && lowering.gpu)
      throw UserError(schedule.space_where,
                      fmt::format("'{}' is to be in registers, and is computed where the whole block needs it: "
                                  "registers are a thread's own. Compute it inside of the loops of threads, or store "
                                  "it in shared memory",
                                  lowering.function(f).name));
    return MemorySpace::registers;
  }
  if (schedule.space) return *schedule.space;
  if (!lowering.open.threads && !lowering.open.lanes) return MemorySpace::shared;
  return MemorySpace::instance;
}

// Whether the threads of a GPU's block share it: then its size may be known only at launch.
bool of_block(const Lowering &lowering, std::uint32_t f) {
  return lowering.gpu && !lowering.open.threads && !lowering.open.lanes && space_of(lowering, f) == MemorySpace::shared;
}

// The host's value of an extent of shared memory.
Affine shared_extent(Lowering &lowering, std::uint32_t f, std::size_t dimension, const Affine &extent) {
  if (const std::optional<Affine> known = extent_at_launch(lowering, extent)) return *known;
  const Function &of = lowering.function(f);
  throw UserError(
      lowering.schedules[f].compute.where,
      fmt::format("how much of '{0}' is needed at once along '{1}' depends on what the kernel computes, and "
                  "it is kept in shared memory, whose size has to be known before a launch; split the loop "
                  "that goes along '{1}', say {0}.bound({1}, begin, extent), or compute '{0}' at the root",
                  of.name, of.definitions[0].pure[dimension]->name));
}

// The number of elements, saturated at 2^31, for which there is no memory.
Value count_of(Lowering &lowering, const std::vector<Affine> &extents) {
  const Value most = Value::constant(ScalarType::Int64, std::int64_t{1} << 31);
  std::optional<Value> all;
  for (const Affine &extent : extents) {
    const Value count = lowering.integers.wide_value_of(extent);
    all = all ? lowering.write(Op::Min, lowering.write(Op::Mul, *all, count), most) : count;
  }
  return *all;
}

// Whether the block cooperates while a thread computes or uses f.
bool keeps_across(const Lowering &lowering, std::uint32_t f) {
  for (const std::uint32_t other : lowering.algorithm.order)
    if (lowering.in_shared(other) && other != f && !has_values(lowering, other)) return true;
  return false;
}

ThreadMemory thread_memory(const Lowering &lowering, std::uint32_t f, LocalArrayId array) {
  const Function &of = lowering.function(f);
  const ThreadNest &threads = *lowering.open.threads;
  std::vector<std::string> loops;
  for (const NestLoop &loop : threads.loops) loops.push_back(loop.name);
  const SourceLocation said = lowering.schedules[f].compute.where;
  return {array, of.name, lowering.function(threads.function).name, std::move(loops), said.known() ? said : of.where};
}

// How much of a function is kept.
struct Size {
  std::vector<Affine> extents;
  // Whether it is known only at launch: it is computed in the kernel on the CPU, and by the host for a GPU block's
  // memory.
  bool computed = false;
};

[[noreturn]] void refuse_unknown_extent(const Lowering &lowering, std::uint32_t f, std::size_t dimension) {
  const Function &of = lowering.function(f);
  throw UserError(lowering.schedules[f].compute.where,
                  fmt::format("how much of '{0}' is needed at once along '{1}' is known at launch only, and it is "
                              "kept inside of a kernel; split the loop that goes along '{1}', say "
                              "{0}.bound({1}, begin, extent), or compute '{0}' at the root",
                              of.name, of.definitions[0].pure[dimension]->name));
}

// With the folds of the storage, by the schedule or given.
Size size_of_region(Lowering &lowering, std::uint32_t f, const Region &region, const std::map<int, std::int64_t> &folds,
                    Storage &storage) {
  const FunctionSchedule &schedule = lowering.schedules[f];
  const bool at_launch = of_block(lowering, f);
  const bool must_be_known =
      lowering.gpu || lowering.open.threads || lowering.open.lanes || schedule.space == MemorySpace::registers;
  Size size;
  for (std::size_t d = 0; d < region.size(); ++d) {
    auto most = at_most(region[d].extent, lowering.symbols.range());
    const auto fold = schedule.folds.find(static_cast<int>(d)), found = folds.find(static_cast<int>(d));
    if (fold != schedule.folds.end())
      most = storage.folds[d] = fold->second;
    else if (found != folds.end() && (!most || *most > found->second))
      most = storage.folds[d] = found->second;
    const bool unknown = !most || *most > (at_launch ? most_elements_of_block : most_elements);
    if (unknown && !at_launch && must_be_known) refuse_unknown_extent(lowering, f, d);
    size.computed = size.computed || unknown;
    if (unknown && at_launch)
      size.extents.push_back(shared_extent(lowering, f, d, region[d].extent));
    else
      size.extents.push_back(unknown ? greatest(region[d].extent, 0) : Affine(std::max<std::int64_t>(*most, 1)));
  }
  return size;
}

// Sets the strides, in the order of the schedule.
struct Padded {
  std::vector<Affine> extents;
  Affine count;  // of all elements
};
Padded set_strides(Lowering &lowering, const FunctionSchedule &schedule, const std::vector<Affine> &extents,
                   Storage &storage) {
  storage.strides.resize(extents.size());
  Padded padded{{}, 1};
  Affine &all = padded.count;
  for (const int d : schedule.storage_order) {
    const auto dimension = static_cast<std::size_t>(d);
    storage.strides[dimension] = all;
    Affine extent = extents[dimension];
    if (const auto pad = schedule.pads.find(d); pad != schedule.pads.end()) extent = extent + pad->second;
    padded.extents.push_back(extent);
    if (all.is_constant() && (extent * all.constant()).known())
      all = extent * all.constant();
    else if (extent.is_constant() && (all * extent.constant()).known())
      all = all * extent.constant();
    else
      all = lowering.integers.bound(lowering.integers.derived({Op::Mul, {all, extent}, {}}));
    if (!all.is_constant()) all = lowering.integers.bound(all);
  }
  return padded;
}

// The place of the kernel's allocation, and its size.
struct Placement {
  MemorySpace space;
  std::int64_t elements;
  Block *to;
};

// For a function whose elements a thread of the block computes.
Placement placed_in_thread(Lowering &lowering, std::uint32_t f, Placement place, Storage &storage) {
  const ThreadNest &threads = *lowering.open.threads;
  storage.owner = threads.id;
  // A vector's lanes inside a thread do not cooperate.
  const bool lane = threads.vectors && lowering.open.lanes;
  const bool kept = !lane && keeps_across(lowering, f);
  if (kept && lowering.gpu) return {MemorySpace::thread, place.elements, threads.outside};
  if (kept && threads.sized_at_launch)
    throw UserError(lowering.schedules[f].compute.where,
                    fmt::format("'{}' is kept by each thread of loops that are dealt out between as many threads as a "
                                "launch says, while the block fills shared memory; compute it outside of these loops",
                                lowering.function(f).name));
  if (kept) {
    storage.by_thread = true;
    for (const std::int64_t cap : threads.caps) place.elements *= cap;
    return {MemorySpace::shared, place.elements, threads.outside};
  }
  if (!lowering.gpu && threads.vectors && !lowering.open.lanes) place.space = MemorySpace::shared;
  return place;
}

Placement placed(Lowering &lowering, std::uint32_t f, std::int64_t elements, Storage &storage) {
  storage.space = space_of(lowering, f);
  const bool shared = storage.space == MemorySpace::shared;
  if (shared && lowering.open.threads)
    throw UserError(
        lowering.schedules[f].space_where,
        fmt::format("'{}' is kept by each thread, and not in shared memory; store it at a loop of blocks, or "
                    "in registers",
                    lowering.function(f).name));
  Placement place{shared ? MemorySpace::shared : MemorySpace::instance, elements, lowering.write.out};
  if (lowering.open.threads) return placed_in_thread(lowering, f, place, storage);
  if (lowering.open.lanes)
    place.space = MemorySpace::instance;  // private to each lane
  else if (!lowering.gpu || place.space == MemorySpace::instance)
    place.space = MemorySpace::shared;  // of a block, or of the CPU's loops: any lane may access any element
  return place;
}

}  // namespace

bool has_values(const Lowering &lowering, std::uint32_t f) {
  const auto found = lowering.storages.find(f);
  return found != lowering.storages.end() && found->second.computed;
}

int inside_now(const Lowering &lowering) {
  return lowering.kernel.open + lowering.open.lanes + lowering.open.threads.has_value();
}

void allocate_temporary(Lowering &lowering, std::uint32_t f, const Region &region) {
  const Function &of = lowering.function(f);
  const FunctionSchedule &schedule = lowering.schedules[f];
  Storage storage;
  std::vector<Value> extents;
  storage.order.assign(schedule.storage_order.rbegin(), schedule.storage_order.rend());
  for (const Extent &dimension : region) storage.begin.push_back(dimension.begin);
  // Arrays have a limited rank: further outermost dimensions are merged.
  const std::size_t merged = of.rank() > maximum_rank ? static_cast<std::size_t>(of.rank() - maximum_rank) + 1 : 0;
  const Value none = Value::constant(ScalarType::Int64, 0),
              most = Value::constant(ScalarType::Int64, std::int64_t{1} << 31);
  for (const int d : storage.order) {
    Affine extent = region[static_cast<std::size_t>(d)].extent;
    if (const auto pad = schedule.pads.find(d); pad != schedule.pads.end()) extent = extent + pad->second;
    // The exact number, so that memory beyond 32-bit indices is refused.
    const Value count = lowering.write(Op::Max, lowering.integers.wide_value_of(extent), none);
    if (storage.merged.empty() || storage.merged.size() >= merged)
      extents.push_back(count);
    else
      extents.back() = lowering.write(Op::Min, lowering.write(Op::Mul, extents.back(), count), most);
    if (storage.merged.size() < merged) storage.merged.push_back(lowering.integers.bound(extent));
  }
  if (extents.empty()) extents.push_back(number(1));
  storage.folds.resize(region.size());
  lowering.host.flush();
  for (std::uint32_t v = 0; v < of.types.size(); ++v) {
    const std::uint32_t temporary = lowering.host.program.temporary_count++;
    const std::string name = of.types.size() == 1 ? of.name : fmt::format("{}_{}", of.name, v);
    storage.arrays.push_back(static_cast<std::uint32_t>(lowering.algorithm.parameters.size()) + temporary);
    lowering.host.temporaries.push_back({name, of.types[v], static_cast<int>(extents.size())});
    lowering.host.steps->push_back({Temporary{temporary, name, of.types[v], extents, of.where}});
  }
  lowering.nest.add({fmt::format("store {} in device memory: {}", of.name, dimensions_of(of, region)), of.name});
  lowering.storages.insert_or_assign(f, std::move(storage));
}

void allocate(Lowering &lowering, std::uint32_t f, const Region &region, const std::map<int, std::int64_t> &folds) {
  if (!lowering.kernel.open) return allocate_temporary(lowering, f, region);
  const Function &of = lowering.function(f);
  const FunctionSchedule &schedule = lowering.schedules[f];
  Storage storage;
  storage.inside = inside_now(lowering);
  storage.loops = lowering.open.all.size();
  storage.local = true;
  storage.folds.resize(region.size());
  for (const Extent &dimension : region) storage.begin.push_back(dimension.begin);
  const Size size = size_of_region(lowering, f, region, folds, storage);
  const Padded padded = set_strides(lowering, schedule, size.extents, storage);
  const std::int64_t elements = padded.count.is_constant() ? padded.count.constant() : most_elements;
  const bool at_launch = of_block(lowering, f);
  const Placement place = placed(lowering, f, elements, storage);
  const std::string text =
      kept_as(lowering, f, storage, region, size.computed ? std::optional<std::int64_t>() : elements);
  const int line = lowering.nest.open({text, of.name});
  lowering.nest.close(line);
  // On the CPU, copies on demand are fast enough.
  const bool ahead = lowering.gpu && storage.space == MemorySpace::shared;
  const int stages = ahead ? schedule.definitions[0].stages : 1;
  for (const ScalarType type : of.types) {
    storage.arrays.push_back(lowering.kernel.next_array);
    const Value count = !size.computed ? Value::constant(ScalarType::Int64, place.elements)
                        : at_launch    ? count_at_launch(lowering, padded.extents)
                                       : count_of(lowering, padded.extents);
    if (!lowering.nest.silent())
      lowering.kernel.kept.push_back({{of.name, lowering.kernel.next_array, storage.space}, line, text});
    if (place.space == MemorySpace::thread)
      lowering.kernel.thread_memory.push_back(thread_memory(lowering, f, lowering.kernel.next_array));
    place.to->emplace_back(Allocate{lowering.kernel.next_array++, type, count, place.space, {}, stages}, of.where);
  }
  lowering.storages.insert_or_assign(f, std::move(storage));
}

}  // namespace samite::schedules
