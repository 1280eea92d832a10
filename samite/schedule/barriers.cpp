#include "samite/schedule/barriers.h"

#include "samite/ir/visit.h"
#include "samite/passes/plan_tile_memory.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;

struct Touched {
  std::set<LocalArrayId> read, written;  // since the last barrier
  std::set<LocalArrayId> in_buffers;     // load_ahead orders their accesses

  void add(const Touched &other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
    in_buffers.insert(other.in_buffers.begin(), other.in_buffers.end());
  }
  std::set<LocalArrayId> all() const {
    Touched together = *this;
    together.read.merge(together.written);
    together.read.merge(together.in_buffers);
    return std::move(together.read);
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
    const auto look = [&](const Stmt &stmt) {
      const auto array = local_array_touched(stmt);
      const auto memory = array ? shared_.find(*array) : shared_.end();
      if (memory == shared_.end()) return;
      if (several_buffers_.contains(memory->second))
        touched.in_buffers.insert(memory->second);
      else
        (stmt.as<LocalStore>() ? touched.written : touched.read).insert(memory->second);
    };
    for_each_statement(Block{whole}, look);
    return touched;
  }

  static bool meet(const std::set<LocalArrayId> &a, const std::set<LocalArrayId> &b) {
    return std::ranges::any_of(a, [&](LocalArrayId array) { return b.contains(array); });
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
};

}  // namespace

Block with_barriers(const Kernel &kernel) {
  Touched since;
  return Placer(kernel).placed(kernel.body, since);
}

}  // namespace samite::schedules
