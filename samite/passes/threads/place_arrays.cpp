#include "samite/passes/threads/place_arrays.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/local_access.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// In bytes, of one array and of all of a kernel.
struct StackShare {
  std::int64_t array, kernel;
};
// A CUDA thread's stack is in device memory, which the driver reserves for every thread that the device can hold.
constexpr StackShare share_of_lanes{16 << 10, 64 << 10}, share_of_thread{1 << 10, 4 << 10};
// For the tiles of a block that one thread of the CPU runs.
constexpr StackShare share_of_tiles{64 << 10, 256 << 10};
constexpr std::int64_t most_lanes = 16;
constexpr std::int64_t most_elements = 1 << 16;  // of an array with few used elements

// For local arrays that are only accessed by constant indices: the number of used elements. The compiler keeps each in
// a register, and drops all others of the array, such as those between a thread's pieces.
std::map<LocalArrayId, std::int64_t> elements_by_constants(const Kernel &kernel) {
  std::map<LocalArrayId, std::set<std::int64_t>> elements;
  std::set<LocalArrayId> varying;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto access = local_access(stmt);
    if (!access) return;
    if (access->index.is_constant())
      elements[access->array].insert(access->index.as_int());
    else
      varying.insert(access->array);
  });
  std::map<LocalArrayId, std::int64_t> counts;
  for (const auto &[array, own] : elements)
    if (!varying.contains(array)) counts[array] = static_cast<std::int64_t>(own.size());
  return counts;
}

class Stack {
 public:
  explicit Stack(StackShare share) : share_(share) {}

  // Takes memory for this many elements, if there is room.
  bool take(const Value &count, std::int64_t bytes_of_one) {
    return count.is_constant() && take(count.as_int(), bytes_of_one);
  }
  bool take(std::int64_t count, std::int64_t bytes_of_one) {
    if (count > share_.array / bytes_of_one) return false;
    const std::int64_t bytes = std::max<std::int64_t>(count, 0) * bytes_of_one;
    if (taken_ + bytes > share_.kernel) return false;
    taken_ += bytes;
    return true;
  }

 private:
  StackShare share_;
  std::int64_t taken_ = 0;
};

}  // namespace

Kernel place_arrays(Kernel lowered, const Architecture &architecture) {
  const bool threads = architecture.blocks_have_threads();
  Stack instances(threads ? share_of_thread : share_of_lanes), tiles(share_of_tiles);
  const std::int64_t lanes = threads ? 1 : most_lanes;
  std::optional<std::map<LocalArrayId, std::int64_t>> by_constants;  // computed on demand
  const auto place = [&](const Allocate &own) {
    const auto bytes = static_cast<std::int64_t>(size_of(own.type));
    if ((own.of_block() && threads) || own.space == MemorySpace::thread) return own.space;
    if (own.of_block()) return tiles.take(own.size, bytes) ? MemorySpace::shared : MemorySpace::device;
    // 16-bit floats are held in 32 bits.
    const std::int64_t element = lanes * (is_floating(own.type) && bytes <= 2 ? 4 : bytes);
    if (instances.take(own.size, element)) return MemorySpace::instance;
    if (!threads || !own.size.is_constant() || own.size.as_int() > most_elements) return MemorySpace::workspace;
    if (!by_constants) by_constants = elements_by_constants(lowered);
    const auto used = by_constants->find(own.array);
    return used != by_constants->end() && instances.take(used->second, element) ? MemorySpace::instance
                                                                                : MemorySpace::workspace;
  };
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    auto *allocate = stmt.as<Allocate>();
    if (!allocate) return stmt;
    Allocate placed = *allocate;
    placed.space = place(*allocate);
    return {placed, stmt.where()};
  });
  return lowered;
}

bool uses_workspace(const Kernel &placed) {
  bool found = false;
  for_each_statement(placed.body, [&](const Stmt &stmt) {
    auto *allocate = stmt.as<Allocate>();
    found = found || (allocate && allocate->in_workspace());
  });
  return found;
}

}  // namespace samite::passes
