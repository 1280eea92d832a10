#include "samite/passes/adjoint/split_zero_fills.h"

#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/analysis/loop_iterations.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

const Let *plain_exchange(const Stmt &stmt) {
  const auto *let = stmt.as<Let>();
  return let && is_plain_exchange(let->value) ? let : nullptr;
}

// An exchange among the loop's statements, or as the only statement of one of its branches.
struct Taken {
  const Let *exchange;
  std::optional<Value> condition;
};

// The exchanges of a loop, if their zeros can be stored after it; otherwise empty.
class Takes {
 public:
  Takes(const For &loop, const FactsOfArrays &arrays) : loop_(loop) {
    if (loop.kind != LoopKind::Thread || !loop.carried.empty()) return;
    for (const Stmt &stmt : loop.body) {
      if (const Let *exchange = plain_exchange(stmt)) takes_.push_back({exchange, std::nullopt});
      const auto *branch = stmt.as<If>();
      if (!branch || branch->then_block.size() != 1 || !branch->else_block.empty()) continue;
      if (const Let *exchange = plain_exchange(branch->then_block[0])) takes_.push_back({exchange, branch->condition});
    }
    std::map<std::uint32_t, int> touched;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const auto read = array_read(stmt), written = array_written(stmt);
      if (read) ++touched[*read];
      if (written && written != read) ++touched[*written];
    });
    const auto alone = [&](const Taken &take) {
      const std::uint32_t own = take.exchange->value.array;
      return touched[own] == 1 && std::ranges::all_of(touched, [&](const auto &array) {
               return array.first == own || facts_of(arrays, array.first).unaliased;
             });
    };
    if (!std::ranges::all_of(takes_, alone) || !find_places()) takes_.clear();
  }

  const std::vector<Taken> &takes() const { return takes_; }

  // The loop that stores the zeros.
  For clears(Builder &build) const {
    For made = loop_;
    made.index = build.new_local();
    made.products = {};
    const Block outer = build.open();
    CopiesForIndex copies(build, loop_, Value::local(made.type, made.index));
    for (const Let *let : places_) copies.copy(*let);
    for (const Taken &take : takes_) {
      const Operation &from = take.exchange->value;
      const Stmt zero(Store{from.array, copies(from.operands), Value::zero(from.type)}, build.where());
      if (take.condition)
        build.append({If{copies(*take.condition), {zero}, {}, {}}, build.where()});
      else
        build.append(zero);
    }
    made.body = build.close(outer);
    return made;
  }

 private:
  // The computation of places and conditions, from the loop's index and earlier values.
  bool find_places() {
    std::set<LocalId> needed;
    const auto need = [&](const Value &value) {
      if (value.is_local()) needed.insert(value.id());
    };
    for (const Taken &take : takes_) {
      std::ranges::for_each(take.exchange->value.operands, need);
      if (take.condition) need(*take.condition);
    }
    for (const Stmt &stmt : std::views::reverse(loop_.body)) {
      bool defines = false;
      for_each_definition(stmt, [&](LocalId local, Type) { defines = defines || needed.contains(local); });
      if (!defines) continue;
      const auto *let = stmt.as<Let>();
      if (!let || !info(let->value.op).pure || let->value.op == Op::LocalLoad) return false;
      places_.insert(places_.begin(), let);
      std::ranges::for_each(let->value.operands, need);
    }
    return true;
  }

  const For &loop_;
  std::vector<Taken> takes_;
  std::vector<const Let *> places_;
};

For with_loads(For loop) {
  const auto loads = [](const Stmt &stmt) -> Stmt {
    const Let *exchange = plain_exchange(stmt);
    return exchange ? Stmt(Let{exchange->local, as_load(exchange->value)}, stmt.where()) : stmt;
  };
  loop.body = rewrite(loop.body, loads);
  return loop;
}

}  // namespace

Kernel split_zero_fills(Kernel lowered, const FactsOfArrays &arrays) {
  if (!is_tile_kernel(lowered)) return lowered;
  Builder build(lowered.local_count);
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    const auto *loop = stmt.as<For>();
    if (!loop) return made.push_back(stmt);
    const Takes takes(*loop, arrays);
    if (takes.takes().empty()) return made.push_back(stmt);
    build.at(stmt.where());
    made.push_back({with_loads(*loop), stmt.where()});
    made.push_back({takes.clears(build), stmt.where()});
  });
  lowered.local_count = build.local_count();
  return lowered;
}

}  // namespace samite::passes
