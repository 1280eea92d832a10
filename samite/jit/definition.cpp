#include "samite/jit/definition.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/jit/build_variant.h"
#include "samite/jit/elapsed.h"
#include "samite/jit/estimate.h"
#include "samite/jit/pipeline.h"
#include "samite/jit/target.h"
#include "samite/passes/analysis/common_writes.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/threads/lower_threads.h"

#include <chrono>
#include <functional>

namespace samite::jit {
namespace {

std::uint64_t bit(std::uint32_t parameter) { return std::uint64_t{1} << parameter; }

// The primals of gradients that are only added to, as bits.
std::uint64_t gradients_only_added_to(const ir::Kernel &adjoint) {
  std::uint64_t primals = 0;
  for (std::uint32_t array : arrays_only_added_to(adjoint)) {
    const ir::Parameter &parameter = adjoint.parameters[array];
    if (parameter.role == ir::Role::Gradient) primals |= bit(parameter.primal);
  }
  return primals;
}

// Turns a derivative into a kernel that can be launched and differentiated.
ir::Kernel as_kernel(ir::Kernel derivative, bool distinct) {
  // As a kernel, it has no forward run: `load afterwards` becomes a plain load.
  passes::Renaming plain_loads{std::identity{}, std::identity{}, std::identity{}};
  plain_loads.statement = [](const ir::Stmt &, const ir::Stmt &stmt) -> ir::Block {
    auto *let = stmt.as<ir::Let>();
    if (!let || let->value.op != ir::Op::Load) return {stmt};
    ir::Let load = *let;
    load.value.attribute = 0;
    return {{std::move(load), stmt.where()}};
  };
  derivative.body = passes::renamed(derivative.body, plain_loads);

  for (ir::Parameter &parameter : derivative.parameters) {
    if (parameter.role != ir::Role::Gradient) continue;
    parameter.role = ir::Role::Primal;
    parameter.primal = 0;
    parameter.distinct = distinct;
  }
  return derivative;
}

// An index in a warning: its number, or a placeholder if it is unknown.
std::string element_text(const ir::Kernel &kernel, const passes::CommonWrite &write) {
  std::string indices;
  for (const ir::Value &index : write.indices)
    indices += (indices.empty() ? "" : ", ") + (index.is_constant() ? std::to_string(index.as_int()) : "…");
  return kernel.parameters[write.array].name + "(" + indices + ")";
}

// Warns of the first one; empty if there is none.
std::string warning_of_common_writes(const ir::Kernel &kernel) {
  const std::vector<passes::CommonWrite> writes = passes::common_writes(kernel);
  if (writes.empty()) return "";
  const std::string element = element_text(kernel, writes[0]);
  const bool tiles = ir::is_tile_kernel(kernel);
  const std::string who = tiles ? "block" : "instance";
  return writes[0].where.to_string() + ": kernel '" + kernel.name + "': every " + who + " of the launch writes " +
         element + " of array '" + kernel.parameters[writes[0].array].name + "', in no order: use " +
         (tiles ? "tile::atomic_add" : "atomic_add(" + element + ", …)") + ", or launch one " + who;
}

}  // namespace

KernelDefinition::KernelDefinition(ir::Kernel captured)
    : KernelDefinition(Structured{structure(std::move(captured))}) {}

KernelDefinition::KernelDefinition(OfSchedule of) : KernelDefinition(Structured{verified(std::move(of.kernel))}) {}

KernelDefinition::~KernelDefinition() = default;

KernelDefinition::KernelDefinition(Structured structured)
    : structured_(std::move(structured.kernel)), forward_(inline_primals(structured_)) {
  if (structured_.parameters.size() > maximum_parameters)
    throw UserError(structured_.where, "kernel '" + structured_.name + "' has " +
                                           std::to_string(structured_.parameters.size()) +
                                           " parameters; at most 64 are possible, so put several values into an array");
  ir::for_each_statement(forward_.body, [&](const ir::Stmt &stmt) {
    if (auto array = ir::array_written(stmt)) written_ |= bit(*array);
  });
  for (std::uint32_t array : arrays_only_added_to(forward_)) summed_ |= bit(array);
  for (std::uint32_t i = 0; i < parameters().size(); ++i)
    if (parameters()[i].distinct) distinct_ |= bit(i);
  cost_ = cost_of(forward_);
  // Several blocks of a schedule may compute the same element: they write the same value.
  if (!structured_.scheduled) common_write_ = warning_of_common_writes(forward_);
  find_narrow_indices();
  if (!ir::is_tile_kernel(structured_) && !structured_.scheduled)
    certain_accesses_ = passes::certain_accesses(structured_);
  for (int d = 0; d < structured_.launch_rank; ++d)
    if (passes::counts_in_i32(forward_, d)) narrow_dimensions_ |= bit(static_cast<std::uint32_t>(d));
}

// The index of a whole tile has the array's width (passes/tiles/widen_tile_origins.h).
void KernelDefinition::find_narrow_indices() {
  narrow_indices_.resize(parameters().size());
  ir::for_each_statement(structured_.body, [&](const ir::Stmt &stmt) {
    auto note = [&](std::uint32_t array, std::span<const ir::Value> indices, const ir::Type &type) {
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const ir::Value &index = indices[d];
        if (index.is_constant() || index.type().element() != ScalarType::Int32) continue;
        if (type.is_tile() && !index.type().is_tile()) continue;
        narrow_indices_[array].indexed[d] = stmt.where();
      }
    };
    if (auto *store = stmt.as<ir::Store>()) note(store->array, store->indices, store->value.type());
    if (auto *add = stmt.as<ir::Accumulate>()) note(add->array, add->indices, add->value.type());
    auto *let = stmt.as<ir::Let>();
    if (!let) return;
    const ir::Typing typing = ir::info(let->value.op).typing;
    if (typing == ir::Typing::Load || typing == ir::Typing::Atomic)
      note(let->value.array, ir::element_indices(let->value), let->value.type);
    if (let->value.op == ir::Op::Extent && let->value.type == ScalarType::Int32)
      narrow_indices_[let->value.array].extent[static_cast<std::size_t>(let->value.attribute)] = stmt.where();
  });
}

