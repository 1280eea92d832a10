#include "samite/ir/verify.h"

#include "samite/base/error.h"
#include "samite/ir/load_ahead.h"
#include "samite/ir/loop_products.h"
#include "samite/ir/print.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

namespace samite::ir {
namespace {

bool is_index_type(ScalarType type) { return type == ScalarType::Int32 || type == ScalarType::Int64; }

// Whether `Value` would give the same number the same bits.
bool is_canonical(const Value &constant) {
  switch (class_of(constant.type())) {
    case ScalarClass::Boolean: return constant.bits() <= 1;
    case ScalarClass::Floating: return Value::constant(constant.type(), constant.as_double()) == constant;
    default: return Value::constant(constant.type(), static_cast<std::int64_t>(constant.bits())) == constant;
  }
}

// Limits of tiles and layouts: element counts fit an i32.
constexpr int most_in_cluster = 16;
constexpr std::int64_t most_extent = (std::int64_t{1} << 31) - 1;

class Verifier {
 public:
  Verifier(const Kernel &kernel, Form form, std::string_view pass)
      : kernel_(kernel),
        form_(form),
        pass_(pass),
        locals_(kernel.local_count),
        local_arrays_(kernel.local_array_count),
        shared_by_instances_(kernel.local_array_count),
        sizes_(kernel.local_array_count) {}

  void run() {
    check_signature();
    check_block(kernel_.body);
    if (kernel_.scheduled) check_loads_ahead();
  }

 private:
  struct Local {
    Type type = ScalarType::Bool;
    bool defined = false, in_scope = false, assignable = false;
  };

  // Locals and local arrays defined while it lives leave the scope with it.
  class Scope {
   public:
    explicit Scope(Verifier &verifier)
        : verifier_(verifier), outer_(verifier.in_scope_.size()), outer_arrays_(verifier.arrays_in_scope_.size()) {}
    ~Scope() {
      leave(verifier_.in_scope_, outer_, verifier_.locals_);
      leave(verifier_.arrays_in_scope_, outer_arrays_, verifier_.local_arrays_);
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

   private:
    static void leave(std::vector<std::uint32_t> &in_scope, std::size_t outer, std::vector<Local> &of) {
      for (; in_scope.size() > outer; in_scope.pop_back()) of[in_scope.back()].in_scope = false;
    }

    Verifier &verifier_;
    std::size_t outer_, outer_arrays_;
  };

  // While it exists, if it `holds`, no jump leaves a label outside of it.
  class JumpBarrier {
   public:
    JumpBarrier(Verifier &verifier, bool holds) : verifier_(verifier), outer_(verifier.first_in_reach_) {
      if (holds) verifier.first_in_reach_ = verifier.labels_.size();
    }
    ~JumpBarrier() { verifier_.first_in_reach_ = outer_; }
    JumpBarrier(const JumpBarrier &) = delete;
    JumpBarrier &operator=(const JumpBarrier &) = delete;

   private:
    Verifier &verifier_;
    std::size_t outer_;
  };

  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments &&...arguments) const {
    std::string message = fmt::format("kernel '{}' is ill-formed after {}: ", kernel_.name, pass_);
    message += fmt::format(format, std::forward<Arguments>(arguments)...);
    if (statement_) {
      // The header of a branch or a loop suffices; its blocks may be long.
      std::string text = to_string(*statement_, kernel_.parameters);
      message += fmt::format("\n  in: {}", text.substr(0, text.find('\n')));
    }
    SourceLocation where = statement_ && statement_->where().known() ? statement_->where() : kernel_.where;
    message += fmt::format("\n  at: {}", where.to_string());
    throw InternalError(message);
  }

