#include "samite/passes/threads/clamped_edges.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/lane_steps.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rename.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace samite::passes {

using namespace ir;

namespace {

constexpr std::size_t most_statements = 400;  // limit for the body, which is compiled twice

// A number of instances that are whole vectors, however wide these are.
std::int64_t instances_of_vectors(const Block &body) {
  constexpr std::int64_t usual = 16, of_bytes = 64;
  std::int64_t lanes = usual;
  for_each_statement(body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (let && let->value.op == Op::Load && size_of(let->value.type) < 4) lanes = of_bytes;
  });
  return lanes;
}

// The body's functions of the loop's index, and its values that are the same for all instances.
class Body {
 public:
  explicit Body(const For &loop) : loop_(loop) {
    shifts_.emplace(loop.index, 0);
    for (const Stmt &stmt : loop.body) {
      for_each_definition(stmt, [&](LocalId local, Type) { own_.emplace(local, stmt.as<Let>()); });
      if (const Let *let = stmt.as<Let>()) read(*let);
    }
  }

  // A clamp: the instances for which its result is one of its operands, the shifted index.
  struct Clamp {
    Op op;               // Max: a lower limit. Min: an upper limit
    Value bound;         // the same for all instances
    std::int64_t shift;  // of the index
    Value shifted;
  };
  const std::map<LocalId, Clamp> &clamps() const { return clamps_; }

  // Whether a clamped index belongs to an array's last dimension, where it matters.
  bool indexes_rows() const {
    bool found = false;
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      const auto look = [&](const std::vector<Value> &indices) {
        found = found || (!indices.empty() && indices.back().is_local() && moved_.contains(indices.back().id()));
      };
      if (const Let *let = stmt.as<Let>(); let && let->value.op == Op::Load) look(let->value.operands);
      if (const Store *store = stmt.as<Store>()) look(store->indices);
      if (const Accumulate *sum = stmt.as<Accumulate>()) look(sum->indices);
    });
    return found;
  }

  // Whether the clamped indices only load from rows, so that a vector at an edge is a load of neighbours, too
  // (`load_clamped` of device/cpu/lanes/memory.h).
  bool only_loads_rows() const {
    bool only = loop_.type == ScalarType::Int32;
    const auto moves = [&](const Value &value) { return value.is_local() && moved_.contains(value.id()); };
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (let && clamps_.contains(let->local)) return;
      if (let && let->value.op == Op::Load) {
        const std::vector<Value> &of = let->value.operands;
        only = only && std::none_of(of.begin(), of.end() - 1, moves);
        only = only && (!moves(of.back()) || is_the_same_in_memory(let->value.type));
      } else {
        for_each_operand(stmt, [&](const Value &value) { only = only && !moves(value); });
      }
    });
    return only;
  }

  // The value outside of the loop, computed there if necessary.
  Value outside(const Value &value, Builder &build) const {
    const Let *let = definition(value);
    if (!let) return value;
    Operation copy = let->value;
    for (Value &operand : copy.operands) operand = outside(operand, build);
    return build.operation(std::move(copy));
  }

 private:
  const Let *definition(const Value &value) const {
    const auto found = value.is_local() ? own_.find(value.id()) : own_.end();
    return found == own_.end() ? nullptr : found->second;
  }
  std::optional<std::int64_t> shift(const Value &value) const {
    const auto found = value.is_local() ? shifts_.find(value.id()) : shifts_.end();
    return found == shifts_.end() || value.type() != loop_.type ? std::nullopt : std::optional(found->second);
  }

  // Whether the value is computed from parameters, extents and values from before the loop.
  bool is_same_for_all(const Value &value) const {
    if (!value.is_local() || (value.id() != loop_.index && !own_.contains(value.id()))) return true;
    const Let *let = definition(value);
    if (!let) return false;
    switch (let->value.op) {
      case Op::Extent:
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Min:
      case Op::Max:
      case Op::Copy:
      case Op::Cast:
        for (const Value &operand : let->value.operands)
          if (!is_same_for_all(operand)) return false;
        return true;
      default: return false;
    }
  }

  void read(const Let &let) {
    const std::vector<Value> &of = let.value.operands;
    if (let.value.type != loop_.type || of.size() != 2) return;
    const auto moves = [&](const Value &value) { return value.is_local() && moved_.contains(value.id()); };
    for (const auto &[index, other] : {std::pair{of[0], of[1]}, {of[1], of[0]}}) {
      const auto known = shift(index);
      if (!known) continue;
      const bool constant = other.is_constant();
      if (constant && (let.value.op == Op::Add || (let.value.op == Op::Sub && index == of[0]))) {
        shifts_.emplace(let.local, *known + (let.value.op == Op::Add ? other.as_int() : -other.as_int()));
        if (moves(index)) moved_.insert(let.local);
      } else if ((let.value.op == Op::Min || let.value.op == Op::Max) && is_same_for_all(other)) {
        shifts_.emplace(let.local, *known);
        moved_.insert(let.local);
        clamps_.emplace(let.local, Clamp{let.value.op, other, *known, index});
      } else {
        continue;
      }
      return;
    }
  }

  const For &loop_;
  std::map<LocalId, const Let *> own_;      // definitions in the body; null unless by one of its Lets
  std::map<LocalId, std::int64_t> shifts_;  // the index plus a constant, inside all clamps
  std::set<LocalId> moved_;                 // the clamped ones
  std::map<LocalId, Clamp> clamps_;
};