void KernelDefinition::refuse_derivatives_of_schedules() const {
  if (structured_.scheduled)
    throw UserError(where(), "kernel '" + name() +
                                 "' is a step of a scheduled pipeline, which has no derivatives; write the step as a "
                                 "Kernel or TileKernel");
}

const std::vector<passes::FactorRead> &KernelDefinition::factor_reads(int capability) const {
  return factor_reads_.get(capability,
                           [&] { return passes::factor_reads(forward_, Target::of(capability).architecture()); });
}

const std::optional<passes::SplitSums> &KernelDefinition::split_sums(std::int64_t parts) const {
  return split_sums_.get(parts, [&] { return jit::split_sums(forward_, parts); });
}

const KernelDefinition::Derived &KernelDefinition::derived(std::uint64_t active, bool may_alias,
                                                           MemoryLimit memory_limit) {
  refuse_derivatives_of_schedules();
  return *derivatives_.adjoints.get({active, may_alias, memory_limit}, [&] {
    auto start = std::chrono::steady_clock::now();
    auto derived = std::make_unique<Derived>();
    derived->adjoint = derive_adjoint(structured_, flags(active), may_alias, memory_limit);
    derived->milliseconds = milliseconds_since(start);
    derived->summed = gradients_only_added_to(derived->adjoint.kernel);
    return std::unique_ptr<const Derived>(std::move(derived));
  });
}

const KernelDefinition::Gathered &KernelDefinition::Derived::gathered(passes::Gathering how) const {
  return gathers_.get(how, [&] {
    auto start = std::chrono::steady_clock::now();
    Gathered gathered{gather(adjoint.kernel, how), 0, 0};
    gathered.milliseconds = milliseconds_since(start);
    if (gathered.adjoint) gathered.summed = gradients_only_added_to(gathered.adjoint->gather);
    return gathered;
  });
}

const std::optional<ir::Kernel> &KernelDefinition::Derived::scattered(int capability) const {
  return scattered_.get(capability, [&] { return fitted(adjoint.kernel, capability); });
}

const passes::GatheredAdjoint *KernelDefinition::gathered_adjoint(std::uint64_t active, passes::Gathering how) {
  const Gathered &gathered = derived(active, false).gathered(how);
  return gathered.adjoint ? &*gathered.adjoint : nullptr;
}

const KernelDefinition::DerivedTangent &KernelDefinition::derived_tangent(std::uint64_t active) {
  refuse_derivatives_of_schedules();
  return derivatives_.tangents.get(active, [&] {
    auto start = std::chrono::steady_clock::now();
    DerivedTangent derived{derive_tangent(structured_, flags(active)), 0};
    derived.milliseconds = milliseconds_since(start);
    return derived;
  });
}

const autodiff::Activity &KernelDefinition::activity(std::uint64_t active) {
  return derivatives_.activities.get(active, [&] { return autodiff::find_activity(structured_, flags(active)); });
}

std::shared_ptr<KernelDefinition> KernelDefinition::adjoint_kernel(std::uint64_t active) {
  return derivatives_.adjoint_kernels.get(
      active, [&] { return std::make_shared<KernelDefinition>(as_kernel(adjoint(active, false).kernel, true)); });
}

std::shared_ptr<KernelDefinition> KernelDefinition::tangent_kernel(std::uint64_t active) {
  return derivatives_.tangent_kernels.get(
      active, [&] { return std::make_shared<KernelDefinition>(as_kernel(tangent(active).kernel, false)); });
}

KernelDefinition::Noting KernelDefinition::noting_adjoint(std::uint64_t active, bool may_alias) const {
  refuse_derivatives_of_schedules();
  Noting noting;
  autodiff::Adjoint adjoint = autodiff::derive_noting_adjoint(structured_, flags(active), may_alias, noting.notes);
  noting.kernel = std::make_shared<KernelDefinition>(as_kernel(std::move(adjoint.kernel), false));
  return noting;
}

std::vector<bool> KernelDefinition::flags(std::uint64_t active) const {
  std::vector<bool> flags(parameters().size());
  for (std::uint32_t i = 0; i < flags.size(); ++i) flags[i] = (active & bit(i)) != 0;
  return flags;
}

const std::shared_ptr<const Variant> &KernelDefinition::variant(const VariantKey &key) {
  return variants_.get(key, [&] { return build_variant(*this, key); });
}

}  // namespace samite::jit