  void check_signature() const {
    if (kernel_.launch_rank < 1 || kernel_.launch_rank > maximum_rank)
      fail("the launch has {} dimensions, expected 1 to {}", kernel_.launch_rank, maximum_rank);
    if (kernel_.block_threads < 0 || kernel_.block_threads > 1024)
      fail("a block has {} threads, expected 1 to 1024", kernel_.block_threads);
    if (kernel_.scheduled && !is_tile_kernel(kernel_)) fail("a scheduled kernel whose instances are threads");
    if (kernel_.scheduled) check_lowered("scheduled kernel");
    if (kernel_.producers != 0) check_lowered("kernel whose threads have roles");
    if (kernel_.producers < 0 || kernel_.producers % 128 != 0 ||
        (kernel_.producers != 0 && (!is_tile_kernel(kernel_) || kernel_.block_threads + kernel_.producers > 1024)))
      fail("{} producer threads after the {} of a block, expected groups of 128", kernel_.producers,
           kernel_.block_threads);
    if (kernel_.strip_columns < 0 ||
        (kernel_.strip_columns != 0 && (!is_tile_kernel(kernel_) || kernel_.launch_rank < 2)))
      fail("strips of {} columns of blocks, and the launch has {} dimensions", kernel_.strip_columns,
           kernel_.launch_rank);
    if (kernel_.cluster_blocks != 0 && kernel_.producers == 0) fail("a cluster of blocks whose threads have no roles");
    if (kernel_.cluster_blocks != 0 &&
        (kernel_.cluster_blocks < 2 || kernel_.cluster_blocks > most_in_cluster || kernel_.cluster_dimension < 0 ||
         kernel_.cluster_dimension >= kernel_.launch_rank))
      fail("clusters of {} blocks along dimension {} of {}, expected 2 to {}", kernel_.cluster_blocks,
           kernel_.cluster_dimension, kernel_.launch_rank, most_in_cluster);
    if (kernel_.teams != 0 && (kernel_.teams < 2 || kernel_.producers == 0 ||
                               kernel_.teams * kernel_.block_threads + kernel_.producers > 1024))
      fail("{} teams of {} threads, and {} producer threads", kernel_.teams, kernel_.block_threads, kernel_.producers);
    if (kernel_.step_parts != 0 && (kernel_.step_parts < 2 || kernel_.step_parts > most_in_cluster ||
                                    !is_tile_kernel(kernel_) || kernel_.teams != 0 || kernel_.cluster_blocks != 0))
      fail("split-K in {} parts, expected 2 to {}, without other clusters and without teams", kernel_.step_parts,
           most_in_cluster);
    if (kernel_.producers == 0 && !kernel_.producing.empty()) fail("producer code without producer threads");
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

  void check_gradient(std::size_t index) const {
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

  void check_block(const Block &block) {
    const Stmt *outer = statement_;
    for (const Stmt &stmt : block) {
      statement_ = &stmt;
      visit(stmt, [&](const auto &kind) { check(kind); });
    }
    statement_ = outer;
    check_stages(block);
    check_window_products(block);
  }

  // A window is kept for the next product of the same ring in the same block of statements, which finds it loaded.
  // While a product overlaps the next one, its sums must not be used.
  void check_window_products(const Block &block) const {
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
  // Windows are loaded and released in one block of statements, and products in a stage are between.
  void check_stages(const Block &block) const {
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

  void define(LocalId id, Type type, bool assignable = false) {
    if (id >= locals_.size()) fail("%{} is not below the kernel's local_count of {}", id, locals_.size());
    if (locals_[id].defined) fail("%{} is defined twice", id);
    locals_[id] = {type, true, true, assignable};
    in_scope_.push_back(id);
  }

  void check_in_scope(LocalId id) const {
    if (id >= locals_.size()) fail("%{} is not below the kernel's local_count of {}", id, locals_.size());
    if (!locals_[id].in_scope)
      fail("%{} is {}", id, locals_[id].defined ? "defined, but not in scope here" : "read before it is defined");
  }

  // Checks that the value exists; the caller checks its type.
  void check_value(const Value &value) const {
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
      fail("{} is read as {}, and its type is {}", to_string(value, kernel_.parameters), name(value.type()),
           name(type));
  }

  // Checks that `value` exists and has the type `expected`; `what` names its place.
  void check_value(const Value &value, Type expected, std::string_view what) const {
    check_value(value);
    if (value.type() != expected) fail("{} has type {}, expected {}", what, name(value.type()), name(expected));
  }

  const Parameter &array(std::uint32_t index) const {
    if (index >= kernel_.parameters.size())
      fail("array {} is used, and the kernel has {} parameters", index, kernel_.parameters.size());
    const Parameter &parameter = kernel_.parameters[index];
    if (!parameter.is_array()) fail("@{} is a scalar, expected an array", parameter.name);
    return parameter;
  }

  const Parameter &writable_array(std::uint32_t index) const {
    const Parameter &parameter = array(index);
    if (parameter.read_only) fail("@{} is read-only, and is written", parameter.name);
    return parameter;
  }

  void check_indices(const Parameter &array, std::span<const Value> indices) const {
    if (indices.size() != static_cast<std::size_t>(array.rank))
      fail("@{} has rank {}, and {} indices are given", array.name, array.rank, indices.size());
    for (const Value &index : indices) check_index(index, "an index");
  }

  // Returns its element type.
  Type check_local_array(LocalArrayId id) const {
    if (id >= local_arrays_.size())
      fail("${} is not below the kernel's local_array_count of {}", id, local_arrays_.size());
    if (!local_arrays_[id].in_scope)
      fail("${} is {}", id,
           local_arrays_[id].defined ? "allocated, but not in scope here" : "used before it is allocated");
    return local_arrays_[id].type;
  }

  void check_index(const Value &index, std::string_view what) const {
    check_value(index);
    if (index.type().is_tile() || !is_index_type(index.type()))
      fail("{} has type {}, expected i32 or i64", what, name(index.type()));
  }

  void check_element(const Parameter &array, std::span<const Value> indices, const Type &element) const {
    if (!is_gather(indices)) check_indices(array, indices);
    for (const Value &index : indices) check_value(index);
    const std::string error = tile_access_error({indices.begin(), indices.end()}, array.rank, element);
    if (!error.empty()) fail("{}", error);
  }

  void check_dimension(std::int32_t dimension, int rank, std::string_view of) const {
    if (dimension < 0 || dimension >= rank) fail("dimension {} is asked for, and {} has {}", dimension, of, rank);
  }

  void check_operation(const Operation &operation) const {
    const OpInfo &op = info(operation.op);
    if (form_ == Form::lowered && operation.type.is_tile())
      fail("the lowered form has no values of type {}", name(operation.type));
    if (form_ == Form::lowered && operation.op == Op::Unavailable) fail("the lowered form has no unavailable values");
    if (op.arity >= 0 && operation.operands.size() != static_cast<std::size_t>(op.arity))
      fail("{} has {} operands, expected {}", op.name, operation.operands.size(), op.arity);
    for (const Value &operand : operation.operands) check_value(operand);
    if (op.arity < 0 && op.typing == Typing::Floating && operation.operands.empty())
      fail("{} has no operands", op.name);
    if (const std::string error = tile_type_error(operation); !error.empty()) fail("{}: {}", op.name, error);
    if (operation.type.is_tile() && !is_tile_kernel(kernel_)) fail("a tile in a kernel whose instances are threads");
    switch (op.typing) {
      case Typing::Same:
        check_result(operation, operation.type.element() != ScalarType::Bool, "an arithmetic type");
        return check_operands(operation, operation.type);
      case Typing::Floating:
        check_result(operation, is_floating(operation.type), "a floating type");
        return check_operands(operation, operation.type);
      case Typing::Integer:
        check_result(operation, is_integer(operation.type), "an integer type");
        return check_operands(operation, operation.type);
      case Typing::Bits:
        check_result(operation, !is_floating(operation.type), "an integer type or bool");
        return check_operands(operation, operation.type);
      case Typing::Compare:
        check_result(operation, operation.type.element() == ScalarType::Bool, "bool");
        return check_operands(operation, operation.operands[0].type());
      case Typing::Select:
        check_value(operation.operands[0], operation.type.of(ScalarType::Bool), "operand 1 of select");
        return check_operands(operation, operation.type, 1);
      case Typing::Cast:
        if (operation.op == Op::BitCast) check_bit_cast(operation);
        return check_value(operation.operands[0]);
      case Typing::Copy: return check_operands(operation, operation.type);
      case Typing::Index:
        check_result(operation, is_index_type(operation.type), "i32 or i64");
        return check_dimension(operation.attribute, kernel_.launch_rank, "the launch");
      case Typing::Extent:
        check_result(operation, is_index_type(operation.type), "i32 or i64");
        return check_dimension(operation.attribute, array(operation.array).rank, "the array");
      case Typing::Load: {
        bool writes = operation.op == Op::Exchange;
        if (writes && operation.attribute != 0 && operation.attribute != 1)
          fail("exchange has attribute {}, expected 0 (atomic) or 1 (plain)", operation.attribute);
        const Parameter &from = writes ? writable_array(operation.array) : array(operation.array);
        if (const int elements = elements_ahead(operation)) check_ahead(from, operation, elements);
        if (is_load_by_warp(operation)) check_by_warp(from);
        check_element(from, operation.operands, operation.type);
        return check_result(operation, operation.type.element() == from.type, name(from.type));
      }
      case Typing::Atomic: return check_atomic(operation);
      case Typing::LocalLoad: {
        Type element = check_local_array(operation.array);
        check_index(operation.operands[0], "an index");
        check_whose_element(operation.array, operation.operands[0]);
        return check_result(operation, operation.type == element, name(element));
      }
      default: return;
    }
  }

  void check_bit_cast(const Operation &operation) const {
    const Type from = operation.operands[0].type();
    for (const Type &type : {from, operation.type})
      if (type.element() == ScalarType::Bool || (is_floating(type) && size_of(type) <= 2))
        fail("bit_cast of {} to {}", name(from), name(operation.type));
    check_result(operation, size_of(from) == size_of(operation.type), "as many bytes as its operand");
  }

  // A load by warp needs a loop that a warp runs together.
  void check_by_warp(const Parameter &from) const {
    check_lowered("load by a warp");
    if (loops_.empty() || loops_.back()->by_warp < 2)
      fail("a load by warp from @{} outside of a loop by warp", from.name);
  }

  // An asynchronously copied value is stored to shared memory, once.
  void check_loads_ahead() {
    std::map<LocalId, int> stores;
    std::set<LocalArrayId> shared;
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      statement_ = &stmt;
      const Let *let = stmt.as<Let>();
      if (let && elements_ahead(let->value)) stores.emplace(let->local, 0);
      const Allocate *allocate = stmt.as<Allocate>();
      if (allocate && allocate->space == MemorySpace::shared) shared.insert(allocate->array);
      const LocalStore *store = stmt.as<LocalStore>();
      for_each_operand(stmt, [&](const Value &value) {
        const auto ahead = value.is_local() ? stores.find(value.id()) : stores.end();
        if (ahead == stores.end()) return;
        if (!store || !shared.contains(store->array) || !(store->value == value) || ++ahead->second > 1)
          fail("%{} is loaded ahead, and has a use other than one store to shared memory", value.id());
      });
    });
    statement_ = nullptr;
    for (const auto &[local, count] : stores)
      if (count == 0) fail("%{} is loaded ahead, and is not stored", local);
  }

  void check_ahead(const Parameter &from, const Operation &operation, int elements) const {
    check_lowered("load ahead");
    if (!kernel_.scheduled || !in_thread_loop_) fail("a load ahead outside of a scheduled kernel's loops over threads");
    if (operation.type.is_tile() || from.rank == 0) fail("a load ahead that is not of an array's element");
    if (!may_be_ahead(from.type, elements))
      fail("a load ahead of {} elements of type {}, expected 4, 8 or 16 bytes", elements, name(from.type));
  }

  void check_atomic(const Operation &operation) const {
    const OpInfo &op = info(operation.op);
    const Parameter &array = writable_array(operation.array);
    const std::size_t values = operation.op == Op::AtomicCompareExchange ? 2 : 1;
    if (operation.operands.size() != static_cast<std::size_t>(array.rank) + values)
      fail("{} has {} operands, expected {} indices and {} values", op.name, operation.operands.size(), array.rank,
           values);
    check_element(array, element_indices(operation), operation.type);
    check_result(operation, operation.type.element() == array.type, name(array.type));
    for (const Value &value : element_values(operation))
      check_value(value, operation.type, fmt::format("a value of {}", op.name));
    Typing combined = info(combination(operation.op)).typing;
    check_result(operation, combined != Typing::Same || array.type != ScalarType::Bool, "an arithmetic type");
    check_result(operation, combined != Typing::Bits || !is_floating(array.type), "an integer type or bool");
  }

  void check_result(const Operation &operation, bool holds, std::string_view expected) const {
    if (!holds)
      fail("the result of {} has type {}, expected {}", info(operation.op).name, name(operation.type), expected);
  }

  void check_operands(const Operation &operation, Type expected, std::size_t first = 0) const {
    for (std::size_t i = first; i < operation.operands.size(); ++i)
      check_value(operation.operands[i], expected, fmt::format("operand {} of {}", i + 1, info(operation.op).name));
  }

  void check(const Let &let) {
    check_operation(let.value);
    define(let.local, let.value.type, true);
  }

  void check(const Assign &assign) {
    if (form_ != Form::captured) fail("the {} form has no assign", name_of_form());
    check_in_scope(assign.local);
    if (!locals_[assign.local].assignable) fail("%{} is assigned, and is not defined by an operation", assign.local);
    auto first = in_scope_.begin() + static_cast<std::ptrdiff_t>(first_assignable_);
    if (std::find(first, in_scope_.end(), assign.local) == in_scope_.end())
      fail("%{} is assigned inside a custom adjoint or an adjoint_of, and defined outside", assign.local);
    check_value(assign.value, locals_[assign.local].type, "the assigned value");
  }

  void check(const Store &store) {
    const Parameter &to = writable_array(store.array);
    check_element(to, store.indices, store.value.type());
    check_value(store.value, store.value.type().of(to.type), "the stored value");
  }

  void check(const Accumulate &accumulate) {
    if (accumulate.of_gradient && !in_adjoint_) fail("an accumulation into a gradient outside of an adjoint block");
    const Parameter &to = accumulate.of_gradient ? array(accumulate.array) : writable_array(accumulate.array);
    if (accumulate.of_gradient && !is_floating(to.type))
      fail("@{} has type {}, which has no gradient", to.name, name(to.type));
    check_element(to, accumulate.indices, accumulate.value.type());
    check_value(accumulate.value, accumulate.value.type().of(to.type), "the accumulated value");
    if (to.type == ScalarType::Bool) fail("@{} has type bool, which does not accumulate", to.name);
    if (accumulate.over_launch) check_lowered("sum over the launch");
    if (accumulate.over_launch && (!accumulate.atomic || is_tile_kernel(kernel_)))
      fail("over_launch on something other than an atomic addition of instances");
    if (accumulate.over_lanes) check_lowered("sum over lanes");
    if (accumulate.over_lanes && (!accumulate.atomic || accumulate.over_launch || loops_.empty()))
      fail("over_lanes on something other than an atomic addition in a loop");
  }

  void check(const Allocate &allocate) {
    check_index(allocate.size, "the size of a local array");
    check_memory(allocate);
    const LocalArrayId id = allocate.array;
    define_local_array(id, allocate.type);
    if (!allocate.of_block() && !is_tile_kernel(kernel_) && !in_thread_loop_) shared_by_instances_[id] = allocate.space;
    if (allocate.size.is_constant()) sizes_[id] = allocate.size.as_int();
    if (allocate.stages > 1) buffers_.emplace(id, allocate);
  }

  void define_local_array(LocalArrayId id, const Type &type) {
    if (id >= local_arrays_.size())
      fail("${} is not below the kernel's local_array_count of {}", id, local_arrays_.size());
    if (local_arrays_[id].defined) fail("${} is allocated twice", id);
    local_arrays_[id] = {type, true, true};
    arrays_in_scope_.push_back(id);
  }

  // Whether it is defined outside of the thread loop.
  bool same_for_instances(const Value &value) const {
    if (!value.is_local() || !thread_index_) return true;
    const auto end = in_scope_.begin() + static_cast<std::ptrdiff_t>(first_of_instance_);
    return std::find(in_scope_.begin(), end, value.id()) != end;
  }

  // Instances of a thread loop share memory that is allocated outside of it.
  void check_whose_element(LocalArrayId array, const Value &index) const {
    const auto space = shared_by_instances_[array];
    if (form_ != Form::lowered || !space) return;
    if (*space == MemorySpace::strip) {
      if (!thread_index_) fail("${} is memory of a strip, and is accessed outside of a thread loop", array);
      if (!index.is_local() || index.id() != *thread_index_)
        fail("${} is memory of a strip, and is accessed at {}, which is not the index of the thread loop", array,
             to_string(index, kernel_.parameters));
    } else if (!same_for_instances(index)) {
      fail("${} is shared by the instances of a thread loop, and is accessed at {}, which may differ between them",
           array, to_string(index, kernel_.parameters));
    }
  }

  // Jammed vectors take the same path.
  void check_jammed(const Block &block) const {
    for (const Stmt &stmt : block) {
      if (const If *branch = stmt.as<If>(); branch && branch->else_block.empty() && branch->results.empty())
        check_jammed(branch->then_block);
      else if (!stmt.as<Let>() && !stmt.as<Store>() && !stmt.as<Accumulate>() && !stmt.as<LocalStore>())
        fail("a jammed loop contains a loop, a branch with results, or an allocation");
    }
  }

  // The memory space and layout of a block's memory.
  void check_memory(const Allocate &allocate) {
    if (allocate.of_block()) check_lowered("memory of a block");
    if (allocate.space == MemorySpace::workspace) check_lowered("memory in the workspace");
    const bool shared = allocate.space == MemorySpace::shared;
    if (allocate.space == MemorySpace::strip) check_strip(allocate);
    if (allocate.space == MemorySpace::thread) check_of_thread(allocate);
    if (const auto *fragments = std::get_if<FragmentLayout>(&allocate.layout)) {
      check_fragments(*fragments);
      if (allocate.space != MemorySpace::registers) fail("fragments outside of registers");
      check_size(allocate, fragments->rows, fragments->columns);
    } else if (allocate.space == MemorySpace::registers) {
      fail("memory in registers without a fragment layout");
    }
    if (const auto *rows = std::get_if<RowLayout>(&allocate.layout)) {
      const auto bytes = static_cast<std::int64_t>(size_of(allocate.type));
      if (!shared) fail("rows of units outside of shared memory");
      if (rows->columns < 1 || rows->columns > most_extent || rows->units > most_extent ||
          rows->units * 16 < rows->columns * bytes)
        fail("rows of {} elements of {} bytes in {} units of 16 bytes", rows->columns, bytes, rows->units);
      check_size(allocate, std::nullopt, rows->columns);
    }
    if (const auto *panels = std::get_if<PanelLayout>(&allocate.layout)) {
      const auto bytes = static_cast<std::int64_t>(size_of(allocate.type));
      if (!shared) fail("panels outside of shared memory");
      if (panels->rows < 1 || panels->rows % 8 != 0 || panels->columns < 1 || panels->columns * bytes % 128 != 0)
        fail("panels of {} rows of {} elements of {} bytes", panels->rows, panels->columns, bytes);
      check_size(allocate, panels->rows, panels->columns);
    }
    if (allocate.buffer) check_buffer(allocate);
    if (allocate.stages < 1 || (allocate.stages > 1 && !shared)) fail("memory with {} buffers", allocate.stages);
    if (allocate.offset && (!shared || *allocate.offset < 0)) fail("memory at {} bytes", *allocate.offset);
    if (allocate.team_bytes < 0 || (allocate.team_bytes != 0 && (!allocate.offset || kernel_.teams == 0)))
      fail("memory of teams, {} bytes each, in a kernel with {} teams", allocate.team_bytes, kernel_.teams);
    if (!allocate.units) return;
    check_index(*allocate.units, "where memory begins");
    if (!allocate.sized_at_launch() || !kernel_.scheduled)
      fail("memory in units outside of a scheduled kernel, or whose size is not a parameter");
  }

  void check_of_thread(const Allocate &allocate) const {
    check_lowered("memory of a thread");
    if (!is_tile_kernel(kernel_) || in_thread_loop_)
      fail("memory of a thread inside a thread loop, or outside of a block");
    if (!allocate.size.is_constant()) fail("memory of a thread with a size that is not a constant");
  }

  void check_strip(const Allocate &allocate) const {
    check_lowered("memory of a strip");
    if (is_tile_kernel(kernel_)) fail("memory of a strip in a kernel whose instances are blocks");
    if (in_thread_loop_) fail("memory of a strip inside a thread loop");
    if (!allocate.size.is_constant()) fail("memory of a strip with a size that is not a constant");
  }

  // A buffer has the size and layout of the allocation that it aliases.
  void check_buffer(const Allocate &allocate) {
    check_index(allocate.buffer->number, "the number of a buffer");
    const Type element = check_local_array(allocate.buffer->of);
    const auto known = buffers_.find(allocate.buffer->of);
    if (known == buffers_.end() || known->second.stages < 2) fail("a buffer of memory without several buffers");
    const Allocate &all = known->second;
    if (element != allocate.type || allocate.space != all.space || !(allocate.size == all.size) ||
        allocate.layout != all.layout || allocate.stages != 1 || allocate.offset)
      fail("a buffer whose type, size or layout differs from that of ${}", allocate.buffer->of);
  }

  // A constant number of elements: of so many rows, or of whole rows.
  void check_size(const Allocate &allocate, std::optional<std::int64_t> rows, std::int64_t columns) const {
    if (!allocate.size.is_constant()) fail("a layout of memory with a size that is not a constant");
    const std::int64_t size = allocate.size.as_int();
    if (rows ? size != *rows * columns : size % columns != 0)
      fail("{} elements in a layout with {} columns", size, columns);
  }

  void check_fragments(const FragmentLayout &fragments) const {
    for (const std::int64_t extent : {fragments.rows, fragments.columns})
      if (extent < 1 || extent > most_extent) fail("fragments of an extent of {}", extent);
    for (const std::int64_t warps : {fragments.down, fragments.across})
      if (warps < 1 || warps > kernel_.block_threads) fail("fragments of {} warps", warps);
    if (fragments.threads() != kernel_.block_threads)
      fail("fragments on {} by {} {}, and the block has {} threads", fragments.down, fragments.across,
           piece_of(fragments.unit).threads == 32 ? "warps" : "groups of warps", kernel_.block_threads);
  }

  void check(const LocalStore &store) {
    Type element = check_local_array(store.array);
    check_index(store.index, "an index");
    check_whose_element(store.array, store.index);
    check_value(store.value, element, "the stored value");
  }

  void check_on_tiles(std::string_view what) const {
    if (!is_tile_kernel(kernel_)) fail("a {} in a kernel without tiles", what);
    check_lowered(what);
  }

  void check(const TileCall &call) const {
    check_on_tiles("call on tiles in memory");
    const OpInfo &op = info(call.op);
    if (op.typing == Typing::Load) fail("{} as a call on tiles in memory", op.name);
    if (!call.why_no_loop.empty() && call.op != Op::MatMul)
      fail("a reason against a main loop on an operation that is not a product");
    check_memory(call.result);
    for (const TileMemory &operand : call.operands) check_memory(operand);
    if (call.sums) {
      if (call.op != Op::MatMul) fail("a layout of sums on an operation that is not a product");
      check_sums(*call.sums, call.result.type);
    }
    Operation operation{call.op, call.result.type, {}, 0, call.attribute};
    for (const TileMemory &operand : call.operands) operation.operands.push_back(Value::zero(operand.type));
    // The addend of a product is its result, and steps need memory for intermediate sums.
    if (call.op == Op::MatMul) operation.operands.push_back(Value::zero(call.result.type));
    const bool between = op.typing == Typing::Reduce || op.typing == Typing::Fourier;
    if (between && operation.operands.size() == 2) {
      // Sums of 16 bits have 32-bit parts.
      const ScalarType parts = operation.operands[1].type().element(), results = call.result.type.element();
      if (parts != results && (size_of(results) != 2 || parts != ScalarType::Float32))
        fail("memory of type {} between the steps of {}", name(operation.operands[1].type()), op.name);
      operation.operands.pop_back();
    }
    check_operation_on_tiles(operation);
  }
  void check_operation_on_tiles(const Operation &operation) const {
    const OpInfo &op = info(operation.op);
    if (operation.operands.size() != static_cast<std::size_t>(op.arity))
      fail("{} has {} operands, expected {}", op.name, operation.operands.size(), op.arity);
    if (const std::string error = tile_type_error(operation); !error.empty()) fail("{}: {}", op.name, error);
  }

  void check(const TileLoad &load) const {
    check_on_tiles("load of a tile");
    check_memory(load.result);
    if (load.stream) return check_next(load);
    const Parameter &from = array(load.array);
    check_element(from, load.indices, load.result.type);
    if (load.result.type.element() != from.type)
      fail("a load of type {} from @{} of type {}", name(load.result.type), from.name, name(from.type));
  }

  // A product of tiles of these types, whose sums have a layout. Threads that only copy have no sums.
  void check_product(const auto &product, const Type &a, const Type &b, ThreadRole role) const {
    if (role != ThreadRole::producers) check_memory(product.result);
    check_sums(product.sums, product.result.type);
    const Type sums = product.result.type;
    check_operation_on_tiles(
        {Op::MatMul, sums, {Value::zero(a), Value::zero(b), Value::zero(sums)}, 0, product.attribute});
  }

  void check(const MainLoop &loop) const {
    check_on_tiles("main loop");
    if (loop.role != (loop.by_bulk_copies() ? expected_role() : ThreadRole::all))
      fail("a main loop for threads of another role");
    const auto &[a, b] = loop.factors;
    check_product(loop, a.ring.type, b.ring.type, loop.role);
    if (loop.count) check_value(*loop.count, ScalarType::Int32, "the number of products");
    if (loop.terms) {
      if (loop.role == ThreadRole::producers || loop.is_step() || !loop.by_bulk_copies())
        fail("a limit of terms on something other than a whole main loop of bulk copies");
      check_value(*loop.terms, ScalarType::Int32, "the number of terms");
    }
    const int stages = stages_of(a.ring);
    for (const Transfer &factor : loop.factors) check_transfer(factor, stages);
    if (loop.by_bulk_copies()) return check_bulk_copies(loop);
    if (kernel_.producers != 0 || loop.is_step())
      fail("a main loop whose threads copy the windows, with producer threads, or of one product");
    if (stages < 2) fail("a main loop whose threads copy the windows, to rings of one stage");
    for (const Transfer &factor : loop.factors)
      if (factor.parts != 1 || !factor.why_copy.empty())
        fail("windows of {}, copied by threads, in parts or of a copied array", name(factor.ring.type));
  }
  void check_bulk_copies(const MainLoop &loop) const {
    if (!loop.why_by_threads.empty()) fail("a reason against bulk copies on a main loop that has them");
    check_barriers(*loop.barriers, stages_of(loop.factors[0].ring));
    for (const Transfer &factor : loop.factors) {
      check_not_written(factor.array);
      if (factor.parts != 1 && (factor.parts != kernel_.cluster_blocks ||
                                factor.ring.type.shape()[0] % (std::int64_t{8} * factor.parts) != 0))
        fail("windows of {} in {} parts, expected 1 or one for each block of the cluster, of a multiple of 8 rows",
             name(factor.ring.type), factor.parts);
    }
  }
  // Two for each stage.
  void check_barriers(const TileMemory &barriers, int stages) const {
    check_memory(barriers);
    if (barriers.type.element() != ScalarType::UInt64 || barriers.type.count() != std::int64_t{2} * stages)
      fail("barriers of type {} for {} stages", name(barriers.type), stages);
  }
  void check_transfer(const Transfer &factor, int stages) const {
    check_memory(factor.ring);
    const Parameter &from = array(factor.array);
    check_element(from, factor.indices, factor.ring.type);
    if (from.type != factor.ring.type.element())
      fail("windows of @{} of type {} for a factor of type {}", from.name, name(from.type), name(factor.ring.type));
    if (stages_of(factor.ring) != stages) fail("factors of {} and {} stages", stages, stages_of(factor.ring));
  }
  int stages_of(const TileMemory &memory) const {
    const auto known = buffers_.find(memory.array);
    return known == buffers_.end() ? 1 : known->second.stages;
  }

  void check(const WindowProduct &product) const {
    check_on_tiles("product of a window");
    if (product.role != expected_role()) fail("a product of a window for threads of another role");
    const bool copies = product.role == ThreadRole::producers, of_group = product.role == ThreadRole::consumers;
    if (!of_group && (product.takes_turn || product.gives_turn))
      fail("a turn on a product that is not one of a warp group");
    if (!of_group && product.runs_into) fail("runs_into on a product that is not one of a warp group");
    if (copies && (product.has_window || product.keeps_window)) fail("a kept window of threads that only copy");
    if (!copies) check_memory(product.first);
    check_product(product, product.first.type, product.second.ring.type, product.role);
    const int stages = stages_of(product.second.ring);
    check_transfer(product.second, stages);
    check_not_written(product.second.array);
    if (product.second.parts != 1) fail("a window of {} in parts", name(product.second.ring.type));
    check_barriers(product.barriers, stages);
  }

  // `check_stages` looks for the windows.
  void check(const StageProduct &product) const {
    check_on_tiles("product in a stage");
    if (expected_role() == ThreadRole::producers) fail("a product in a stage of threads that only copy");
    for (const TileMemory &factor : product.factors) check_memory(factor);
    check_product(product, product.factors[0].type, product.factors[1].type, expected_role());
    check_barriers(product.barriers, stages_of(product.factors[0]));
  }

  // The arrays are read-only, and all rings have the same number of stages, at least two, since one is filled while
  // another is read.
  void check(const BringWindows &bring) const {
    if (!is_tile_kernel(kernel_)) fail("bulk copies of windows in a kernel without tiles");
    check_lowered("bulk copy of windows");
    if (bring.role != expected_role()) fail("bring_windows for threads of another role");
    check_memory(bring.barriers);
    const Type barriers = bring.barriers.type;
    const std::int64_t stages = barriers.count() / 2;
    if (stages < 2 || barriers.element() != ScalarType::UInt64 || barriers.count() != 2 * stages)
      fail("barriers of type {} for windows", name(barriers));
    for (const BringWindows::Window &window : bring.windows) {
      check_memory(window.ring);
      const Parameter &from = array(window.array);
      check_element(from, window.indices, window.ring.type);
      if (from.type != window.ring.type.element())
        fail("windows of @{} of type {} in a ring of type {}", from.name, name(from.type), name(window.ring.type));
      check_not_written(window.array);
      const auto known = buffers_.find(window.ring.array);
      if (known == buffers_.end() || known->second.stages != stages)
        fail("windows of @{} in a ring with a number of stages other than {}", from.name, stages);
    }
  }
  void check(const ReleaseWindows &release) const {
    check_lowered("release of windows");
    check_local_array(release.barriers);
  }
  void check(const Prefetch &fetch) const {
    check_lowered("prefetch");
    if (!is_tile_kernel(kernel_)) fail("a prefetch in a kernel without blocks");
    const Parameter &from = array(fetch.array);
    check_element(from, fetch.indices, fetch.type);
    if (!fetch.type.is_tile() || fetch.type.shape().rank() > 2 || fetch.type.element() != from.type)
      fail("a prefetch of type {} from @{} of type {}", name(fetch.type), from.name, name(from.type));
  }
  // The role of the threads whose code is being checked.
  ThreadRole expected_role() const {
    return kernel_.producers == 0      ? ThreadRole::all
           : kernel_.producing.empty() ? ThreadRole::producers
                                       : ThreadRole::consumers;
  }
  void check_not_written(std::uint32_t index) const {
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      if (array_written(stmt) == index) fail("bulk copies from @{}, which the kernel writes to", array(index).name);
    });
  }

