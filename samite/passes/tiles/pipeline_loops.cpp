#include "samite/passes/tiles/pipeline_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_number.h"
#include "samite/passes/analysis/loop_iterations.h"
#include "samite/passes/analysis/window_steps.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace samite::passes {
namespace {

using namespace ir;

// One loop that is being written out.
class Pipelined {
 public:
  Pipelined(const For &loop, const IndexForms &forms, Builder &build)
      : loop_(loop),
        forms_(forms),
        build_(build),
        lead_(loop.stages - 1),
        ahead_(std::span(loop.body).first(loop.ahead)) {}

  void write(SourceLocation where) {
    build_.at(where);
    const Value iterations = count_iterations(loop_, build_);
    declare_buffers();
    const Value inside = open_streams(iterations);
    const Value turn = Value::local(ScalarType::Int32, build_.new_local());
    const Value buffer = Value::local(ScalarType::Int32, build_.new_local());

    Block outer = build_.open();
    const Value past = build_(Op::GreaterEqual, {turn, index_number(lead_)});
    branch(past, [&] {
      build_.append({WaitForCopies{lead_ - 1}, where});
      build_.append({Barrier{}, where});
    });
    start_copies(turn, buffer, iterations, inside);
    build_.append({CommitCopies{}, where});
    const Value following = build_(Op::Add, {buffer, index_number(1)});
    const Value next =
        build_.select(build_(Op::Equal, {following, index_number(loop_.stages)}), index_number(0), following);
    std::vector<Carried> carried = compute(past, turn, next);
    carried.push_back({buffer.id(), build_.new_local(), ScalarType::Int32, index_number(0), next});
    Block body = build_.close(std::move(outer));

    const Value turns = build_(Op::Add, {iterations, index_number(lead_)});
    build_.append({For{turn.id(), ScalarType::Int32, index_number(0), turns, index_number(1), std::move(body),
                       std::move(carried)},
                   where});
    build_.append({WaitForCopies{0}, where});
    build_.append({Barrier{}, where});
  }

 private:
  template <class Write>
  void branch(const Value &condition, const Write &write) {
    Block outer = build_.open();
    write();
    Block then_block = build_.close(std::move(outer));
    build_.append({If{condition, std::move(then_block), {}, {}}, build_.where()});
  }

  // The memory of all buffers, before the loop.
  void declare_buffers() {
    for (const Stmt &stmt : ahead_) {
      auto *allocate = stmt.as<Allocate>();
      if (!allocate || allocate->stages == 1) continue;
      Allocate all = *allocate;
      all.array = build_.new_local_array();
      buffers_.emplace(allocate->array, all);
      build_.append({all, stmt.where()});
    }
  }

  // One buffer of an allocation, under a new name.
  void open_buffer(LocalArrayId array, LocalArrayId as, const Value &number_of_buffer) {
    Allocate own = buffers_.at(array);
    own.buffer = {own.array, number_of_buffer};
    own.array = as;
    own.stages = 1;
    build_.append({own, build_.where()});
  }

  // The number of leading iterations whose loads are inside all arrays; 0 if the loads are not streams.
  Value open_streams(const Value &iterations) {
    std::vector<std::array<std::int64_t, 2>> steps;  // in the order of the loads
    for (const Stmt &stmt : ahead_) {
      auto *load = stmt.as<TileLoad>();
      if (!load) continue;
      const auto step = window_step(load->indices, load->result.type, loop_, forms_);
      if (!step) return index_number(0);
      steps.push_back(*step);
    }
    Value inside = iterations;
    CopiesForIndex first(build_, loop_, loop_.begin);
    for (const Stmt &stmt : ahead_) {
      if (auto *let = stmt.as<Let>()) first.copy(*let);
      auto *load = stmt.as<TileLoad>();
      if (!load) continue;
      const auto &step = steps[streams_.size()];
      LoadStream stream{build_.new_local_array(),
                        build_.new_local(),
                        load->result,
                        load->array,
                        first(load->indices),
                        step[0],
                        step[1]};
      stream.to.array = buffers_.at(load->result.array).array;
      streams_.push_back(stream.stream);
      const Value own = Value::local(ScalarType::Int32, stream.inside);
      build_.append({std::move(stream), stmt.where()});
      inside = build_(Op::Min, {inside, own});
    }
    return inside;
  }

  void start_copies(const Value &turn, const Value &buffer, const Value &iterations, const Value &inside) {
    const auto at_edges = [&] { branch(build_(Op::Less, {turn, iterations}), [&] { load_from(turn, buffer); }); };
    if (streams_.empty()) return at_edges();
    const Value whole = build_(Op::Less, {turn, inside});
    Block outer = build_.open();
    load_from_streams(buffer);
    Block from_streams = build_.close({});
    at_edges();
    Block rest = build_.close(std::move(outer));
    build_.append({If{whole, std::move(from_streams), std::move(rest), {}}, build_.where()});
  }