// Whether the body computes floating-point functions, which may round differently in a vector.
bool calls_functions(const Block &body) {
  bool found = false;
  for_each_statement(body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    found = found || (let && info(let->value.op).typing == Typing::Floating);
  });
  return found;
}

// In 64 bits, so that nothing overflows.
Value wide(const Value &value, Builder &build) { return build.cast(ScalarType::Int64, value); }
Value number(std::int64_t value) { return Value::constant(ScalarType::Int64, value); }

// A thread loop's interior is from `first` to `last`, edges are before and behind. 64-bit integers.
struct Parts {
  Value begin, first, last, end;
};

// Makes the interior smaller, so that it begins and ends between two vectors.
Parts between_vectors(const Parts &of, std::int64_t lanes, Builder &build) {
  const auto vectors = [&](const Value &instances) { return build(Op::And, {instances, number(-lanes)}); };
  const Value before = build(Op::Sub, {of.first, of.begin}), count = build(Op::Sub, {of.last, of.begin});
  const Value all_before = vectors(build(Op::Add, {before, number(lanes - 1)}));
  const Value first = build(Op::Min, {build(Op::Add, {of.begin, all_before}), of.end});
  const Value last = build(Op::Max, {build(Op::Add, {of.begin, vectors(count)}), first});
  return {of.begin, first, last, of.end};
}

class EdgeSplitter {
 public:
  explicit EdgeSplitter(Kernel &kernel) : kernel_(kernel) {}