  // A load of the next window of a stream: into memory like the stream's.
  void check_next(const TileLoad &load) const {
    check_local_array(*load.stream);
    const auto known = streams_.find(*load.stream);
    if (known == streams_.end()) fail("${} is not a stream of loads", *load.stream);
    if (known->second != load.result.type)
      fail("a load of type {} from a stream of type {}", name(load.result.type), name(known->second));
    if (!load.indices.empty() || load.in_units) fail("a load from a stream has indices, or units of its own");
  }

  void check(const LoadStream &stream) {
    check_of_all_threads("stream of loads");
    check_memory(stream.to);
    check_element(array(stream.array), stream.indices, stream.to.type);
    if (stream.to.type.element() != array(stream.array).type)
      fail("a stream of type {} from @{} of type {}", name(stream.to.type), array(stream.array).name,
           name(array(stream.array).type));
    define_local_array(stream.stream, stream.to.type.element());
    streams_.emplace(stream.stream, stream.to.type);
    define(stream.inside, ScalarType::Int32);
  }

  // Neighbours of one wide access.
  void check_pack(const Parameter &of, std::span<const Value> indices, std::size_t count) const {
    check_lowered("wide access");
    if (is_tile_kernel(kernel_) && !kernel_.scheduled) fail("a wide access in a tile kernel that is not scheduled");
    check_indices(of, indices);
    if (count != 2 && count != 4 && count != 8) fail("a wide access to {} elements, expected 2, 4 or 8", count);
  }

