#include "samite/autodiff/activity.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <ranges>

namespace samite::autodiff {
namespace {

using namespace ir;

class Analysis {
 public:
  Analysis(const Kernel &kernel, const std::vector<bool> &active_array)
      : kernel_(kernel),
        active_array_(active_array),
        varied_(kernel.local_count),
        useful_(kernel.local_count),
        varied_array_(kernel.local_array_count),
        useful_array_(kernel.local_array_count) {}

  Activity run() {
    Activity activity;
    // Each sweep goes the way that activity does, so that one is enough where there are no loops. Loops carry activity
    // around, once for each value carried at most: repeat until nothing changes.
    do {
      changed_ = false;
      for_each_primal_statement(kernel_.body, [&](const Stmt &stmt) { forward(stmt); });
    } while (changed_);
    std::vector<const Stmt *> from_last;
    add_from_last(kernel_.body, from_last);
    do {
      changed_ = false;
      for (const Stmt *stmt : from_last) backward(*stmt, activity);
    } while (changed_);
    activity.varied = varied_;
    activity.local.resize(kernel_.local_count);
    for (LocalId i = 0; i < kernel_.local_count; ++i) activity.local[i] = varied_[i] && useful_[i];
    for (LocalArrayId i = 0; i < kernel_.local_array_count; ++i)
      activity.local_array.push_back(varied_array_[i] && useful_array_[i]);
    find_passive_arrays(activity);
    return activity;
  }

 private:
  // The statements from the last to the first, each before those in its blocks: what asks for a value comes before what
  // computes it.
  static void add_from_last(const Block &block, std::vector<const Stmt *> &order) {
    for (const Stmt &stmt : std::views::reverse(block)) {
      order.push_back(&stmt);
      if (auto *branch = stmt.as<If>()) {
        add_from_last(branch->else_block, order);
        add_from_last(branch->then_block, order);
      } else if (auto *loop = stmt.as<For>()) {
        add_from_last(loop->body, order);
      } else if (auto *loop = stmt.as<While>()) {
        add_from_last(loop->body, order);
        add_from_last(loop->condition_block, order);
      } else if (auto *custom = stmt.as<CustomAdjoint>()) {
        add_from_last(custom->primal, order);
      }
    }
  }

  static bool holds(const std::vector<bool> &set, const Value &value) {
    return value.is_local() && is_floating(value.type()) && set[value.id()];
  }
  // The result comes from an array parameter, whatever the operands are.
  static bool is_memory(Op op) {
    Typing typing = info(op).typing;
    return typing == Typing::Load || typing == Typing::Atomic;
  }
  void mark(std::vector<bool> &set, LocalId local) {
    if (!set[local]) set[local] = changed_ = true;
  }
  void mark(std::vector<bool> &set, const Value &value) {
    if (value.is_local() && is_floating(value.type())) mark(set, value.id());
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

  void forward(const Stmt &stmt) {
    auto carried = [&](const std::vector<Carried> &values) {
      for (const Carried &value : values)
        if (holds(varied_, value.initial) || holds(varied_, value.next) || varied_[value.inner])
          mark(varied_, value.inner), mark(varied_, value.result);
    };
    visit(
        stmt,
        [&](const Let &let) {
          if (!is_floating(let.value.type)) return;
          if (is_memory(let.value.op)) {
            if (active_array_[let.value.array]) mark(varied_, let.local);
            return;
          }
          if (let.value.op == Op::LocalLoad && varied_array_[let.value.array]) mark(varied_, let.local);
          if (let.value.op == Op::StopGradient) return;
          for (const Value &operand : let.value.operands)
            if (holds(varied_, operand)) mark(varied_, let.local);
        },
        [&](const LocalStore &store) {
          if (holds(varied_, store.value)) mark(varied_array_, store.array);
        },
        [&](const If &branch) {
          for (const BranchResult &result : branch.results)
            if (holds(varied_, result.then_value) || holds(varied_, result.else_value)) mark(varied_, result.local);
        },
        [&](const For &loop) { carried(loop.carried); }, [&](const While &loop) { carried(loop.carried); },
        [&](const CustomAdjoint &custom) {
          bool varied = adds_to_active_gradient(custom);
          for (const CustomOperand &each : custom.operands) {
            if (!holds(varied_, each.operand)) continue;
            varied = true;
            mark(varied_, each.inner);
          }
          // What depends on an active array by a way that no operand shows is refused later; see refusal.h.
          for (const CustomResult &result : custom.results)
            if (varied || holds(varied_, result.value)) mark(varied_, result.local);
        },
        [](const auto &) {});
  }

  // Which makes its results depend on the array.
  bool adds_to_active_gradient(const CustomAdjoint &custom) const {
    bool found = false;
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) {
      auto *accumulate = stmt.as<Accumulate>();
      found = found || (accumulate && accumulate->of_gradient && active_array_[accumulate->array]);
    });
    return found;
  }

  void backward(const Stmt &stmt, Activity &activity) {
    auto carried = [&](const std::vector<Carried> &values) {
      for (const Carried &value : values)
        if (useful_[value.result] || useful_[value.inner])
          mark(useful_, value.inner), mark(useful_, value.initial), mark(useful_, value.next);
    };
    auto written = [&](std::uint32_t array, const Value &value) {
      if (!active_array_[array]) return;
      activity.reaches_output = true;
      mark(useful_, value);
    };
    visit(
        stmt,
        [&](const Let &let) {
          // It leaves zero, which nothing flows into; still the gradient of what it leaves ends here.
          if (let.value.op == Op::Exchange && active_array_[let.value.array]) activity.reaches_output = true;
          if (!useful_[let.local] || is_memory(let.value.op)) return;
          if (let.value.op == Op::LocalLoad) mark(useful_array_, let.value.array);
          for (const Value &operand : let.value.operands) mark(useful_, operand);
        },
        [&](const Store &store) { written(store.array, store.value); },
        [&](const LocalStore &store) {
          if (useful_array_[store.array]) mark(useful_, store.value);
        },
        [&](const Accumulate &accumulate) { written(accumulate.array, accumulate.value); },
        [&](const If &branch) {
          for (const BranchResult &result : branch.results)
            if (useful_[result.local]) mark(useful_, result.then_value), mark(useful_, result.else_value);
        },
        [&](const For &loop) { carried(loop.carried); }, [&](const While &loop) { carried(loop.carried); },
        [&](const CustomAdjoint &custom) {
          bool useful = std::any_of(custom.results.begin(), custom.results.end(),
                                    [&](const CustomResult &result) { return useful_[result.local]; });
          for (const CustomOperand &each : custom.operands)
            if (useful) mark(useful_, each.operand);
        },
        [](const auto &) {});
  }

  const Kernel &kernel_;
  const std::vector<bool> &active_array_;
  std::vector<bool> varied_, useful_;
  std::vector<bool> varied_array_, useful_array_;  // by local array: any element of it
  bool changed_ = false;
};

}  // namespace

Activity find_activity(const Kernel &structured, const std::vector<bool> &active_array) {
  return Analysis(structured, active_array).run();
}

}  // namespace samite::autodiff
