#include "samite/autodiff/refusal.h"

#include "samite/autodiff/activity.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"

#include <optional>

namespace samite::autodiff {
namespace {

using namespace ir;

std::string opening(const Kernel &primal) { return "the adjoint of kernel '" + primal.name + "' "; }

struct ArrayAccess {
  const std::vector<Value> *indices;
  Type element;  // a scalar or a tile
  SourceLocation where;
};

struct AccessPair {
  std::optional<ArrayAccess> read, write;
};

// For one array: its first read, and the first write whose indices differ from those of some read.
AccessPair differing_accesses(const Kernel &kernel, std::uint32_t array) {
  std::vector<ArrayAccess> reads, writes;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *let = stmt.as<Let>()) {
      if (info(let->value.op).typing != Typing::Load || let->value.array != array) return;
      reads.push_back({&let->value.operands, let->value.type, stmt.where()});
      if (let->value.op == Op::Exchange) writes.push_back(reads.back());
    } else if (auto *store = stmt.as<Store>()) {
      if (store->array == array) writes.push_back({&store->indices, store->value.type(), stmt.where()});
    } else if (auto *accumulate = stmt.as<Accumulate>()) {
      if (accumulate->array == array) writes.push_back({&accumulate->indices, accumulate->value.type(), stmt.where()});
    }
  });
  for (const ArrayAccess &read : reads)
    for (const ArrayAccess &write : writes)
      if (*read.indices != *write.indices || read.element != write.element) return {read, write};
  return {};
}

bool writes(const Stmt &stmt, std::uint32_t array) { return array_written(stmt) == array; }

// The first read of `array` after a write to `target`, in program order or in a later iteration of a loop around both.
// `written` becomes the first write, if there is one.
std::optional<SourceLocation> read_after_write(const Block &block, std::uint32_t array, std::uint32_t target,
                                               SourceLocation &written) {
  for (const Stmt &stmt : block) {
    auto inside = [&](std::initializer_list<const Block *> blocks, bool repeats) -> std::optional<SourceLocation> {
      for (int pass = 0; pass < (repeats ? 2 : 1); ++pass)
        for (const Block *nested : blocks)
          if (auto late = read_after_write(*nested, array, target, written)) return late;
      return std::nullopt;
    };
    std::optional<SourceLocation> late;
    if (auto *branch = stmt.as<If>()) {
      // Only one side runs: a write in one is not before a read in the other.
      SourceLocation in_then = written, in_else = written;
      late = read_after_write(branch->then_block, array, target, in_then);
      if (!late) late = read_after_write(branch->else_block, array, target, in_else);
      written = in_then.known() ? in_then : in_else;
    } else if (auto *loop = stmt.as<For>()) {
      late = inside({&loop->body}, true);
    } else if (auto *loop = stmt.as<While>()) {
      late = inside({&loop->condition_block, &loop->body}, true);
    } else {
      // An exchange reads before it writes.
      auto *let = stmt.as<Let>();
      if (let && info(let->value.op).typing == Typing::Load && let->value.array == array && written.known())
        late = stmt.where();
      if (writes(stmt, target) && !written.known()) written = stmt.where();
    }
    if (late) return late;
  }
  return std::nullopt;
}

}  // namespace

bool reads_before(const Operation &operation, const Kernel &adjoint) {
  return operation.op == Op::Load && (operation.attribute & load_afterwards) == 0 &&
         adjoint.parameters[operation.array].role == Role::Primal;
}

namespace {

// By parameter: whether `adjoint` reads elements of it.
std::vector<bool> arrays_needed(const Kernel &primal, const Kernel &adjoint) {
  std::vector<bool> needed(primal.parameters.size());
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && reads_before(let->value, adjoint)) needed[let->value.array] = true;
  });
  return needed;
}

}  // namespace

std::optional<LateRead> late_read(const Kernel &primal, std::uint32_t read, std::uint32_t written) {
  SourceLocation place;
  auto late = read_after_write(primal.body, read, written, place);
  if (!late) return std::nullopt;
  return LateRead{*late, place};
}

std::vector<std::uint32_t> overwritten_values(const Kernel &primal, const Kernel &adjoint) {
  const std::vector<bool> needed = arrays_needed(primal, adjoint);
  std::vector<bool> overwritten(needed.size());
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    if (auto array = array_written(stmt)) overwritten[*array] = true;
  });
  std::vector<std::uint32_t> arrays;
  for (std::uint32_t array = 0; array < overwritten.size(); ++array)
    if (needed[array] && overwritten[array]) arrays.push_back(array);
  return arrays;
}

std::vector<bool> values_read_late(const Kernel &primal, const Kernel &adjoint) {
  std::vector<bool> late = arrays_needed(primal, adjoint);
  for (std::uint32_t array = 0; array < late.size(); ++array) {
    SourceLocation written;
    late[array] = late[array] && read_after_write(primal.body, array, array, written);
  }
  return late;
}