  void check(const LoadPack &load) {
    const Parameter &from = load.how == LoadPack::How::take ? writable_array(load.array) : array(load.array);
    check_pack(from, load.indices, load.locals.size());
    if (load.type != from.type) fail("elements of type {}, expected {}", name(load.type), name(from.type));
    for (const LocalId local : load.locals) define(local, load.type);
  }

  void check(const StorePack &store) const {
    const Parameter &to = writable_array(store.array);
    check_pack(to, store.indices, store.values.size());
    for (const Value &value : store.values) check_value(value, to.type, "the stored value");
    if (store.adds() && to.type == ScalarType::Bool) fail("@{} has type bool, which does not accumulate", to.name);
    if (store.how == StorePack::How::atomic_add && to.type != ScalarType::Float32)
      fail("wide atomic additions of type {}, expected f32", name(to.type));
  }

  void check(const Barrier &) const { check_of_all_threads("barrier"); }
  void check(const CommitCopies &) const { check_of_all_threads("group of copies"); }
  void check(const WaitForCopies &wait) const {
    check_of_all_threads("wait for copies");
    if (wait.groups < 0) fail("a wait for all but {} groups of copies", wait.groups);
  }

  // Statements that all threads of a block run together.
  void check_of_all_threads(std::string_view what) const {
    if (!is_tile_kernel(kernel_)) fail("a {} in a kernel without blocks", what);
    check_lowered(what);
    if (in_thread_loop_) fail("a {} inside a thread loop, which some threads may skip", what);
  }

