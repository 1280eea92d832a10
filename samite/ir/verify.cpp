#include "samite/ir/verifier.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace samite::ir {
namespace {

constexpr int most_in_cluster = 16;

// Whether `Value` would give the same number the same bits.
bool is_canonical(const Value &constant) {
  switch (class_of(constant.type())) {
    case ScalarClass::Boolean: return constant.bits() <= 1;
    case ScalarClass::Floating: return Value::constant(constant.type(), constant.as_double()) == constant;
    default: return Value::constant(constant.type(), static_cast<std::int64_t>(constant.bits())) == constant;
  }
}

}  // namespace

void Verifier::run() {
  check_signature();
  check_block(kernel_.body);
  if (kernel_.scheduled) check_loads_ahead();
}

// A kernel whose steps have all run is as its plan says.
void Verifier::check_plan() const {
  const TilePlan &plan = kernel_.plan;
  if (plan == TilePlan()) return;
  if (!is_tile_kernel(kernel_) || kernel_.scheduled) fail("a plan of a kernel that is none of tiles");
  if (const std::string invalid = invalid_field(plan); !invalid.empty()) fail("a plan with {}", invalid);
  if (!kernel_.properties.has(Property::memory_planned)) return;
  const auto check = [&](const char *field, const TilePlan::Field &planned, int made) {
    if (planned && *planned != made) fail("a plan with {} {}, and the kernel has {}", field, *planned, made);
  };
  check("teams", plan.teams, std::max(kernel_.roles.teams, 1));
  check("cluster_blocks", plan.cluster_blocks, std::max(kernel_.grid.cluster_blocks, 1));
  if (kernel_.grid.cluster_blocks != 0)
    check("cluster_dimension", plan.cluster_dimension, kernel_.grid.cluster_dimension);
  if (plan.parts_in_cluster == 1) check("parts", plan.parts, std::max(kernel_.grid.step_parts, 1));
  check("strip_columns", plan.strip_columns, kernel_.grid.strip_columns);
}

