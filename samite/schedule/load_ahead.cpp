#include "samite/schedule/load_ahead.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/rename.h"
#include "samite/schedule/statement_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;

// The statements that fill a loop's memory: its thread loops, and the loop's own operations that these need.
struct Fills {
  std::map<LocalArrayId, Allocate> memory;
  std::set<std::size_t> statements;  // of the loop's body
};

class Pipeliner {
 public:
  explicit Pipeliner(Kernel &kernel) : kernel_(kernel) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written_.insert(*array);
    });
  }

  // `repeated`: in a loop. `iteration`: the body of one.
  Block done(const Block &block, bool repeated, bool iteration) {
    Block made;
    for (const Stmt &stmt : block) {
      const Allocate *allocate = stmt.as<Allocate>();
      if (allocate && allocate->stages > 1 && !iteration) {
        made.push_back(one_buffer(*allocate, "it is in no loop of the block", stmt.where()));
      } else if (const For *loop = stmt.as<For>(); loop && loop->kind != LoopKind::Thread) {
        For copy = *loop;
        copy.body = done(loop->body, true, true);
        write(copy, stmt.where(), repeated, made);
      } else if (const If *branch = stmt.as<If>()) {
        If copy = *branch;
        copy.then_block = done(branch->then_block, repeated, false);
        copy.else_block = done(branch->else_block, repeated, false);
        made.emplace_back(std::move(copy), stmt.where());
      } else {
        made.push_back(stmt);
      }
    }
    return made;
  }

  std::vector<LoadAhead> found;

 private:
  LocalId new_local() { return kernel_.local_count++; }
  LocalArrayId new_array() { return kernel_.local_array_count++; }

  Stmt one_buffer(Allocate memory, std::string why_not, SourceLocation where) {
    found.push_back({memory.array, memory.array, memory.stages, std::move(why_not)});
    memory.stages = 1;
    return {memory, where};
  }

  void write(const For &loop, SourceLocation where, bool repeated, Block &made) {
    For plain = loop;
    Fills fills;
    for (Stmt &stmt : plain.body) {
      const Allocate *allocate = stmt.as<Allocate>();
      if (!allocate || allocate->stages == 1 || of_inner_loops_.contains(allocate->array)) continue;
      std::string why_not = reason_against(loop, *allocate, fills);
      if (why_not.empty())
        fills.memory.emplace(allocate->array, *allocate);
      else
        stmt = one_buffer(Allocate(*allocate), std::move(why_not), stmt.where());
    }
    if (fills.memory.empty()) return made.emplace_back(std::move(plain), where), void();
    pipelined(plain, where, repeated, fills, made);
  }

  // The reason that the memory cannot be prefetched, or empty.
  std::string reason_against(const For &loop, const Allocate &memory, Fills &fills) const {
    if (memory.sized_at_launch()) return "its size is known at launch only";
    if (!loop.carried.empty() || !loop.begin.is_constant(0) || !loop.step.is_constant(1))
      return "its loop is not one of iterations from 0 on";
    for (const auto &[array, other] : fills.memory)
      if (other.stages != memory.stages) return "another Func has another number of buffers in the same loop";
    std::optional<std::size_t> fill;
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      bool stores = false;
      for_each_statement(Block{loop.body[i]}, [&](const Stmt &stmt) {
        const LocalStore *store = stmt.as<LocalStore>();
        stores = stores || (store && store->array == memory.array);
      });
      if (!stores) continue;
      if (fill) return "it is stored to in several places";
      fill = i;
    }
    if (!fill) return "nothing is stored to it";
    const For *threads = loop.body[*fill].as<For>();
    if (!threads || threads->kind != LoopKind::Thread) return "it is not filled by the threads of the block together";
    std::map<LocalId, Operation> loads;
    if (std::string why_not = reason_against(loop, threads->body, memory.array, loads); !why_not.empty())
      return why_not;
    std::set<LocalId> needed;
    if (!pure_before(loop, *fill, needed)) return "its indices need what the loop's iteration has computed";
    fills.statements.insert(*fill);
    return {};
  }

  // For the statements of a thread loop that fills the memory, whose loads are `loads` so far.
  std::string reason_against(const For &loop, const Block &block, LocalArrayId memory,
                             std::map<LocalId, Operation> &loads) const {
    for (const Stmt &stmt : block) {
      if (const Let *let = stmt.as<Let>()) {
        const Operation &operation = let->value;
        if (operation.op == Op::Load && written_.contains(operation.array))
          return "it is of an array that the kernel writes to";
        if (operation.op == Op::Load)
          loads.emplace(let->local, operation);
        else if (operation.op == Op::LocalLoad ? stored_in(loop, operation.array) : !info(operation.op).pure)
          return "its indices need what the loop's iteration has computed";
      } else if (const LocalStore *store = stmt.as<LocalStore>()) {
        if (store->array != memory) return "its threads store to other memory, too";
        const auto load = store->value.is_local() ? loads.find(store->value.id()) : loads.end();
        if (load == loads.end()) return "its values are computed, not copied";
        if (load->second.operands.empty() || !may_be_ahead(load->second.type.element(), 1))
          return "its elements are not of 4 or 8 bytes";
        if (uses(loop, store->value.id()) != 1) return "what is loaded for it is used otherwise, too";
      } else if (const If *branch = stmt.as<If>(); branch && branch->results.empty()) {
        for (const Block *side : {&branch->then_block, &branch->else_block})
          if (std::string why_not = reason_against(loop, *side, memory, loads); !why_not.empty()) return why_not;
      } else if (const For *inner = stmt.as<For>(); inner && inner->carried.empty()) {
        if (std::string why_not = reason_against(loop, inner->body, memory, loads); !why_not.empty()) return why_not;
      } else {
        return "its values are computed, not copied";
      }
    }
    return {};
  }

  static bool stored_in(const For &loop, LocalArrayId array) {
    bool stored = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const LocalStore *store = stmt.as<LocalStore>();
      const Allocate *allocate = stmt.as<Allocate>();
      stored = stored || (store && store->array == array) || (allocate && allocate->array == array);
    });
    return stored;
  }
  static int uses(const For &loop, LocalId local) {
    int count = 0;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_operand(stmt, [&](const Value &value) { count += value.is_local() && value.id() == local; });
    });
    return count;
  }

  // Adds the operations of the loop's body that the statement needs. Returns whether these can run at any time.
  bool pure_before(const For &loop, std::size_t statement, std::set<LocalId> &needed) const {
    const auto need = [&](const Stmt &stmt) {
      for_each_operand(stmt, [&](const Value &value) {
        if (value.is_local()) needed.insert(value.id());
      });
    };
    for_each_statement(Block{loop.body[statement]}, need);
    for (std::size_t i = statement; i-- > 0;) {
      const Stmt &stmt = loop.body[i];
      const Let *let = stmt.as<Let>();
      if (let && needed.contains(let->local)) {
        const bool constant = let->value.op == Op::Load && !written_.contains(let->value.array);
        if (!constant && !info(let->value.op).pure) return false;
        need(stmt);
      }
      bool other = false;  // the result of a branch or of a loop
      if (!let)
        for_each_definition(stmt, [&](LocalId local, const Type &) { other = other || needed.contains(local); });
      if (other) return false;
    }
    return true;
  }

  void pipelined(const For &loop, SourceLocation where, bool repeated, const Fills &fills, Block &made) {
    const int stages = fills.memory.begin()->second.stages, lead = stages - 1;
    std::map<LocalArrayId, LocalArrayId> all;  // the memory of all buffers
    for (const auto &[array, memory] : fills.memory) {
      Allocate buffers = memory;
      buffers.array = all[array] = new_array();
      of_inner_loops_.insert(buffers.array);
      found.push_back({array, buffers.array, stages, {}});
      made.emplace_back(buffers, where);
    }
    const Fill fill{loop, fills, all, where};

    // Threads may still read the loop's results from its previous run.
    if (repeated) made.emplace_back(Barrier{}, where);
    For first{new_local(), ScalarType::Int32, number(0), number(lead), number(1), {}, {}};
    const Value s = Value::local(ScalarType::Int32, first.index);
    start(fill, s, s, first.body);
    made.emplace_back(std::move(first), where);

    For rest = loop;
    rest.body.clear();
    const Value i = Value::local(ScalarType::Int32, loop.index);
    rest.body.emplace_back(WaitForCopies{lead - 1}, where);
    rest.body.emplace_back(Barrier{}, where);
    const Value next = operation(rest.body, {Op::Add, ScalarType::Int32, {i, number(lead)}}, where);
    start(fill, next, operation(rest.body, {Op::Rem, ScalarType::Int32, {next, number(stages)}}, where), rest.body);
    const Value own = operation(rest.body, {Op::Rem, ScalarType::Int32, {i, number(stages)}}, where);
    for (std::size_t at = 0; at < loop.body.size(); ++at) {
      const Stmt &stmt = loop.body[at];
      const Allocate *allocate = stmt.as<Allocate>();
      if (allocate && all.contains(allocate->array))
        rest.body.emplace_back(buffer(fills, all, allocate->array, allocate->array, own), stmt.where());
      else if (!fills.statements.contains(at))
        rest.body.push_back(stmt);
    }
    made.emplace_back(std::move(rest), where);
  }

  struct Fill {
    const For &loop;
    const Fills &fills;
    const std::map<LocalArrayId, LocalArrayId> &all;
    SourceLocation where;
  };

  Value operation(Block &block, Operation operation, SourceLocation where) {
    const Type type = operation.type;
    block.emplace_back(Let{kernel_.local_count, std::move(operation)}, where);
    return Value::local(type, new_local());
  }

  static Allocate buffer(const Fills &fills, const std::map<LocalArrayId, LocalArrayId> &all, LocalArrayId array,
                         LocalArrayId name, const Value &number_of_buffer) {
    Allocate own = fills.memory.at(array);
    own.array = name;
    own.stages = 1;
    own.buffer = Allocate::Buffer{all.at(array), number_of_buffer};
    return own;
  }

  // Starts the copies of an iteration, if it exists, into the buffer of that number, and commits their group.
  void start(const Fill &fill, const Value &iteration, const Value &number_of_buffer, Block &made) {
    const Value exists = operation(made, {Op::Less, ScalarType::Bool, {iteration, fill.loop.end}}, fill.where);
    If within{exists, {}, {}, {}};
    std::map<LocalArrayId, LocalArrayId> arrays;
    for (const auto &[array, memory] : fill.fills.memory) {
      arrays[array] = new_array();
      within.then_block.emplace_back(buffer(fill.fills, fill.all, array, arrays[array], number_of_buffer), fill.where);
    }
    std::set<LocalId> needed;
    for (const std::size_t statement : fill.fills.statements) pure_before(fill.loop, statement, needed);
    Block copies;
    for (std::size_t at = 0; at < fill.loop.body.size(); ++at) {
      const Stmt &stmt = fill.loop.body[at];
      const Let *let = stmt.as<Let>();
      if ((let && needed.contains(let->local)) || fill.fills.statements.contains(at)) copies.push_back(stmt);
    }
    std::set<LocalId> stored;
    for_each_statement(copies, [&](const Stmt &stmt) {
      if (const LocalStore *store = stmt.as<LocalStore>()) stored.insert(store->value.id());
    });
    std::map<LocalId, LocalId> names;
    const passes::Renaming renaming{[&](const Value &value) {
                                      if (!value.is_local()) return value;
                                      if (value.id() == fill.loop.index) return iteration;
                                      const auto name = names.find(value.id());
                                      return name == names.end() ? value : Value::local(value.type(), name->second);
                                    },
                                    [&](LocalId local) { return names[local] = new_local(); },
                                    [&](LocalArrayId array) {
                                      const auto name = arrays.find(array);
                                      return name == arrays.end() ? array : name->second;
                                    },
                                    [&](const Stmt &before, Stmt renamed) {
                                      const Let *let = before.as<Let>();
                                      if (!let || !stored.contains(let->local)) return Block{std::move(renamed)};
                                      Let ahead = *renamed.as<Let>();
                                      ahead.value = ir::load_ahead(std::move(ahead.value), 1);
                                      return Block{Stmt(std::move(ahead), renamed.where())};
                                    }};
    for (Stmt &stmt : passes::renamed(copies, renaming)) within.then_block.push_back(std::move(stmt));
    made.emplace_back(std::move(within), fill.where);
    made.emplace_back(CommitCopies{}, fill.where);
  }

  Kernel &kernel_;
  std::set<std::uint32_t> written_;        // arrays
  std::set<LocalArrayId> of_inner_loops_;  // memory of several buffers that has been written out
};

}  // namespace

std::vector<LoadAhead> load_ahead(Kernel &kernel) {
  Pipeliner pipeliner(kernel);
  kernel.body = pipeliner.done(kernel.body, false, false);
  return std::move(pipeliner.found);
}

}  // namespace samite::schedules