  void check_memory(const TileMemory &memory) const {
    const Type element = check_local_array(memory.array);
    if (element != memory.type.element())
      fail("${} has elements of type {}, and is used as a tile of type {}", memory.array, name(element),
           name(memory.type));
    if (const auto size = sizes_[memory.array]; size && *size < memory.type.count())
      fail("${} has {} elements, and is used as a tile of type {}", memory.array, *size, name(memory.type));
  }

  void check_sums(const FragmentLayout &sums, const Type &result) const {
    check_fragments(sums);
    // A single product may be a batch of one.
    const TileShape shape = result.shape();
    if (shape.count() != sums.rows * sums.columns || sums.columns != shape[shape.rank() - 1])
      fail("sums of {} by {} elements, and the product is of type {}", sums.rows, sums.columns, name(result));
  }

  // Statements of lowered kernels only.
  void check_lowered(std::string_view what) const {
    if (form_ != Form::lowered) fail("the {} form has no {}", name_of_form(), what);
  }

  std::string_view name_of_form() const {
    switch (form_) {
      case Form::captured: return "captured";
      case Form::structured: return "structured";
      case Form::lowered: return "lowered";
    }
    return "";
  }

  void check_message(const Message &message) const {
    if (message.texts.size() != message.values.size() + 1)
      fail("a message has {} texts and {} values, expected one text more than values", message.texts.size(),
           message.values.size());
    for (const Value &value : message.values) check_value(value);
  }

