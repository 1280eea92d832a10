#include "samite/ir/verifier.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::ir {

void Verifier::check_on_tiles(std::string_view what) const {
  if (!is_tile_kernel(kernel_)) fail("a {} in a kernel without tiles", what);
  check_lowered(what);
}

void Verifier::check(const TileCall &call) const {
  check_on_tiles("call on tiles in memory");
  const OpInfo &op = info(call.op);
  if (op.typing == Typing::Load) fail("{} as a call on tiles in memory", op.name);
  if (!call.why_no_loop.empty() && call.op != Op::MatMul)
    fail("a reason against a main loop on an operation that is not a product");
  check_memory(call.result);
  for (const TileMemory &operand : call.operands) check_memory(operand);
  if (call.sums) {
    if (call.op != Op::MatMul) fail("a layout of sums on an operation that is not a product");
    check_sums(*call.sums, call.result.type);
  }
  Operation operation{call.op, call.result.type, {}, 0, call.attribute};
  for (const TileMemory &operand : call.operands) operation.operands.push_back(Value::zero(operand.type));
  // The addend of a product is its result, and steps need memory for intermediate sums.
  if (call.op == Op::MatMul) operation.operands.push_back(Value::zero(call.result.type));
  const bool between = op.typing == Typing::Reduce || op.typing == Typing::Fourier || sorts_by_counting(operation);
  if (between && operation.operands.size() == 2) {
    // Sums of 16 bits have 32-bit parts.
    const ScalarType parts = operation.operands[1].type().element(), results = call.result.type.element();
    if (parts != results && (size_of(results) != 2 || parts != ScalarType::Float32))
      fail("memory of type {} between the steps of {}", name(operation.operands[1].type()), op.name);
    operation.operands.pop_back();
  }
  check_operation_on_tiles(operation);
}

void Verifier::check_operation_on_tiles(const Operation &operation) const {
  const OpInfo &op = info(operation.op);
  if (operation.operands.size() != static_cast<std::size_t>(op.arity))
    fail("{} has {} operands, expected {}", op.name, operation.operands.size(), op.arity);
  if (const std::string error = tile_type_error(operation); !error.empty()) fail("{}: {}", op.name, error);
}

void Verifier::check(const TileLoad &load) const {
  check_on_tiles("load of a tile");
  check_memory(load.result);
  if (load.stream) return check_next(load);
  const Parameter &from = array(load.array);
  check_element(from, load.indices, load.result.type);
  if (load.result.type.element() != from.type)
    fail("a load of type {} from @{} of type {}", name(load.result.type), from.name, name(from.type));
}

void Verifier::check_product(const auto &product, const Type &a, const Type &b, ThreadRole role) const {
  if (role != ThreadRole::producers) check_memory(product.result);
  check_sums(product.sums, product.result.type);
  const Type sums = product.result.type;
  check_operation_on_tiles(
      {Op::MatMul, sums, {Value::zero(a), Value::zero(b), Value::zero(sums)}, 0, product.attribute});
}

void Verifier::check(const MainLoop &loop) const {
  check_on_tiles("main loop");
  if (loop.role != (loop.by_bulk_copies() ? expected_role() : ThreadRole::all))
    fail("a main loop for threads of another role");
  const auto &[a, b] = loop.factors;
  check_product(loop, a.ring.type, b.ring.type, loop.role);
  if (loop.count) check_value(*loop.count, ScalarType::Int32, "the number of products");
  if (loop.terms) {
    if (loop.role == ThreadRole::producers || loop.is_step() || !loop.by_bulk_copies())
      fail("a limit of terms on something other than a whole main loop of bulk copies");
    check_value(*loop.terms, ScalarType::Int32, "the number of terms");
  }
  const int stages = stages_of(a.ring);
  for (const Transfer &factor : loop.factors) check_transfer(factor, stages);
  check_sharing(loop);
  if (loop.by_bulk_copies()) return check_bulk_copies(loop);
  if (kernel_.roles.producers != 0 || loop.is_step())
    fail("a main loop whose threads copy the windows, with producer threads, or of one product");
  if (stages < 2) fail("a main loop whose threads copy the windows, to rings of one stage");
  for (const Transfer &factor : loop.factors)
    if (factor.parts != 1 || !factor.why_copy.empty())
      fail("windows of {}, copied by threads, in parts or of a copied array", name(factor.ring.type));
}