  void load_from_streams(const Value &buffer) {
    std::size_t stream = 0;
    for (const Stmt &stmt : ahead_) {
      auto *own = stmt.as<TileLoad>();
      if (!own) continue;
      TileLoad load = *own;
      load.stream = streams_[stream++];
      load.indices.clear();
      start(std::move(load), buffer);
    }
  }

  void load_from(const Value &turn, const Value &buffer) {
    CopiesForIndex at_turn(build_, loop_, build_.operation(index_in(loop_, turn, build_)));
    for (const Stmt &stmt : ahead_) {
      if (auto *let = stmt.as<Let>()) at_turn.copy(*let);
      auto *own = stmt.as<TileLoad>();
      if (!own) continue;
      TileLoad load = *own;
      load.indices = at_turn(load.indices);
      start(std::move(load), buffer);
    }
  }

  void start(TileLoad load, const Value &buffer) {
    const LocalArrayId as = build_.new_local_array();
    open_buffer(load.result.array, as, buffer);
    load.result.array = as;
    build_.append({std::move(load), build_.where()});
  }

  // The iteration itself, and its carried values.
  std::vector<Carried> compute(const Value &past, const Value &turn, const Value &buffer) {
    const SourceLocation where = build_.where();
    If iteration{past, {}, {}, {}};
    std::vector<Carried> carried = loop_.carried;
    for (Carried &value : carried) {
      const LocalId merged = build_.new_local();
      iteration.results.push_back({merged, value.type, value.next, Value::local(value.type, value.inner)});
      value.next = Value::local(value.type, merged);
    }
    Block outer = build_.open();
    Operation index = index_in(loop_, build_(Op::Sub, {turn, index_number(lead_)}), build_);
    build_.append({Let{loop_.index, std::move(index)}, where});
    const std::set<LocalId> needed = read_by_rest();
    for (std::size_t i = 0; i < loop_.body.size(); ++i) {
      const Stmt &stmt = loop_.body[i];
      auto *allocate = stmt.as<Allocate>();
      auto *let = stmt.as<Let>();
      const bool ahead = i < loop_.ahead;
      build_.at(stmt.where());
      if (allocate && buffers_.contains(allocate->array))
        open_buffer(allocate->array, allocate->array, buffer);
      else if (!ahead || (!stmt.as<TileLoad>() && (!let || needed.contains(let->local))))
        build_.append(stmt);
    }
    build_.at(where);
    iteration.then_block = build_.close(std::move(outer));
    build_.append({std::move(iteration), where});
    return carried;
  }

  // The operands of the statements after the prefetched ones, and their definitions.
  std::set<LocalId> read_by_rest() const {
    std::set<LocalId> needed;
    const auto need = [&](const Value &value) {
      if (value.is_local()) needed.insert(value.id());
    };
    for (const Carried &carried : loop_.carried) need(carried.next);
    const std::span<const Stmt> rest = std::span(loop_.body).subspan(loop_.ahead);
    for_each_statement({rest.begin(), rest.end()}, [&](const Stmt &stmt) { for_each_operand(stmt, need); });
    for (std::size_t i = loop_.ahead; i-- > 0;) {
      auto *let = ahead_[i].as<Let>();
      if (ahead_[i].as<Allocate>() || (let && needed.contains(let->local))) for_each_operand(ahead_[i], need);
    }
    return needed;
  }

  const For &loop_;
  const IndexForms &forms_;
  Builder &build_;
  int lead_;
  std::span<const Stmt> ahead_;
  std::map<LocalArrayId, Allocate> buffers_;  // by the name of the loaded tile
  std::vector<LocalArrayId> streams_;         // in the order of the loads
};

}  // namespace

Kernel pipeline_loops(Kernel lowered) {
  bool any = false;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    auto *loop = stmt.as<For>();
    any = any || (loop && loop->ahead != 0);
  });
  if (!any) return lowered;
  const IndexForms forms(lowered);
  Builder build(lowered.local_count);
  for (LocalArrayId i = 0; i < lowered.local_array_count; ++i) build.new_local_array();
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    auto *loop = stmt.as<For>();
    if (!loop || loop->ahead == 0) return made.push_back(stmt);
    Block outer = build.open();
    Pipelined(*loop, forms, build).write(stmt.where());
    for (Stmt &own : build.close(std::move(outer))) made.push_back(std::move(own));
  });
  lowered.local_count = build.local_count();
  lowered.local_array_count = build.local_array_count();
  return lowered;
}

}  // namespace samite::passes