  void check(const Print &print) { check_message(print.message); }

  void check(const Check &check) {
    check_value(check.condition, ScalarType::Bool, "the condition");
    check_message(check.message);
    if (!check.instance.empty() && check.instance.size() != static_cast<std::size_t>(kernel_.launch_rank))
      fail("the index of the instance has {} dimensions, and the launch has {}", check.instance.size(),
           kernel_.launch_rank);
    for (const Value &index : check.instance) check_index(index, "an index of the instance");
  }

  void check(const If &branch) {
    check_value(branch.condition, ScalarType::Bool, "the condition");
    JumpBarrier barrier(*this, !branch.results.empty());
    {
      Scope scope(*this);
      check_block(branch.then_block);
      for (const BranchResult &result : branch.results)
        check_value(result.then_value, result.type, fmt::format("the first value of %{}", result.local));
    }
    {
      Scope scope(*this);
      check_block(branch.else_block);
      for (const BranchResult &result : branch.results)
        check_value(result.else_value, result.type, fmt::format("the second value of %{}", result.local));
    }
    for (const BranchResult &result : branch.results) define(result.local, result.type);
  }

  void check(const For &loop) {
    if (!is_integer(loop.type)) fail("the loop's index has type {}, expected an integer type", name(loop.type));
    check_value(loop.begin, loop.type, "the loop's begin");
    check_value(loop.end, loop.type, "the loop's end");
    check_value(loop.step, loop.type, "the loop's step");
    if (loop.step.is_constant() && loop.step.bits() == 0) fail("the loop's step is zero");
    if (loop.kind != LoopKind::Serial) check_lowered("unordered loop");
    if (loop.kind != LoopKind::Serial && !loop.carried.empty()) fail("an unordered loop carries values");
    check_notes(loop);
    if (loop.stages < 1) fail("a loop of {} stages", loop.stages);
    if (const std::string error = loop_products_error(loop, kernel_); !error.empty()) fail("{}", error);
    if (loop.ahead != 0) check_lowered("loop that prefetches statements");
    if (loop.ahead > loop.body.size() || (loop.ahead != 0 && loop.stages < 2))
      fail("a loop of {} stages and {} statements, {} of them ahead", loop.stages, loop.body.size(), loop.ahead);
    if (loop.jam != 1) {
      check_lowered("jammed loop");
      if (loop.kind != LoopKind::Thread || is_tile_kernel(kernel_) || loop.jam < 1)
        fail("a loop that is jammed {} times, expected a thread loop and 1 or more", loop.jam);
      check_jammed(loop.body);
    }
    check_initial_values(loop.carried);
    {
      Scope scope(*this);
      JumpBarrier barrier(*this, loop.kind != LoopKind::Serial || !loop.carried.empty());
      define(loop.index, loop.type);
      define_inner_values(loop.carried);
      const bool outer = std::exchange(in_thread_loop_, in_thread_loop_ || loop.kind == LoopKind::Thread);
      const auto outer_index = thread_index_;
      const std::size_t outer_first = first_of_instance_;
      if (loop.kind == LoopKind::Thread && !outer) {
        thread_index_ = loop.index;
        first_of_instance_ = in_scope_.size() - 1;
      }
      loops_.push_back(&loop);
      check_block(loop.body);
      loops_.pop_back();
      in_thread_loop_ = outer;
      thread_index_ = outer_index;
      first_of_instance_ = outer_first;
      check_next_values(loop.carried);
    }
    define_carried_results(loop.carried);
  }

