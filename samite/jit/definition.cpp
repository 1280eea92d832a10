#include "samite/jit/definition.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/jit/estimate.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/lower_threads.h"

#include <algorithm>
#include <chrono>

namespace samite::jit {
namespace {

std::uint64_t bit(std::uint32_t parameter) { return std::uint64_t{1} << parameter; }

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

KernelDefinition::KernelDefinition(ir::Kernel captured) : structured_(structure(std::move(captured))) {
  if (structured_.parameters.size() > 64)
    throw UserError(structured_.where, "kernel '" + structured_.name + "' has " +
                                           std::to_string(structured_.parameters.size()) +
                                           " parameters; at most 64 are possible, so put several values into an array");
  ir::for_each_statement(structured_.body, [&](const ir::Stmt &stmt) {
    if (auto *store = stmt.as<ir::Store>()) written_ |= bit(store->array);
    if (auto *accumulate = stmt.as<ir::Accumulate>()) written_ |= bit(accumulate->array);
  });
  for (std::uint32_t array : arrays_only_added_to(structured_)) summed_ |= bit(array);
  cost_ = cost_of(structured_);
  for (int d = 0; d < structured_.launch_rank; ++d)
    if (passes::counts_in_i32(structured_, d)) narrow_dimensions_ |= bit(static_cast<std::uint32_t>(d));
}

KernelDefinition::AdjointSlot &KernelDefinition::adjoint_slot(std::uint64_t active, bool may_alias) {
  AdjointSlot *slot = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto found = std::find_if(adjoints_.begin(), adjoints_.end(), [&](const auto &known) {
      return known->active == active && known->may_alias == may_alias;
    });
    if (found == adjoints_.end()) {
      found = adjoints_.insert(found, std::make_unique<AdjointSlot>());
      (*found)->active = active, (*found)->may_alias = may_alias;
    }
    slot = found->get();
  }
  // An exception leaves the slot as it was: the next call tries again.
  std::lock_guard lock(slot->deriving);
  if (!slot->derived) {
    auto start = std::chrono::steady_clock::now();
    slot->adjoint = derive_adjoint(structured_, flags(active), may_alias);
    slot->milliseconds = milliseconds_since(start);
    for (std::uint32_t array : arrays_only_added_to(slot->adjoint.kernel)) {
      const ir::Parameter &parameter = slot->adjoint.kernel.parameters[array];
      if (parameter.role == ir::Role::Gradient) slot->summed |= bit(parameter.primal);
    }
    slot->derived = true;
  }
  return *slot;
}

KernelDefinition::TangentSlot &KernelDefinition::tangent_slot(std::uint64_t active) {
  TangentSlot *slot = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto found =
        std::find_if(tangents_.begin(), tangents_.end(), [&](const auto &known) { return known->active == active; });
    if (found == tangents_.end()) {
      found = tangents_.insert(found, std::make_unique<TangentSlot>());
      (*found)->active = active;
    }
    slot = found->get();
  }
  std::lock_guard lock(slot->deriving);
  if (!slot->derived) {
    auto start = std::chrono::steady_clock::now();
    slot->tangent = derive_tangent(structured_, flags(active));
    slot->milliseconds = milliseconds_since(start);
    slot->derived = true;
  }
  return *slot;
}

std::vector<bool> KernelDefinition::flags(std::uint64_t active) const {
  std::vector<bool> flags(parameters().size());
  for (std::uint32_t i = 0; i < flags.size(); ++i) flags[i] = (active & bit(i)) != 0;
  return flags;
}

std::shared_ptr<const Variant> KernelDefinition::variant(const VariantKey &key) {
  Slot *slot = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (auto &known : slots_) {
      if (!(known->key == key)) continue;
      slot = known.get();
      break;
    }
    if (!slot) {
      slots_.push_back(std::make_unique<Slot>());
      slot = slots_.back().get();
      slot->key = key;
    }
  }
  std::lock_guard building(slot->building);
  if (!slot->variant) {
    auto built = build_variant(*this, key);
    std::lock_guard lock(mutex_);
    slot->variant = std::move(built);
  }
  return slot->variant;
}

std::vector<std::shared_ptr<const Variant>> KernelDefinition::variants() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Variant>> compiled;
  for (auto &slot : slots_)
    if (slot->variant) compiled.push_back(slot->variant);
  return compiled;
}

}  // namespace samite::jit