void Verifier::check_signature() const {
  if (kernel_.launch_rank < 1 || kernel_.launch_rank > maximum_rank)
    fail("the launch has {} dimensions, expected 1 to {}", kernel_.launch_rank, maximum_rank);
  if (kernel_.block_threads < 0 || kernel_.block_threads > 1024)
    fail("a block has {} threads, expected 1 to 1024", kernel_.block_threads);
  if (kernel_.scheduled && !is_tile_kernel(kernel_)) fail("a scheduled kernel whose instances are threads");
  if (kernel_.scheduled) check_lowered("scheduled kernel");
  if (kernel_.roles.producers != 0) check_lowered("kernel whose threads have roles");
  if (kernel_.roles.producers < 0 || kernel_.roles.producers % 128 != 0 ||
      (kernel_.roles.producers != 0 &&
       (!is_tile_kernel(kernel_) || kernel_.block_threads + kernel_.roles.producers > 1024)))
    fail("{} producer threads after the {} of a block, expected groups of 128", kernel_.roles.producers,
         kernel_.block_threads);
  if (kernel_.grid.strip_columns < 0 ||
      (kernel_.grid.strip_columns != 0 && (!is_tile_kernel(kernel_) || kernel_.launch_rank < 2)))
    fail("strips of {} columns of blocks, and the launch has {} dimensions", kernel_.grid.strip_columns,
         kernel_.launch_rank);
  if (kernel_.grid.cluster_blocks != 0 && kernel_.roles.producers == 0)
    fail("a cluster of blocks whose threads have no roles");
  if (kernel_.grid.cluster_blocks != 0 &&
      (kernel_.grid.cluster_blocks < 2 || kernel_.grid.cluster_blocks > most_in_cluster ||
       kernel_.grid.cluster_dimension < 0 || kernel_.grid.cluster_dimension >= kernel_.launch_rank))
    fail("clusters of {} blocks along dimension {} of {}, expected 2 to {}", kernel_.grid.cluster_blocks,
         kernel_.grid.cluster_dimension, kernel_.launch_rank, most_in_cluster);
  if (kernel_.grid.cluster_blocks != 0 && kernel_.grid.cluster_dimension == kernel_.launch_rank - 1 &&
      kernel_.grid.strip_columns % kernel_.grid.cluster_blocks != 0)
    fail("strips of {} columns, and clusters of {} blocks along them", kernel_.grid.strip_columns,
         kernel_.grid.cluster_blocks);
  if (kernel_.roles.teams != 0 && (kernel_.roles.teams < 2 || kernel_.roles.producers == 0 ||
                                   kernel_.roles.teams * kernel_.block_threads + kernel_.roles.producers > 1024))
    fail("{} teams of {} threads, and {} producer threads", kernel_.roles.teams, kernel_.block_threads,
         kernel_.roles.producers);
  if (kernel_.grid.step_parts != 0 &&
      (kernel_.grid.step_parts < 2 || kernel_.grid.step_parts > most_in_cluster || !is_tile_kernel(kernel_) ||
       kernel_.roles.teams != 0 || kernel_.grid.cluster_blocks != 0))
    fail("split-K in {} parts, expected 2 to {}, without other clusters and without teams", kernel_.grid.step_parts,
         most_in_cluster);
  if (kernel_.roles.producers == 0 && !kernel_.roles.producing.empty()) fail("producer code without producer threads");
  check_plan();
  check_launch();
  std::unordered_set<std::string_view> names;
  for (const Parameter &parameter : kernel_.parameters) {
    if (parameter.name.empty()) fail("a parameter has no name");
    if (!names.insert(parameter.name).second) fail("two parameters are named @{}", parameter.name);
    if (parameter.rank < 0 || parameter.rank > maximum_rank)
      fail("@{} has rank {}, expected 0 to {}", parameter.name, parameter.rank, maximum_rank);
    if (parameter.last_extent < 0 || (parameter.last_extent > 0 && !parameter.is_array()))
      fail("@{} has the last extent {}, expected 0, or more for an array", parameter.name, parameter.last_extent);
    if (parameter.distinct && !parameter.is_array())
      fail("@{} is a scalar and cannot be distinct in memory", parameter.name);
  }
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
    if (kernel_.parameters[i].role == Role::Gradient) check_gradient(i);
}

void Verifier::check_launch() const {
  const Grid &grid = kernel_.grid;
  const auto [producing, multiplying] = kernel_.roles.registers;
  if (grid.strides || grid.axes || grid.blocks_at_once != 0) check_lowered("kernel with a shape of its launch");
  if (grid.persistent && (!grid.strides || kernel_.roles.producers == 0))
    fail("a persistent kernel without further indices or without producer threads");
  if (grid.axes && (grid.strides || !is_tile_kernel(kernel_) || kernel_.launch_rank < 2 || kernel_.launch_rank > 3))
    fail("axes of the grid for the {} dimensions of a launch", kernel_.launch_rank);
  if (grid.blocks_at_once < 0) fail("{} blocks at once", grid.blocks_at_once);
  if (kernel_.roles.equal_turns && kernel_.roles.teams == 0) fail("equal turns without teams");
  constexpr int of_multiprocessor = 64 << 10, unit = 8, least = 24, most = 240;
  const auto may_be = [&](int registers) { return registers % unit == 0 && registers >= least && registers <= most; };
  const int consumers = kernel_.block_threads * std::max(kernel_.roles.teams, 1);
  if ((producing != 0 || multiplying != 0) &&
      (kernel_.roles.producers == 0 || !may_be(producing) || !may_be(multiplying) ||
       producing * kernel_.roles.producers + multiplying * consumers > of_multiprocessor))
    fail("{} and {} registers of {} producer and {} consumer threads", producing, multiplying, kernel_.roles.producers,
         consumers);
}

