#include "samite/passes/threads/instances_per_thread.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/uniformity.h"

#include <algorithm>

namespace samite::passes {

using namespace ir;

namespace {

constexpr std::size_t largest_body = 128, most = 8, most_in_loops = 4;

// With fewer threads, a multiprocessor cannot hide latency.
constexpr int threads_for_multiprocessor = 192, warp_size = 32;

// Resident threads of a multiprocessor.
constexpr int threads_with_128_registers = 512, threads_with_80_registers = 768;

// Whether neighbours share some loop's loads or additions, and all loops are uniform.
bool shares_in_loops(const Kernel &lowered) {
  const Uniformity shapes = uniformity(lowered);
  bool shares = false, alike = true;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Serial) return;
    alike = alike && !shapes.divergent(*loop);
    for_each_statement(loop->body, [&](const Stmt &inner) {
      const Let *let = inner.as<Let>();
      if (!let || let->value.op != Op::Load) return;
      shares = shares || std::ranges::all_of(let->value.operands,
                                             [&](const Value &index) { return shapes.of(index) == Shape::Uniform; });
    });
  });
  return shares && alike;
}

}  // namespace

int worthwhile_instances_per_thread(const Kernel &lowered) {
  std::size_t statements = 0, widest = 0;
  bool fits = true, loops = false;
  LocalId index = 0;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    ++statements;
    if (const For *loop = stmt.as<For>()) {
      if (loop->kind == LoopKind::Serial) loops = true;
      if (loop->kind == LoopKind::Thread) index = loop->index;
    }
    fits = fits && !stmt.as<While>() && !stmt.as<Allocate>() && !stmt.as<Print>() && !stmt.as<Check>();
  });
  if (!fits || statements > largest_body || (loops && !shares_in_loops(lowered))) return 1;
  auto streams = [&](std::span<const Value> indices, ScalarType type) {
    if (indices.back().is_local() && indices.back().id() == index) widest = std::max(widest, size_of(type));
  };
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      if (let->value.op == Op::Load || let->value.op == Op::Exchange) streams(let->value.operands, let->value.type);
    } else if (const Store *store = stmt.as<Store>()) {
      streams(store->indices, store->value.type());
    } else if (const Accumulate *add = stmt.as<Accumulate>()) {
      streams(add->indices, add->value.type());
    }
  });
  if (widest == 0) return 1;
  return static_cast<int>(std::min<std::size_t>(16 / widest, loops ? most_in_loops : most));
}

int instances_per_thread(int worthwhile, std::span<const std::int64_t> extents, int multiprocessors) {
  double threads = 1;
  for (const std::int64_t extent : extents) threads *= static_cast<double>(extent);
  int instances = worthwhile;
  while (instances > 1 && (threads / instances < double{threads_for_multiprocessor} * multiprocessors ||
                           extents.back() < std::int64_t{instances} * warp_size))
    instances /= 2;
  return instances;
}

// By default the compiler spills registers to fit more threads on a multiprocessor. With instances side by side fewer
// threads suffice: allow 128 registers for each. If a thread marches on to further instances, 80 are better in forward
// kernels and worse in adjoints (a 7-point stencil of 512³ on an H200: 0.945 of a copy's speed, else 0.930; its adjoint
// 0.913, else 0.953).
int blocks_at_once(const Kernel &planned, const ThreadsOfBlock &block) {
  if (block.instances_of_thread == 1) return planned.grid.resident_blocks;
  const bool adjoint = std::ranges::any_of(planned.parameters,
                                           [](const Parameter &parameter) { return parameter.role == Role::Gradient; });
  const int threads = block.march > 1 && !adjoint ? threads_with_80_registers : threads_with_128_registers;
  return std::max(threads / block.threads, 1);
}

}  // namespace samite::passes
