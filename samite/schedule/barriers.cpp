#include "samite/schedule/barriers.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/own_elements.h"
#include "samite/passes/tiles/plan_tile_memory.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;

// A thread loop by its index, or no such loop.
using ThreadLoop = std::optional<LocalId>;
using Accesses = std::set<std::pair<LocalArrayId, ThreadLoop>>;

struct Touched {
  Accesses read, written;             // since the last barrier
  std::set<LocalArrayId> in_buffers;  // load_ahead orders their accesses

  void add(const Touched &other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
    in_buffers.insert(other.in_buffers.begin(), other.in_buffers.end());
  }
  std::set<LocalArrayId> all() const {
    std::set<LocalArrayId> together = in_buffers;
    for (const Accesses *accesses : {&read, &written})
      for (const auto &[array, loop] : *accesses) together.insert(array);
    return together;
  }
  friend bool operator==(const Touched &, const Touched &) = default;
};

class Placer {
 public:
  explicit Placer(const Kernel &kernel) : plan_(passes::plan_tile_memory(kernel)) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const Allocate *allocate = stmt.as<Allocate>();
      if (!allocate || allocate->space != MemorySpace::shared) return;
      shared_.emplace(allocate->array, allocate->buffer ? allocate->buffer->of : allocate->array);
      if (allocate->stages > 1) several_buffers_.insert(allocate->array);
    });
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const For *loop = stmt.as<For>(); loop && loop->kind == LoopKind::Thread) loops_.emplace(loop->index, loop);
    });
  }

  // The block with its barriers, and the accesses after its last barrier.
  Block placed(const Block &block, Touched &since) const {
    Block made;
    for (const Stmt &stmt : block) add(stmt, since, made);
    return made;
  }

 private:
  Touched touched_by(const Stmt &whole) const {
    Touched touched;
    const For *const loop = whole.as<For>();
    const ThreadLoop by = loop ? ThreadLoop(loop->index) : std::nullopt;
    const auto look = [&](const Stmt &stmt) {
      const auto array = local_array_touched(stmt);
      const auto memory = array ? shared_.find(*array) : shared_.end();
      if (memory == shared_.end()) return;
      if (several_buffers_.contains(memory->second))
        touched.in_buffers.insert(memory->second);
      else
        (stmt.as<LocalStore>() ? touched.written : touched.read).emplace(memory->second, by);
    };
    for_each_statement(Block{whole}, look);
    return touched;
  }

  // Whether a thread touches memory that another one has touched.
  bool meet(const Accesses &here, const Accesses &since) const {
    return std::ranges::any_of(here, [&](const auto &access) {
      const auto &[array, loop] = access;
      for (auto other = since.lower_bound({array, std::nullopt}); other != since.end() && other->first == array;
           ++other)
        if (!loop || !other->second || !own_.apart(*loops_.at(*loop), *loops_.at(*other->second), array)) return true;
      return false;
    });
  }

  void add(const Stmt &stmt, Touched &since, Block &made) const {
    if (const For *loop = stmt.as<For>(); loop && loop->kind != LoopKind::Thread) {
      // Accesses at the end of an iteration precede those of the next one.
      Touched before = since;
      Block body;
      for (;;) {
        Touched at = before;
        body = placed(loop->body, at);
        Touched again = before;
        again.add(at);
        if (again == before) {
          since = at;
          break;
        }
        before = again;
      }
      since.add(before);
      For copy = *loop;
      copy.body = std::move(body);
      made.emplace_back(std::move(copy), stmt.where());
      return;
    }
    if (const If *branch = stmt.as<If>()) {
      If copy = *branch;
      Touched then_since = since, else_since = since;
      copy.then_block = placed(branch->then_block, then_since);
      copy.else_block = placed(branch->else_block, else_since);
      since = then_since;
      since.add(else_since);
      made.emplace_back(std::move(copy), stmt.where());
      return;
    }
    if (stmt.as<Barrier>()) {
      since = {};
      made.push_back(stmt);
      return;
    }
    const Touched here = touched_by(stmt);
    if (meet(here.read, since.written) || meet(here.written, since.read) || meet(here.written, since.written) ||
        takes_over(here, since)) {
      made.emplace_back(Barrier{}, stmt.where());
      since = {};
    }
    since.add(here);
    made.push_back(stmt);
  }

  // Whether new memory overlaps memory that other threads may still access.
  bool takes_over(const Touched &here, const Touched &since) const {
    for (const LocalArrayId array : here.all())
      for (const LocalArrayId before : since.all()) {
        const passes::PlacedTile *own = plan_.tile(array), *other = plan_.tile(before);
        if (own && other && (own->first > other->last || other->first > own->last)) return true;
      }
    return false;
  }

  const passes::TileMemoryPlan plan_;
  std::map<LocalArrayId, LocalArrayId> shared_;  // the allocation that each aliases, or itself
  std::set<LocalArrayId> several_buffers_;
  std::map<LocalId, const For *> loops_;  // over threads, by their index
  mutable passes::OwnElements own_;
};

}  // namespace

Block with_barriers(const Kernel &kernel) {
  Touched since;
  return Placer(kernel).placed(kernel.body, since);
}

}  // namespace samite::schedules