void Verifier::check_gradient(std::size_t index) const {
  const Parameter &gradient = kernel_.parameters[index];
  if (gradient.primal >= kernel_.parameters.size())
    fail("@{} is the gradient of parameter {}, and the kernel has {}", gradient.name, gradient.primal,
         kernel_.parameters.size());
  // The primal may itself be a gradient, in the adjoint of an adjoint; a chain of them ends in a primal.
  std::size_t end = index;
  for (std::size_t steps = 0; kernel_.parameters[end].role == Role::Gradient; ++steps) {
    end = kernel_.parameters[end].primal;
    if (end >= kernel_.parameters.size()) break;  // reported for its own parameter
    if (steps == kernel_.parameters.size()) fail("@{} is a gradient of itself", gradient.name);
  }
  const Parameter &primal = kernel_.parameters[gradient.primal];
  if (!is_floating(gradient.type) || !is_floating(primal.type))
    fail("@{} has type {} and is the gradient of @{} of type {}, expected floating types", gradient.name,
         name(gradient.type), primal.name, name(primal.type));
  if (primal.is_array() && gradient.rank != primal.rank)
    fail("@{} has rank {} and is the gradient of @{} of rank {}", gradient.name, gradient.rank, primal.name,
         primal.rank);
}

void Verifier::check_block(const Block &block) {
  const Stmt *outer = statement_;
  for (const Stmt &stmt : block) {
    statement_ = &stmt;
    visit(stmt, [&](const auto &kind) { check(kind); });
  }
  statement_ = outer;
  check_stages(block);
  check_window_products(block);
}

void Verifier::check_window_products(const Block &block) const {
  std::map<LocalArrayId, const WindowProduct *> kept;
  std::set<LocalArrayId> on_their_way;
  std::optional<LocalArrayId> next;
  for (const Stmt &stmt : block) {
    const auto *product = stmt.as<WindowProduct>();
    if (next && (!product || product->result.array != *next || on_their_way.contains(product->result.array) ||
                 on_their_way.contains(product->first.array)))
      fail("a product that runs into ${}, which must be followed by an independent product into it", *next);
    if (!product) continue;
    next = product->runs_into;
    if (next)
      on_their_way.insert(product->result.array);
    else
      on_their_way.clear();
    const auto known = kept.find(product->second.ring.array);
    if (product->has_window != (known != kept.end()))
      fail("a product {} a window that the one before it {}", product->has_window ? "finds" : "waits for",
           product->has_window ? "has not kept" : "has kept");
    if (product->has_window && (known->second->second.array != product->second.array ||
                                known->second->second.indices != product->second.indices ||
                                known->second->barriers.array != product->barriers.array))
      fail("a product of another window than the kept one");
    if (product->keeps_window)
      kept.insert_or_assign(product->second.ring.array, product);
    else
      kept.erase(product->second.ring.array);
  }
  if (!kept.empty()) fail("a kept window without a later product");
  if (next) fail("a product that runs into ${}, with no product after it", *next);
}

void Verifier::check_stages(const Block &block) const {
  std::map<LocalArrayId, const BringWindows *> open;  // by their barriers
  for (const Stmt &stmt : block) {
    if (const auto *bring = stmt.as<BringWindows>(); bring && bring->role != ThreadRole::producers) {
      if (!open.emplace(bring->barriers.array, bring).second) fail("windows of a ring that is not released");
    } else if (const auto *release = stmt.as<ReleaseWindows>()) {
      if (open.erase(release->barriers) == 0) fail("a release of windows that were not loaded");
    } else if (const auto *product = stmt.as<StageProduct>()) {
      const auto known = open.find(product->barriers.array);
      if (known == open.end()) fail("a product in a stage whose windows were not loaded");
      for (const TileMemory &factor : product->factors)
        if (std::ranges::none_of(known->second->windows, [&](const BringWindows::Window &window) {
              return window.ring.array == factor.array && !window.values;
            }))
          fail("a product of a window that was not loaded");
    }
  }
  if (!open.empty()) fail("windows that are not released");
}

void Verifier::define(LocalId id, Type type, bool assignable) {
  if (id >= locals_.size()) fail("%{} is not below the kernel's local_count of {}", id, locals_.size());
  if (locals_[id].defined) fail("%{} is defined twice", id);
  locals_[id] = {type, true, true, assignable};
  in_scope_.push_back(id);
}