void refuse_values_read_late(const Kernel &primal, const std::vector<bool> &late) {
  for (std::uint32_t array = 0; array < late.size(); ++array) {
    if (!late[array]) continue;
    SourceLocation written;
    const SourceLocation read = *read_after_write(primal.body, array, array, written);
    throw UserError(read,
                    opening(primal) + "needs the element of array '" + primal.parameters[array].name +
                        "' read here, but the kernel has written to the array before (" + written.to_string() +
                        "), and other instances may have, too. Mend it by reading before writing, by writing the "
                        "result to another array, or by " +
                        (is_tile_kernel(primal)
                             ? "tiles at block_index() wherever the array is used, so that each block has a part of "
                               "its own"
                             : "an index thread_index() + constant wherever the array is used, so that each "
                               "instance has elements of its own"));
  }
}

std::vector<bool> moving_elements(const Kernel &primal, const std::vector<bool> &active) {
  std::vector<bool> moving(active.size());
  for (std::uint32_t array = 0; array < active.size(); ++array)
    moving[array] = active[array] && differing_accesses(primal, array).write;
  return moving;
}

void refuse_moving_elements(const Kernel &primal, const std::vector<bool> &moving) {
  for (std::uint32_t array = 0; array < moving.size(); ++array) {
    if (!moving[array]) continue;
    AccessPair pair = differing_accesses(primal, array);
    throw UserError(pair.write->where,
                    opening(primal) + "cannot be derived: array '" + primal.parameters[array].name +
                        "' is written here and read at another index (" + pair.read->where.to_string() + "), so one " +
                        (is_tile_kernel(primal) ? "block" : "instance") +
                        " may read what another writes. Mend it by reading from one array and writing to another" +
                        (is_tile_kernel(primal) ? ", or by tiles at block_index() wherever the array is used, no two "
                                                  "blocks of which overlap: each block then has a part of its own"
                                                : ""));
  }
}

std::vector<bool> lost_gradients(const Kernel &primal, const std::vector<bool> &active) {
  Activity activity = find_activity(primal, active);
  std::vector<bool> lost(active.size());
  for (std::uint32_t array = 0; array < active.size(); ++array)
    lost[array] = activity.loses[array] && activity.read_for_output[array];
  return lost;
}

void refuse_lost_gradients(const Kernel &primal, const std::vector<bool> &lost) {
  for (std::uint32_t array = 0; array < lost.size(); ++array) {
    if (!lost[array]) continue;
    for_each_statement(primal.body, [&](const Stmt &stmt) {
      auto *store = stmt.as<Store>();
      auto *accumulate = stmt.as<Accumulate>();
      if ((store && store->array == array) || (accumulate && accumulate->array == array))
        throw UserError(stmt.where(), opening(primal) + "would lose a gradient: it passes through array '" +
                                          primal.parameters[array].name +
                                          "', written here and read again, which tracks none. Mend it by constructing "
                                          "that buffer with Gradient::tracked");
    });
  }
}

void refuse_unordered_atomics(const Kernel &primal, const std::vector<bool> &active) {
  Activity activity = find_activity(primal, active);
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (!let || info(let->value.op).typing != Typing::Atomic) return;
    const Operation &atomic = let->value;
    if (!active[atomic.array] && !(activity.loses[atomic.array] && activity.read_for_output[atomic.array])) return;
    std::string what = std::string(info(atomic.op).name) + " on array '" + primal.parameters[atomic.array].name + "'";
    if (atomic.op == Op::AtomicAdd)
      throw UserError(stmt.where(), opening(primal) + "cannot be derived: the old value of the " + what +
                                        " is used, and it depends on the order in which the instances come. Mend it "
                                        "by leaving unused what atomic_add returns, or, where that may count as a "
                                        "constant, by a buffer without Gradient::tracked to which stop_gradient(…) of "
                                        "the value is added");
    throw UserError(stmt.where(), opening(primal) + "cannot be derived: a gradient would pass through the " + what +
                                      ", whose result depends on the order in which the instances come. Mend it with "
                                      "atomic_add, or, where the result may count as a constant, by a buffer without "
                                      "Gradient::tracked and stop_gradient(…) around the value");
  });
}

void refuse_values_changed_by_atomics(const Kernel &primal, const Kernel &adjoint) {
  std::vector<SourceLocation> changed(primal.parameters.size());
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && info(let->value.op).typing == Typing::Atomic) changed[let->value.array] = stmt.where();
  });
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto array = array_read(stmt);
    if (!array || *array >= changed.size() || !changed[*array].known()) return;
    if (auto *let = stmt.as<Let>(); let && !reads_before(let->value, adjoint)) return;
    throw UserError(stmt.where(), opening(primal) + "needs the element of array '" + primal.parameters[*array].name +
                                      "' read here, which other instances may have changed by an atomic step (" +
                                      changed[*array].to_string() +
                                      "). Mend it by a kernel of its own for the atomic steps");
  });
}