  // Attributes of a loop over the launch, and of one that several instances of a thread run together.
  void check_notes(const For &loop) const {
    const bool in_order = loop.kind == LoopKind::Serial, of_threads = !is_tile_kernel(kernel_);
    const bool in_steps = loop.kind == LoopKind::Thread && of_threads;
    if (!in_order && (!loop.step.is_constant() || loop.step.as_int() < 1 || (loop.step.as_int() != 1 && !in_steps)))
      fail("the step of an unordered loop is {}, expected {}", to_string(loop.step, kernel_.parameters),
           in_steps ? "a positive constant" : "1");
    if (loop.rolled) check_lowered("rolled loop");
    if (loop.instances != 1) check_lowered("loop of several instances");
    if (loop.by_warp != 0) check_lowered("loop of a warp");
    if (loop.by_warp < 0 || loop.by_warp > 32 || (loop.by_warp != 0 && !(in_order && of_threads)))
      fail("a loop of {} iterations of a warp at once, expected up to 32, of threads", loop.by_warp);
    if (loop.march != 1) check_lowered("loop in which a thread marches");
    if (loop.march < 1 || (loop.march != 1 && (loop.kind != LoopKind::Block || !of_threads)))
      fail("a thread runs {} iterations of a loop one after another, expected 1 or more, of a loop over the launch",
           loop.march);
    if (loop.instances < 1 || ((loop.instances != 1 || loop.rolled) && !(in_order && of_threads)))
      fail("a loop{} of {} instances, expected one of a thread", loop.rolled ? " that is rolled" : "", loop.instances);
  }

  void check(const While &loop) {
    check_initial_values(loop.carried);
    {
      Scope scope(*this);
      define_inner_values(loop.carried);
      {
        JumpBarrier barrier(*this, true);
        check_block(loop.condition_block);
      }
      check_value(loop.condition, ScalarType::Bool, "the condition");
      JumpBarrier barrier(*this, !loop.carried.empty());
      check_block(loop.body);
      check_next_values(loop.carried);
    }
    define_carried_results(loop.carried);
  }