void Verifier::check_sharing(const MainLoop &loop) const {
  const bool sums = loop.role != ThreadRole::producers;
  if (loop.sums_through.has_value() != (sums && kernel_.grid.step_parts != 0))
    fail("a main loop {} memory for the sums of parts, of {} parts", loop.sums_through ? "with" : "without",
         kernel_.grid.step_parts);
  if (loop.sums_through && *loop.sums_through != loop.factors[0].ring.array &&
      *loop.sums_through != loop.factors[1].ring.array)
    fail("sums of parts through ${}, which is not a ring of the main loop", *loop.sums_through);
  if (!loop.hands_over_in.empty() && (!sums || kernel_.roles.teams == 0))
    fail("a main loop that hands over, and no team multiplies");
  for (const LocalId index : loop.hands_over_in)
    if (std::ranges::none_of(loops_, [&](const For *around) { return around->index == index; }))
      fail("a main loop hands over in the last iteration of %{}, which is not around it", index);
}

void Verifier::check_bulk_copies(const MainLoop &loop) const {
  if (!loop.why_by_threads.empty()) fail("a reason against bulk copies on a main loop that has them");
  check_barriers(*loop.barriers, stages_of(loop.factors[0].ring));
  for (const Transfer &factor : loop.factors) {
    check_not_written(factor.array);
    if (factor.parts != 1 && (factor.parts != kernel_.grid.cluster_blocks ||
                              factor.ring.type.shape()[0] % (std::int64_t{8} * factor.parts) != 0))
      fail("windows of {} in {} parts, expected 1 or one for each block of the cluster, of a multiple of 8 rows",
           name(factor.ring.type), factor.parts);
  }
}

void Verifier::check_barriers(const TileMemory &barriers, int stages) const {
  check_memory(barriers);
  if (barriers.type.element() != ScalarType::UInt64 || barriers.type.count() != std::int64_t{2} * stages)
    fail("barriers of type {} for {} stages", name(barriers.type), stages);
}

void Verifier::check_transfer(const Transfer &factor, int stages) const {
  check_memory(factor.ring);
  const Parameter &from = array(factor.array);
  check_element(from, factor.indices, factor.ring.type);
  if (from.type != factor.ring.type.element())
    fail("windows of @{} of type {} for a factor of type {}", from.name, name(from.type), name(factor.ring.type));
  if (stages_of(factor.ring) != stages) fail("factors of {} and {} stages", stages, stages_of(factor.ring));
}

int Verifier::stages_of(const TileMemory &memory) const {
  const auto known = memory_.buffers.find(memory.array);
  return known == memory_.buffers.end() ? 1 : known->second.stages;
}

void Verifier::check(const WindowProduct &product) const {
  check_on_tiles("product of a window");
  if (product.role != expected_role()) fail("a product of a window for threads of another role");
  const bool copies = product.role == ThreadRole::producers, of_group = product.role == ThreadRole::consumers;
  if (!of_group && (product.takes_turn || product.gives_turn))
    fail("a turn on a product that is not one of a warp group");
  if (!of_group && product.runs_into) fail("runs_into on a product that is not one of a warp group");
  if (copies && (product.has_window || product.keeps_window)) fail("a kept window of threads that only copy");
  if (!copies) check_memory(product.first);
  check_product(product, product.first.type, product.second.ring.type, product.role);
  const int stages = stages_of(product.second.ring);
  check_transfer(product.second, stages);
  check_not_written(product.second.array);
  if (product.second.parts != 1) fail("a window of {} in parts", name(product.second.ring.type));
  check_barriers(product.barriers, stages);
}

void Verifier::check(const StageProduct &product) const {
  check_on_tiles("product in a stage");
  if (expected_role() == ThreadRole::producers) fail("a product in a stage of threads that only copy");
  for (const TileMemory &factor : product.factors) check_memory(factor);
  check_product(product, product.factors[0].type, product.factors[1].type, expected_role());
  check_barriers(product.barriers, stages_of(product.factors[0]));
}

void Verifier::check(const BringWindows &bring) const {
  if (!is_tile_kernel(kernel_)) fail("bulk copies of windows in a kernel without tiles");
  check_lowered("bulk copy of windows");
  if (bring.role != expected_role()) fail("bring_windows for threads of another role");
  check_memory(bring.barriers);
  const Type barriers = bring.barriers.type;
  const std::int64_t stages = barriers.count() / 2;
  if (stages < 2 || barriers.element() != ScalarType::UInt64 || barriers.count() != 2 * stages)
    fail("barriers of type {} for windows", name(barriers));
  for (const BringWindows::Window &window : bring.windows) {
    check_memory(window.ring);
    const Parameter &from = array(window.array);
    check_element(from, window.indices, window.ring.type);
    if (from.type != window.ring.type.element())
      fail("windows of @{} of type {} in a ring of type {}", from.name, name(from.type), name(window.ring.type));
    check_not_written(window.array);
    const auto known = memory_.buffers.find(window.ring.array);
    if (known == memory_.buffers.end() || known->second.stages != stages)
      fail("windows of @{} in a ring with a number of stages other than {}", from.name, stages);
  }
}

void Verifier::check(const ReleaseWindows &release) const {
  check_lowered("release of windows");
  check_local_array(release.barriers);
}

