#include "samite/ir/verifier.h"

#include <algorithm>

namespace samite::ir {
namespace {

// The limit of layouts: element counts fit an i32.
constexpr std::int64_t most_extent = (std::int64_t{1} << 31) - 1;

}  // namespace

void Verifier::check(const Allocate &allocate) {
  check_index(allocate.size, "the size of a local array");
  check_memory(allocate);
  const LocalArrayId id = allocate.array;
  define_local_array(id, allocate.type);
  if (!allocate.of_block() && !is_tile_kernel(kernel_) && !threads_.in_loop)
    memory_.shared_by_instances[id] = allocate.space;
  if (allocate.size.is_constant()) memory_.sizes[id] = allocate.size.as_int();
  if (allocate.stages > 1) memory_.buffers.emplace(id, allocate);
}

void Verifier::define_local_array(LocalArrayId id, const Type &type) {
  if (id >= local_arrays_.size())
    fail("${} is not below the kernel's local_array_count of {}", id, local_arrays_.size());
  if (local_arrays_[id].defined) fail("${} is allocated twice", id);
  local_arrays_[id] = {type, true, true};
  arrays_in_scope_.push_back(id);
}

bool Verifier::same_for_instances(const Value &value) const {
  if (!value.is_local() || !threads_.index) return true;
  const auto end = in_scope_.begin() + static_cast<std::ptrdiff_t>(threads_.first_of_instance);
  return std::find(in_scope_.begin(), end, value.id()) != end;
}

void Verifier::check_whose_element(LocalArrayId array, const Value &index) const {
  const auto space = memory_.shared_by_instances[array];
  if (form_ != Form::lowered || !space) return;
  if (*space == MemorySpace::strip) {
    if (!threads_.index) fail("${} is memory of a strip, and is accessed outside of a thread loop", array);
    if (!index.is_local() || index.id() != *threads_.index)
      fail("${} is memory of a strip, and is accessed at {}, which is not the index of the thread loop", array,
           to_string(index, kernel_.parameters));
  } else if (!same_for_instances(index)) {
    fail("${} is shared by the instances of a thread loop, and is accessed at {}, which may differ between them", array,
         to_string(index, kernel_.parameters));
  }
}

void Verifier::check_jammed(const Block &block) const {
  for (const Stmt &stmt : block) {
    if (const If *branch = stmt.as<If>(); branch && branch->else_block.empty() && branch->results.empty())
      check_jammed(branch->then_block);
    else if (!stmt.as<Let>() && !stmt.as<Store>() && !stmt.as<Accumulate>() && !stmt.as<LocalStore>())
      fail("a jammed loop contains a loop, a branch with results, or an allocation");
  }
}

void Verifier::check_memory(const Allocate &allocate) {
  if (allocate.of_block()) check_lowered("memory of a block");
  if (allocate.space == MemorySpace::workspace) check_lowered("memory in the workspace");
  const bool shared = allocate.space == MemorySpace::shared;
  if (allocate.space == MemorySpace::strip) check_strip(allocate);
  if (allocate.space == MemorySpace::thread) check_of_thread(allocate);
  if (const auto *fragments = std::get_if<FragmentLayout>(&allocate.layout)) {
    check_fragments(*fragments);
    if (allocate.space != MemorySpace::registers) fail("fragments outside of registers");
    check_size(allocate, fragments->rows, fragments->columns);
  } else if (allocate.space == MemorySpace::registers) {
    fail("memory in registers without a fragment layout");
  }
  if (const auto *rows = std::get_if<RowLayout>(&allocate.layout)) {
    const auto bytes = static_cast<std::int64_t>(size_of(allocate.type));
    if (!shared) fail("rows of units outside of shared memory");
    if (rows->columns < 1 || rows->columns > most_extent || rows->units > most_extent ||
        rows->units * 16 < rows->columns * bytes)
      fail("rows of {} elements of {} bytes in {} units of 16 bytes", rows->columns, bytes, rows->units);
    check_size(allocate, std::nullopt, rows->columns);
  }
  if (const auto *panels = std::get_if<PanelLayout>(&allocate.layout)) {
    const auto bytes = static_cast<std::int64_t>(size_of(allocate.type));
    if (!shared) fail("panels outside of shared memory");
    if (panels->rows < 1 || panels->rows % 8 != 0 || panels->columns < 1 || panels->columns * bytes % 128 != 0)
      fail("panels of {} rows of {} elements of {} bytes", panels->rows, panels->columns, bytes);
    check_size(allocate, panels->rows, panels->columns);
  }
  if (allocate.buffer) check_buffer(allocate);
  if (allocate.stages < 1 || (allocate.stages > 1 && !shared)) fail("memory with {} buffers", allocate.stages);
  if (allocate.offset && (!shared || *allocate.offset < 0)) fail("memory at {} bytes", *allocate.offset);
  if (allocate.team_bytes < 0 || (allocate.team_bytes != 0 && (!allocate.offset || kernel_.roles.teams == 0)))
    fail("memory of teams, {} bytes each, in a kernel with {} teams", allocate.team_bytes, kernel_.roles.teams);
  if (!allocate.units) return;
  check_index(*allocate.units, "where memory begins");
  if (!allocate.sized_at_launch() || !kernel_.scheduled)
    fail("memory in units outside of a scheduled kernel, or whose size is not a parameter");
}

void Verifier::check_of_thread(const Allocate &allocate) const {
  check_lowered("memory of a thread");
  if (!is_tile_kernel(kernel_) || threads_.in_loop)
    fail("memory of a thread inside a thread loop, or outside of a block");
  if (!allocate.size.is_constant()) fail("memory of a thread with a size that is not a constant");
}

void Verifier::check_strip(const Allocate &allocate) const {
  check_lowered("memory of a strip");
  if (is_tile_kernel(kernel_)) fail("memory of a strip in a kernel whose instances are blocks");
  if (threads_.in_loop) fail("memory of a strip inside a thread loop");
  if (!allocate.size.is_constant()) fail("memory of a strip with a size that is not a constant");
}

void Verifier::check_buffer(const Allocate &allocate) {
  check_index(allocate.buffer->number, "the number of a buffer");
  const Type element = check_local_array(allocate.buffer->of);
  const auto known = memory_.buffers.find(allocate.buffer->of);
  if (known == memory_.buffers.end() || known->second.stages < 2) fail("a buffer of memory without several buffers");
  const Allocate &all = known->second;
  if (element != allocate.type || allocate.space != all.space || !(allocate.size == all.size) ||
      allocate.layout != all.layout || allocate.stages != 1 || allocate.offset)
    fail("a buffer whose type, size or layout differs from that of ${}", allocate.buffer->of);
}

void Verifier::check_size(const Allocate &allocate, std::optional<std::int64_t> rows, std::int64_t columns) const {
  if (!allocate.size.is_constant()) fail("a layout of memory with a size that is not a constant");
  const std::int64_t size = allocate.size.as_int();
  if (rows ? size != *rows * columns : size % columns != 0)
    fail("{} elements in a layout with {} columns", size, columns);
}

void Verifier::check_fragments(const FragmentLayout &fragments) const {
  for (const std::int64_t extent : {fragments.rows, fragments.columns})
    if (extent < 1 || extent > most_extent) fail("fragments of an extent of {}", extent);
  for (const std::int64_t warps : {fragments.down, fragments.across})
    if (warps < 1 || warps > kernel_.block_threads) fail("fragments of {} warps", warps);
  if (fragments.threads() != kernel_.block_threads)
    fail("fragments on {} by {} {}, and the block has {} threads", fragments.down, fragments.across,
         piece_of(fragments.unit).threads == 32 ? "warps" : "groups of warps", kernel_.block_threads);
}

void Verifier::check(const LocalStore &store) {
  Type element = check_local_array(store.array);
  check_index(store.index, "an index");
  check_whose_element(store.array, store.index);
  check_value(store.value, element, "the stored value");
}

}  // namespace samite::ir
