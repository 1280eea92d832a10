#include "samite/schedule/memory_plan.h"

#include "samite/passes/tiles/plan_tile_memory.h"

#include <algorithm>
#include <map>

namespace samite::schedules {
namespace {

using namespace ir;

struct Use {
  const Allocate *allocation;
  int first, last;
  std::optional<KeptMemory::Span> stored, loaded;
};

class Uses {
 public:
  explicit Uses(const Kernel &kernel) { walk(kernel.body); }

  std::map<LocalArrayId, Use> arrays;
  int end = 0;

 private:
  static void extend(std::optional<KeptMemory::Span> &span, int time) {
    span = span ? KeptMemory::Span{span->first, time} : KeptMemory::Span{time, time};
  }
  void touch(LocalArrayId array, std::optional<KeptMemory::Span> Use::*span) {
    const auto found = arrays.find(array);
    if (found == arrays.end()) return;
    extend(found->second.*span, end);
    found->second.last = end;
  }

  void walk(const Block &block) {
    for (const Stmt &stmt : block) {
      const int here = ++end;
      if (const auto *allocate = stmt.as<Allocate>()) {
        arrays[allocate->array] = {allocate, here, here, {}, {}};
      } else if (const auto *store = stmt.as<LocalStore>()) {
        touch(store->array, &Use::stored);
      } else if (const auto *let = stmt.as<Let>(); let && let->value.op == Op::LocalLoad) {
        touch(let->value.array, &Use::loaded);
      } else if (const auto *branch = stmt.as<If>()) {
        walk(branch->then_block);
        walk(branch->else_block);
      } else if (const auto *loop = stmt.as<For>()) {
        walk(loop->body);
        ++end;
        // Memory from before the loop is live until its last iteration has ended.
        for (auto &[array, use] : arrays)
          if (use.first < here && use.last > here) use.last = end;
      }
    }
  }
};

std::string memory_name(const KernelLaunch::Kept &kept, bool gpu) {
  if (kept.space == MemorySpace::registers) return "registers";
  if (!gpu) return "memory of its task";
  return kept.space == MemorySpace::shared ? "shared memory" : "local memory of its thread";
}

}  // namespace

KernelMemory memory_of(const Kernel &planned, const KernelLaunch &launch, bool gpu) {
  const Uses uses(planned);
  KernelMemory memory;
  memory.statements = uses.end;
  const passes::TileMemoryPlan plan = gpu ? passes::plan_tile_memory(planned) : passes::TileMemoryPlan{};
  memory.shared_bytes = plan.bytes;
  for (const KernelLaunch::Kept &kept : launch.kept) {
    const auto found = uses.arrays.find(kept.array);
    if (found == uses.arrays.end()) continue;
    const Use &use = found->second;
    KeptMemory of;
    of.func = kept.func;
    of.type = name(use.allocation->type.element());
    of.memory = memory_name(kept, gpu);
    of.first = use.first, of.last = use.last;
    of.stored = use.stored, of.loaded = use.loaded;
    if (use.allocation->size.is_constant()) {
      of.elements = use.allocation->size.as_int();
      of.bytes = *of.elements * static_cast<std::int64_t>(size_of(use.allocation->type.element()));
    }
    if (const passes::PlacedTile *placed = plan.tile(kept.array)) {
      if (!placed->sized_at_launch) of.offset = placed->offset, of.bytes = placed->bytes;
      of.first = placed->first, of.last = placed->last;
    }
    memory.kept.push_back(std::move(of));
  }
  return memory;
}

}  // namespace samite::schedules