  // Replaces the loop, the only one of its block.
  void split(Block &block, std::size_t at) {
    const Stmt whole = block[at];
    const For loop = *whole.as<For>();
    const Body body(loop);
    if (body.clamps().empty() || !body.indexes_rows()) return;

    Builder build(kernel_.local_count);
    build.at(whole.where());
    const Value begin = wide(loop.begin, build), end = build(Op::Max, {wide(loop.end, build), begin});
    Value first = begin, last = end;
    for (const auto &[local, clamp] : body.clamps()) {
      const Value bound = build(Op::Sub, {wide(body.outside(clamp.bound, build), build), number(clamp.shift)});
      if (clamp.op == Op::Max)
        first = build(Op::Max, {first, bound});
      else
        last = build(Op::Min, {last, build(Op::Add, {bound, number(1)})});
    }
    first = build(Op::Min, {first, end});
    last = build(Op::Max, {build(Op::Min, {last, end}), first});
    Parts parts{begin, first, last, end};
    const bool in_vectors = body.only_loads_rows();
    if (in_vectors) parts = between_vectors(parts, instances_of_vectors(loop.body), build);
    For inside = loop;
    inside.begin = build.cast(loop.type, parts.first);
    inside.end = build.cast(loop.type, parts.last);
    For at_edges = in_vectors ? edges_in_vectors(loop, parts, build) : edges_one_by_one(loop, parts, build);
    kernel_.local_count = build.local_count();
    Block made = build.take();

    inside.body = without_clamps(loop, body);
    inside.index = names_.at(loop.index);
    made.emplace_back(std::move(inside), whole.where());
    made.emplace_back(std::move(at_edges), whole.where());
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), made.begin(), made.end());
  }

 private:
  // One edge after the other, each as a thread loop.
  static For edges_in_vectors(const For &loop, const Parts &parts, Builder &build) {
    const auto own = [&](const Value &value) { return build.cast(loop.type, value); };
    const Value begin = own(parts.begin), first = own(parts.first), last = own(parts.last), end = own(parts.end);
    For edges = loop;
    edges.index = build.new_local();
    edges.begin = Value::zero(loop.type);
    edges.end = Value::constant(loop.type, std::int64_t{2});
    edges.kind = LoopKind::Block;
    Block outer = build.open();
    const Value before = build(Op::Equal, {Value::local(loop.type, edges.index), Value::zero(loop.type)});
    For edge = loop;
    edge.begin = build.select(before, begin, last);
    edge.end = build.select(before, first, end);
    build.append({std::move(edge), build.where()});
    edges.body = build.close(std::move(outer));
    return edges;
  }

  // Runs the instances of both edges one after another, if clamped indices do more than load from rows.
  static For edges_one_by_one(const For &loop, const Parts &parts, Builder &build) {
    const auto own = [&](const Value &value) { return build.cast(loop.type, value); };
    const Value before = build(Op::Sub, {parts.first, parts.begin}),
                count = build(Op::Add, {before, build(Op::Sub, {parts.end, parts.last})}), number_before = own(before),
                behind = own(build(Op::Sub, {parts.last, before}));
    For edges = loop;
    edges.index = build.new_local();
    edges.begin = Value::zero(loop.type);
    edges.end = own(count);
    if (!calls_functions(loop.body)) edges.kind = LoopKind::Block;
    Block outer = build.open();
    const Value edge = Value::local(loop.type, edges.index);
    const Value index = build.select(build(Op::Less, {edge, number_before}), build(Op::Add, {loop.begin, edge}),
                                     build(Op::Add, {behind, edge}));
    build.append({Let{loop.index, {Op::Copy, loop.type, {index}}}, build.where()});
    for (const Stmt &stmt : loop.body) build.append(stmt);
    edges.body = build.close(std::move(outer));
    return edges;
  }

  // A copy of the body, with new names.
  Block without_clamps(const For &loop, const Body &body) {
    const auto name = [&](LocalId local) {
      const auto [found, fresh] = names_.try_emplace(local, kernel_.local_count);
      if (fresh) ++kernel_.local_count;
      return found->second;
    };
    std::map<LocalArrayId, LocalArrayId> arrays;
    name(loop.index);
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) { name(local); });
      if (const For *inner = stmt.as<For>()) name(inner->index);
      if (const Allocate *allocate = stmt.as<Allocate>()) arrays.emplace(allocate->array, kernel_.local_array_count++);
    });
    const std::function<Value(const Value &)> value = [&](const Value &of) -> Value {
      if (!of.is_local()) return of;
      if (const auto clamp = body.clamps().find(of.id()); clamp != body.clamps().end())
        return value(clamp->second.shifted);
      const auto renamed = names_.find(of.id());
      return renamed == names_.end() ? of : Value::local(of.type(), renamed->second);
    };
    const auto renamed_array = [&](LocalArrayId array) {
      const auto found = arrays.find(array);
      return found == arrays.end() ? array : found->second;
    };
    const auto statement = [&](const Stmt &stmt, Stmt renamed) {
      const Let *let = stmt.as<Let>();
      return let && body.clamps().contains(let->local) ? Block{} : Block{std::move(renamed)};
    };
    return renamed(loop.body, {value, [&](LocalId local) { return names_.contains(local) ? names_.at(local) : local; },
                               renamed_array, statement});
  }

  Kernel &kernel_;
  std::map<LocalId, LocalId> names_;  // of the copy
};

// The thread loop is directly inside the loops over the launch.
Block with_edges_apart(Kernel &kernel, Block block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const For *loop = block[i].as<For>();
    if (!loop || loop->kind == LoopKind::Serial) continue;
    if (loop->kind == LoopKind::Thread) {
      EdgeSplitter(kernel).split(block, i);
      return block;
    }
    For around = *loop;
    around.body = with_edges_apart(kernel, std::move(around.body));
    block[i] = Stmt(std::move(around), block[i].where());
  }
  return block;
}

}  // namespace

Kernel clamped_edges(Kernel lowered) {
  if (is_tile_kernel(lowered) || lowered.scheduled) return lowered;
  int thread_loops = 0;
  std::size_t statements = 0;
  bool plain = true;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    ++statements;
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return;
    ++thread_loops;
    plain = plain && loop->jam == 1 && loop->carried.empty() && loop->step.is_constant(1.0);
  });
  if (thread_loops != 1 || !plain || statements > most_statements) return lowered;
  lowered.body = with_edges_apart(lowered, lowered.body);
  return lowered;
}

}  // namespace samite::passes