namespace {

// The atomic operation that defines the local, or empty.
std::optional<Stmt> atomic_defining(const Kernel &primal, LocalId local) {
  std::optional<Stmt> found;
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && let->local == local && info(let->value.op).typing == Typing::Atomic) found = stmt;
  });
  return found;
}

}  // namespace

std::vector<bool> old_values(const Kernel &primal) {
  std::vector<bool> old(primal.local_count);
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && info(let->value.op).typing == Typing::Atomic) old[let->local] = true;
  });
  return old;
}

void refuse_old_value(const Kernel &primal, LocalId local) {
  const std::optional<Stmt> stmt = atomic_defining(primal, local);
  internal_check(stmt.has_value(), "an old value that no atomic operation gives");
  const Operation &operation = stmt->as<Let>()->value;
  throw UserError(stmt->where(), opening(primal) + "needs the value that " + std::string(info(operation.op).name) +
                                     " on array '" + primal.parameters[operation.array].name +
                                     "' returns here. It depends on the order in which the instances come, and "
                                     "cannot be had again. Mend it by storing the value in an array, in a kernel "
                                     "of its own, and reading it back in this one; or here, by a custom_adjoint "
                                     "with a replay that reads it back");
}

void refuse_stores_in_conditions(const Kernel &primal) {
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto *loop = stmt.as<While>();
    if (!loop) return;
    std::vector<bool> own(primal.local_array_count);
    for_each_statement(loop->condition_block, [&](const Stmt &inner) {
      if (auto *allocate = inner.as<Allocate>()) own[allocate->array] = true;
      auto *store = inner.as<LocalStore>();
      if (inner.as<Store>() || inner.as<Accumulate>() || (store && !own[store->array]))
        throw UserError(inner.where(), opening(primal) + "cannot be derived: the condition of a while_ (" +
                                           stmt.where().to_string() +
                                           ") writes to an array here. Mend it by writing in the loop's body");
    });
  });
}

namespace {

// For one computation: throws if it would lose a gradient.
class HiddenOperands {
 public:
  HiddenOperands(const Kernel &kernel, const std::vector<bool> &active, const Activity &activity)
      : kernel_(kernel), active_(active), activity_(activity) {}

  void check(const CustomAdjoint &custom) {
    std::vector<bool> own(kernel_.local_count), gradient_given(active_.size());
    for (const CustomOperand &each : custom.operands) own[each.inner] = true;
    for_each_statement(custom.primal, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) { own[local] = true; });
    });
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) {
      auto *accumulate = stmt.as<Accumulate>();
      if (accumulate && accumulate->of_gradient) gradient_given[accumulate->array] = true;
    });
    for_each_statement(custom.primal, [&](const Stmt &stmt) {
      for_each_operand(stmt, [&](const Value &value) {
        if (value.is_local() && is_floating(value.type()) && !own[value.id()] && activity_.varied[value.id()])
          fail(stmt,
               "uses a value from outside of it here that carries a gradient. Mend it by passing the value as an "
               "argument, or stop_gradient(…) of it");
      });
      auto array = array_read(stmt);
      if (array && !array_written(stmt) && active_[*array] && !gradient_given[*array])
        fail(stmt, "reads array '" + kernel_.parameters[*array].name +
                       "' here, which tracks gradients, and its adjoint does not add to them. Mend it by passing the "
                       "element as an argument, or by add_to_gradient in the adjoint");
    });
    for (const Block *block : {&custom.primal, &custom.replay, &custom.adjoint})
      for_each_statement(*block, [&](const Stmt &stmt) {
        auto *accumulate = stmt.as<Accumulate>();
        auto array = array_written(stmt);
        if (array && active_[*array] && !(accumulate && accumulate->of_gradient))
          fail(stmt, "writes to array '" + kernel_.parameters[*array].name +
                         "' here, which tracks gradients. Mend it by returning the value and writing it outside");
      });
  }

 private:
  [[noreturn]] void fail(const Stmt &stmt, const std::string &what) const {
    throw UserError(stmt.where(),
                    opening(kernel_) + "cannot be derived: a function with an adjoint of its own " + what);
  }

  const Kernel &kernel_;
  const std::vector<bool> &active_;
  const Activity &activity_;
};

}  // namespace

void refuse_hidden_operands(const Kernel &structured, const std::vector<bool> &active) {
  const Activity activity = find_activity(structured, active);
  for_each_statement(structured.body, [&](const Stmt &stmt) {
    auto *custom = stmt.as<CustomAdjoint>();
    if (!custom) return;
    bool differentiated = false;
    for (const CustomResult &result : custom->results) differentiated = differentiated || activity.local[result.local];
    if (differentiated) HiddenOperands(structured, active, activity).check(*custom);
  });
}

}  // namespace samite::autodiff