  void check(const Labelled &labelled) {
    if (form_ != Form::captured) fail("the {} form has no label", name_of_form());
    if (position(labelled.label) < labels_.size()) fail("label {} is nested in itself", labelled.label);
    labels_.push_back(labelled.label);
    {
      Scope scope(*this);
      check_block(labelled.body);
    }
    labels_.pop_back();
  }

  void check(const Leave &leave) const {
    if (form_ != Form::captured) fail("the {} form has no leave", name_of_form());
    std::size_t at = position(leave.label);
    if (at == labels_.size()) fail("leave {} outside of its label", leave.label);
    if (at < first_in_reach_) fail("leave {} out of a condition or a statement with results", leave.label);
  }

  // A closed block: it neither assigns outer locals nor leaves outer labels.
  class Closed {
   public:
    explicit Closed(Verifier &verifier)
        : scope_(verifier), barrier_(verifier, true), verifier_(verifier), outer_(verifier.first_assignable_) {
      verifier.first_assignable_ = verifier.in_scope_.size();
    }
    ~Closed() { verifier_.first_assignable_ = outer_; }
    Closed(const Closed &) = delete;
    Closed &operator=(const Closed &) = delete;

   private:
    Scope scope_;
    JumpBarrier barrier_;
    Verifier &verifier_;
    std::size_t outer_;
  };

  void check(const CustomAdjoint &custom) {
    for (const CustomResult &result : custom.results)
      if (!is_floating(result.type)) fail("%{} has type {}, expected a floating type", result.local, name(result.type));
    for (const CustomOperand &each : custom.operands) {
      check_value(each.operand);
      if (!is_floating(each.operand.type()))
        fail("%{} has type {}, expected a floating type", each.inner, name(each.operand.type()));
    }
    {
      Closed closed(*this);
      for (const CustomOperand &each : custom.operands) define(each.inner, each.operand.type(), true);
      check_block(custom.primal);
      for (const CustomResult &result : custom.results)
        check_value(result.value, result.type, fmt::format("the value of %{}", result.local));
    }
    if (!custom.replays && !custom.replay.empty()) fail("a replay block without replays");
    if (custom.replays) {
      Closed closed(*this);
      see_again(custom.operands);
      check_block(custom.replay);
      for (const CustomResult &result : custom.results)
        check_value(result.replayed, result.type, fmt::format("the replayed value of %{}", result.local));
    }
    for (const CustomResult &result : custom.results) define(result.local, result.type);
    Closed closed(*this);
    see_again(custom.operands);
    for (const CustomResult &result : custom.results) define(result.cotangent, result.type);
    const bool outer = std::exchange(in_adjoint_, true);
    check_block(custom.adjoint);
    in_adjoint_ = outer;
    for (const CustomOperand &each : custom.operands)
      check_value(each.gradient, each.operand.type(), fmt::format("the gradient of %{}", each.inner));
  }

  // The blocks share the operands' names.
  void see_again(const std::vector<CustomOperand> &operands) {
    for (const CustomOperand &each : operands) {
      locals_[each.inner].in_scope = true;
      in_scope_.push_back(each.inner);
    }
  }

  void check(const AdjointCall &call) {
    if (form_ != Form::captured) fail("the {} form has no adjoint_of", name_of_form());
    for (const AdjointInput &input : call.inputs) {
      if (!is_floating(input.type)) fail("%{} has type {}, expected a floating type", input.inner, name(input.type));
      check_value(input.value, input.type, fmt::format("the value of %{}", input.inner));
    }
    for (const AdjointSeed &seed : call.seeds) check_value(seed.cotangent);
    {
      Closed closed(*this);
      for (const AdjointInput &input : call.inputs) define(input.inner, input.type, true);
      check_block(call.primal);
      for (const AdjointSeed &seed : call.seeds)
        check_value(seed.output, seed.cotangent.type(), "an output of the block");
    }
    for (const AdjointInput &input : call.inputs) define(input.gradient, input.type);
  }

  // In `labels_`; its size if the label does not enclose the statement.
  std::size_t position(LabelId label) const {
    return static_cast<std::size_t>(std::find(labels_.begin(), labels_.end(), label) - labels_.begin());
  }

  void check_initial_values(const std::vector<Carried> &carried) const {
    for (const Carried &each : carried)
      check_value(each.initial, each.type, fmt::format("the initial value of %{}", each.inner));
  }
  void define_inner_values(const std::vector<Carried> &carried) {
    for (const Carried &each : carried) define(each.inner, each.type);
  }
  void check_next_values(const std::vector<Carried> &carried) const {
    for (const Carried &each : carried)
      check_value(each.next, each.type, fmt::format("the next value of %{}", each.inner));
  }
  void define_carried_results(const std::vector<Carried> &carried) {
    for (const Carried &each : carried) define(each.result, each.type);
  }

  const Kernel &kernel_;
  bool in_thread_loop_ = false;
  std::optional<LocalId> thread_index_ = {};
  std::vector<const For *> loops_;                      // enclosing loops, the outermost one first
  std::size_t first_of_instance_ = 0;                   // in `in_scope_`: earlier ones are the same for all instances
  std::unordered_map<LocalArrayId, Allocate> buffers_;  // memory with several buffers
  std::unordered_map<LocalArrayId, Type> streams_;      // streams of loads, with the type of their windows
  Form form_;
  std::string_view pass_;
  std::vector<Local> locals_, local_arrays_;
  std::vector<std::optional<MemorySpace>> shared_by_instances_;  // of local arrays outside of thread loops
  std::vector<std::optional<std::int64_t>> sizes_;               // of local arrays, if they are constants
  std::vector<std::uint32_t> in_scope_, arrays_in_scope_;
  std::vector<LabelId> labels_;       // enclosing labels, outermost first
  std::size_t first_in_reach_ = 0;    // in `labels_`: earlier ones are behind a barrier
  std::size_t first_assignable_ = 0;  // in `in_scope_`: earlier ones are outside of a closed block
  bool in_adjoint_ = false;
  const Stmt *statement_ = nullptr;
};

}  // namespace

void verify(const Kernel &kernel, Form form, std::string_view after_pass) {
  Verifier(kernel, form, after_pass).run();
  if (kernel.producers == 0) return;
  Kernel of_producers = kernel;
  of_producers.body = kernel.producing;
  of_producers.producing.clear();
  Verifier(of_producers, form, after_pass).run();
}

}  // namespace samite::ir
