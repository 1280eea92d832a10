#include "samite/autodiff/activity.h"

#include "samite/ir/visit.h"

namespace samite::autodiff {
namespace {

using namespace ir;

// A set of nodes that grows along edges from node to node.
class Reach {
 public:
  explicit Reach(std::size_t nodes) : in_(nodes), edges_(nodes) {}

  std::size_t add_node() {
    in_.push_back(false);
    edges_.emplace_back();
    return in_.size() - 1;
  }
  void add_edge(std::size_t from, std::size_t to) { edges_[from].push_back(to); }
  void add(std::size_t node) {
    if (in_[node]) return;
    in_[node] = true;
    open_.push_back(node);
  }
  // Follows each edge once, in any order of the statements and through loop-carried values.
  void grow() {
    while (!open_.empty()) {
      const std::size_t node = open_.back();
      open_.pop_back();
      for (std::size_t next : edges_[node]) add(next);
    }
  }
  bool operator[](std::size_t node) const { return in_[node]; }

 private:
  std::vector<bool> in_;
  std::vector<std::vector<std::size_t>> edges_;
  std::vector<std::size_t> open_;
};

// The nodes of both sets are the locals, then the local arrays (each for all its elements), then further nodes.
class Analysis {
 public:
  Analysis(const Kernel &kernel, const std::vector<bool> &active_array)
      : kernel_(kernel),
        active_array_(active_array),
        varied_(std::size_t{kernel.local_count} + kernel.local_array_count),
        useful_(std::size_t{kernel.local_count} + kernel.local_array_count) {}

  Activity run() {
    Activity activity;
    for_each_primal_statement(kernel_.body, [&](const Stmt &stmt) { read(stmt, activity); });
    varied_.grow();
    useful_.grow();
    for (LocalId i = 0; i < kernel_.local_count; ++i) {
      activity.varied.push_back(varied_[i]);
      activity.local.push_back(varied_[i] && useful_[i]);
    }
    for (LocalArrayId i = 0; i < kernel_.local_array_count; ++i)
      activity.local_array.push_back(varied_[node(i)] && useful_[node(i)]);
    find_passive_arrays(activity);
    return activity;
  }

 private:
  static bool carries(const Value &value) { return value.is_local() && is_floating(value.type()); }
  static bool holds(const Reach &set, const Value &value) { return carries(value) && set[value.id()]; }
  // The result comes from an array parameter, regardless of the operands.
  static bool is_memory(Op op) {
    Typing typing = info(op).typing;
    return typing == Typing::Load || typing == Typing::Atomic;
  }
  std::size_t node(LocalArrayId array) const { return std::size_t{kernel_.local_count} + array; }

  // `to` is computed from `from`.
  void flows(const Value &from, std::size_t to) {
    if (!carries(from)) return;
    varied_.add_edge(from.id(), to);
    useful_.add_edge(to, from.id());
  }

  void find_passive_arrays(Activity &activity) const {
    activity.loses.resize(kernel_.parameters.size());
    activity.read_for_output.resize(kernel_.parameters.size());
    for_each_primal_statement(kernel_.body, [&](const Stmt &stmt) {
      if (auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Atomic) {
        if (active_array_[let->value.array] || !is_floating(let->value.type)) return;
        for (const Value &value : element_values(let->value))
          if (holds(varied_, value)) activity.loses[let->value.array] = true;
        if (useful_[let->local]) activity.read_for_output[let->value.array] = true;
      } else if (auto *store = stmt.as<Store>()) {
        if (!active_array_[store->array] && holds(varied_, store->value)) activity.loses[store->array] = true;
      } else if (auto *accumulate = stmt.as<Accumulate>()) {
        if (!active_array_[accumulate->array] && holds(varied_, accumulate->value))
          activity.loses[accumulate->array] = true;
      } else if (auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Load) {
        bool passive = is_floating(let->value.type) && !active_array_[let->value.array];
        if (passive && useful_[let->local]) activity.read_for_output[let->value.array] = true;
      }
    });
  }

  // That makes its results depend on the array.
  bool adds_to_active_gradient(const CustomAdjoint &custom) const {
    bool found = false;
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) {
      auto *accumulate = stmt.as<Accumulate>();
      found = found || (accumulate && accumulate->of_gradient && active_array_[accumulate->array]);
    });
    return found;
  }

  void read(const Stmt &stmt, Activity &activity) {
    auto carried = [&](const std::vector<Carried> &values) {
      for (const Carried &value : values) {
        flows(value.initial, value.inner);
        flows(value.next, value.inner);
        flows(Value::local(value.type, value.inner), value.result);
      }
    };
    auto written = [&](std::uint32_t array, const Value &value) {
      if (!active_array_[array]) return;
      activity.reaches_output = true;
      if (carries(value)) useful_.add(value.id());
    };
    visit(
        stmt, [&](const Let &let) { read(let, activity); },
        [&](const Store &store) { written(store.array, store.value); },
        [&](const LocalStore &store) { flows(store.value, node(store.array)); },
        [&](const Accumulate &accumulate) { written(accumulate.array, accumulate.value); },
        [&](const If &branch) {
          for (const BranchResult &result : branch.results)
            flows(result.then_value, result.local), flows(result.else_value, result.local);
        },
        [&](const For &loop) { carried(loop.carried); }, [&](const While &loop) { carried(loop.carried); },
        [&](const CustomAdjoint &custom) { read(custom); }, [](const auto &) {});
  }

  void read(const Let &let, Activity &activity) {
    const Operation &operation = let.value;
    if (is_memory(operation.op)) {
      // An exchange stores zero, which depends on nothing, but the gradient of the element ends here.
      if (operation.op == Op::Exchange && active_array_[operation.array]) activity.reaches_output = true;
      if (is_floating(operation.type) && active_array_[operation.array]) varied_.add(let.local);
      return;
    }
    if (!is_floating(operation.type)) return;
    if (operation.op == Op::LocalLoad) {
      varied_.add_edge(node(operation.array), let.local);
      useful_.add_edge(let.local, node(operation.array));
    }
    for (const Value &operand : operation.operands) {
      if (operation.op != Op::StopGradient)
        flows(operand, let.local);
      else if (carries(operand))
        useful_.add_edge(let.local, operand.id());
    }
  }

  void read(const CustomAdjoint &custom) {
    const std::size_t varied = varied_.add_node(), useful = useful_.add_node();
    if (adds_to_active_gradient(custom)) varied_.add(varied);
    for (const CustomOperand &each : custom.operands) {
      if (!carries(each.operand)) continue;
      varied_.add_edge(each.operand.id(), varied);
      varied_.add_edge(each.operand.id(), each.inner);
      useful_.add_edge(useful, each.operand.id());
    }
    // A value may depend on an active array in a way that no operand shows. refusal.h refuses that later.
    for (const CustomResult &result : custom.results) {
      if (!is_floating(result.type)) continue;
      varied_.add_edge(varied, result.local);
      if (carries(result.value)) varied_.add_edge(result.value.id(), result.local);
      useful_.add_edge(result.local, useful);
    }
  }

  const Kernel &kernel_;
  const std::vector<bool> &active_array_;
  Reach varied_, useful_;
};

}  // namespace

Activity find_activity(const Kernel &structured, const std::vector<bool> &active_array) {
  return Analysis(structured, active_array).run();
}

}  // namespace samite::autodiff