void Verifier::check(const Prefetch &fetch) const {
  check_lowered("prefetch");
  if (!is_tile_kernel(kernel_)) fail("a prefetch in a kernel without blocks");
  const Parameter &from = array(fetch.array);
  check_element(from, fetch.indices, fetch.type);
  if (!fetch.type.is_tile() || fetch.type.shape().rank() > std::min(2, from.rank) || fetch.type.element() != from.type)
    fail("a prefetch of type {} from @{} of type {}", name(fetch.type), from.name, name(from.type));
}

ThreadRole Verifier::expected_role() const {
  return kernel_.roles.producers == 0      ? ThreadRole::all
         : kernel_.roles.producing.empty() ? ThreadRole::producers
                                           : ThreadRole::consumers;
}

void Verifier::check_not_written(std::uint32_t index) const {
  for_each_statement(kernel_.body, [&](const Stmt &stmt) {
    if (array_written(stmt) == index) fail("bulk copies from @{}, which the kernel writes to", array(index).name);
  });
}

void Verifier::check_next(const TileLoad &load) const {
  check_local_array(*load.stream);
  const auto known = memory_.streams.find(*load.stream);
  if (known == memory_.streams.end()) fail("${} is not a stream of loads", *load.stream);
  if (known->second != load.result.type)
    fail("a load of type {} from a stream of type {}", name(load.result.type), name(known->second));
  if (!load.indices.empty() || load.in_units) fail("a load from a stream has indices, or units of its own");
}

void Verifier::check(const LoadStream &stream) {
  check_of_all_threads("stream of loads");
  check_memory(stream.to);
  check_element(array(stream.array), stream.indices, stream.to.type);
  if (stream.to.type.element() != array(stream.array).type)
    fail("a stream of type {} from @{} of type {}", name(stream.to.type), array(stream.array).name,
         name(array(stream.array).type));
  define_local_array(stream.stream, stream.to.type.element());
  memory_.streams.emplace(stream.stream, stream.to.type);
  define(stream.inside, ScalarType::Int32);
}

void Verifier::check_pack(const Parameter &of, std::span<const Value> indices, std::size_t count) const {
  check_lowered("wide access");
  if (is_tile_kernel(kernel_) && !kernel_.scheduled) fail("a wide access in a tile kernel that is not scheduled");
  check_indices(of, indices);
  if (count != 2 && count != 4 && count != 8) fail("a wide access to {} elements, expected 2, 4 or 8", count);
}

void Verifier::check(const LoadPack &load) {
  const Parameter &from = load.how == LoadPack::How::take ? writable_array(load.array) : array(load.array);
  check_pack(from, load.indices, load.locals.size());
  if (load.type != from.type) fail("elements of type {}, expected {}", name(load.type), name(from.type));
  for (const LocalId local : load.locals) define(local, load.type);
}

void Verifier::check(const StorePack &store) const {
  const Parameter &to = writable_array(store.array);
  check_pack(to, store.indices, store.values.size());
  for (const Value &value : store.values) check_value(value, to.type, "the stored value");
  if (store.adds() && to.type == ScalarType::Bool) fail("@{} has type bool, which does not accumulate", to.name);
  if (store.how == StorePack::How::atomic_add && to.type != ScalarType::Float32)
    fail("wide atomic additions of type {}, expected f32", name(to.type));
}

void Verifier::check(const Barrier &) const { check_of_all_threads("barrier"); }

void Verifier::check(const CommitCopies &) const { check_of_all_threads("group of copies"); }

void Verifier::check(const WaitForCopies &wait) const {
  check_of_all_threads("wait for copies");
  if (wait.groups < 0) fail("a wait for all but {} groups of copies", wait.groups);
}

void Verifier::check_of_all_threads(std::string_view what) const {
  if (!is_tile_kernel(kernel_)) fail("a {} in a kernel without blocks", what);
  check_lowered(what);
  if (threads_.in_loop) fail("a {} inside a thread loop, which some threads may skip", what);
}

void Verifier::check_memory(const TileMemory &memory) const {
  const Type element = check_local_array(memory.array);
  if (element != memory.type.element())
    fail("${} has elements of type {}, and is used as a tile of type {}", memory.array, name(element),
         name(memory.type));
  if (const auto size = memory_.sizes[memory.array]; size && *size < memory.type.count())
    fail("${} has {} elements, and is used as a tile of type {}", memory.array, *size, name(memory.type));
}

void Verifier::check_sums(const FragmentLayout &sums, const Type &result) const {
  check_fragments(sums);
  // A single product may be a batch of one.
  const TileShape shape = result.shape();
  if (shape.count() != sums.rows * sums.columns || sums.columns != shape[shape.rank() - 1])
    fail("sums of {} by {} elements, and the product is of type {}", sums.rows, sums.columns, name(result));
}

}  // namespace samite::ir
