#include "samite/schedule/barriers.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;

struct Touched {
  std::set<LocalArrayId> read, written;  // since the last barrier

  void add(const Touched &other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
  }
  friend bool operator==(const Touched &, const Touched &) = default;
};

class Placer {
 public:
  explicit Placer(const Block &body) {
    for_each_statement(body, [&](const Stmt &stmt) {
      const Allocate *allocate = stmt.as<Allocate>();
      if (allocate && allocate->space == MemorySpace::shared) shared_.insert(allocate->array);
    });
  }

  // The block with its barriers, and what has been touched since the last one when it ends.
  Block placed(const Block &block, Touched &since) const {
    Block made;
    for (const Stmt &stmt : block) add(stmt, since, made);
    return made;
  }

 private:
  Touched touched_by(const Stmt &whole) const {
    Touched touched;
    const auto look = [&](const Stmt &stmt) {
      if (const LocalStore *store = stmt.as<LocalStore>(); store && shared_.contains(store->array))
        touched.written.insert(store->array);
      const Let *let = stmt.as<Let>();
      if (let && let->value.op == Op::LocalLoad && shared_.contains(let->value.array))
        touched.read.insert(let->value.array);
    };
    for_each_statement(Block{whole}, look);
    return touched;
  }

  static bool meet(const std::set<LocalArrayId> &a, const std::set<LocalArrayId> &b) {
    return std::ranges::any_of(a, [&](LocalArrayId array) { return b.contains(array); });
  }

  void add(const Stmt &stmt, Touched &since, Block &made) const {
    if (const For *loop = stmt.as<For>(); loop && loop->kind != LoopKind::Thread) {
      // What an iteration leaves meets the next one.
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
    const Touched here = touched_by(stmt);
    if (meet(here.read, since.written) || meet(here.written, since.read) || meet(here.written, since.written)) {
      made.emplace_back(Barrier{}, stmt.where());
      since = {};
    }
    since.add(here);
    made.push_back(stmt);
  }

  std::set<LocalArrayId> shared_;
};

}  // namespace

Block with_barriers(const Block &body) {
  Touched since;
  return Placer(body).placed(body, since);
}

}  // namespace samite::schedules