void Verifier::check_in_scope(LocalId id) const {
  if (id >= locals_.size()) fail("%{} is not below the kernel's local_count of {}", id, locals_.size());
  if (!locals_[id].in_scope)
    fail("%{} is {}", id, locals_[id].defined ? "defined, but not in scope here" : "read before it is defined");
}

void Verifier::check_value(const Value &value) const {
  Type type = value.type();
  if (form_ == Form::lowered && type.is_tile()) fail("the lowered form has no values of type {}", name(type));
  switch (value.kind()) {
    case Value::Kind::Constant:
      if (!is_canonical(value))
        fail("the constant with bits {:#x} is not a value of type {}", value.bits(), name(value.type()));
      break;
    case Value::Kind::Parameter: {
      if (value.parameter_index() >= kernel_.parameters.size())
        fail("parameter {} is read, and the kernel has {}", value.parameter_index(), kernel_.parameters.size());
      const Parameter &parameter = kernel_.parameters[value.parameter_index()];
      if (parameter.is_array()) fail("@{} is an array, expected a scalar", parameter.name);
      type = parameter.type;
      break;
    }
    case Value::Kind::Local:
      check_in_scope(value.id());
      type = locals_[value.id()].type;
      break;
  }
  if (type != value.type())
    fail("{} is read as {}, and its type is {}", to_string(value, kernel_.parameters), name(value.type()), name(type));
}

void Verifier::check_value(const Value &value, Type expected, std::string_view what) const {
  check_value(value);
  if (value.type() != expected) fail("{} has type {}, expected {}", what, name(value.type()), name(expected));
}

const Parameter &Verifier::array(std::uint32_t index) const {
  if (index >= kernel_.parameters.size())
    fail("array {} is used, and the kernel has {} parameters", index, kernel_.parameters.size());
  const Parameter &parameter = kernel_.parameters[index];
  if (!parameter.is_array()) fail("@{} is a scalar, expected an array", parameter.name);
  return parameter;
}

const Parameter &Verifier::writable_array(std::uint32_t index) const {
  const Parameter &parameter = array(index);
  if (parameter.read_only) fail("@{} is read-only, and is written", parameter.name);
  return parameter;
}

void Verifier::check_indices(const Parameter &array, std::span<const Value> indices) const {
  if (indices.size() != static_cast<std::size_t>(array.rank))
    fail("@{} has rank {}, and {} indices are given", array.name, array.rank, indices.size());
  for (const Value &index : indices) check_index(index, "an index");
}

Type Verifier::check_local_array(LocalArrayId id) const {
  if (id >= local_arrays_.size())
    fail("${} is not below the kernel's local_array_count of {}", id, local_arrays_.size());
  if (!local_arrays_[id].in_scope)
    fail("${} is {}", id,
         local_arrays_[id].defined ? "allocated, but not in scope here" : "used before it is allocated");
  return local_arrays_[id].type;
}

void Verifier::check_index(const Value &index, std::string_view what) const {
  check_value(index);
  if (index.type().is_tile() || !is_index_type(index.type()))
    fail("{} has type {}, expected i32 or i64", what, name(index.type()));
}

void Verifier::check_element(const Parameter &array, std::span<const Value> indices, const Type &element) const {
  if (!is_gather(indices)) check_indices(array, indices);
  for (const Value &index : indices) check_value(index);
  const std::string error = tile_access_error({indices.begin(), indices.end()}, array.rank, element);
  if (!error.empty()) fail("{}", error);
}

void Verifier::check_lowered(std::string_view what) const {
  if (form_ != Form::lowered) fail("the {} form has no {}", name_of_form(), what);
}

std::string_view Verifier::name_of_form() const {
  switch (form_) {
    case Form::captured: return "captured";
    case Form::structured: return "structured";
    case Form::lowered: return "lowered";
  }
  return "";
}

void verify(const Kernel &kernel, Form form, std::string_view after_pass) {
  Verifier(kernel, form, after_pass).run();
  if (kernel.roles.producers == 0) return;
  Kernel of_producers = kernel;
  of_producers.body = kernel.roles.producing;
  of_producers.roles.producing.clear();
  Verifier(of_producers, form, after_pass).run();
}

}  // namespace samite::ir
