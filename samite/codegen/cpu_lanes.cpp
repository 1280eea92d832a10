#include "samite/codegen/cpu_lanes.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/op_cost.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

namespace samite::codegen {

using namespace ir;
using passes::Shape;

namespace {

// In registers, floating-point numbers have 32 bits at least.
std::size_t bytes_in_register(ScalarType type) {
  return is_floating(type) ? std::max<std::size_t>(size_of(type), 4) : size_of(type);
}

std::optional<std::int64_t> iterations_of(const For &loop) {
  if (!loop.begin.is_constant() || !loop.end.is_constant() || !loop.step.is_constant()) return std::nullopt;
  return std::abs(loop.end.as_int() - loop.begin.as_int());
}

// The vector work of a kernel's thread loops, by the bytes of a lane.
class VectorWork {
 public:
  VectorWork(const Kernel &kernel, const passes::Uniformity &uniformity) : uniformity_(uniformity) {
    add(kernel.body, 1, false);
  }

  bool may_be_wide(std::int64_t lanes) const {
    return plain_ && std::ranges::all_of(extents_, [&](std::int64_t extent) { return extent % lanes == 0; });
  }

  // Operations of whole registers for each instance.
  double for_each_instance(int lanes, int vector_bytes) const {
    double all = lane_by_lane_;
    for (const auto &[bytes, operations] : by_bytes_)
      all += operations * std::max(1.0, double(bytes) * lanes / vector_bytes) / lanes;
    return all;
  }

 private:
  void add(const Block &block, double times, bool in_lanes) {
    for (const Stmt &stmt : block) {
      if (const For *loop = stmt.as<For>()) {
        const bool lanes = loop->kind == LoopKind::Thread;
        const auto extent = iterations_of(*loop);
        if (lanes && extent) extents_.push_back(*extent);
        plain_ = plain_ && loop->jam == 1;
        constexpr std::int64_t most_counted = 64, unknown = 8;
        add(loop->body, in_lanes ? times * double(std::min(extent.value_or(unknown), most_counted)) : times,
            in_lanes || lanes);
      } else if (const If *branch = stmt.as<If>()) {
        add(branch->then_block, times, in_lanes);
        add(branch->else_block, times, in_lanes);
      } else if (const While *loop = stmt.as<While>()) {
        add(loop->condition_block, times, in_lanes);
        add(loop->body, times, in_lanes);
      } else if (in_lanes) {
        add(stmt, times);
      } else if (const Allocate *allocate = stmt.as<Allocate>()) {
        plain_ = plain_ && allocate->space != MemorySpace::strip && !allocate->type.is_tile();
      } else if (const Let *let = stmt.as<Let>()) {
        plain_ = plain_ && !let->value.type.is_tile();
      } else {
        plain_ = plain_ && (stmt.as<Store>() || stmt.as<LocalStore>() || stmt.as<Barrier>());
      }
    }
  }

  void add(const Stmt &stmt, double times) {
    if (const Let *let = stmt.as<Let>()) return add(*let, times);
    if (const Store *store = stmt.as<Store>()) return touch(store->indices, store->value.type(), times);
    if (const LocalStore *store = stmt.as<LocalStore>()) return touch({&store->index, 1}, store->value.type(), times);
    // Sums, messages and arrays of each lane are made for as many lanes as f32 has.
    plain_ = false;
  }

  void add(const Let &let, double times) {
    const Operation &operation = let.value;
    if (let.value.type.is_tile() || info(operation.op).typing == Typing::Atomic || operation.op == Op::Exchange) {
      plain_ = false;
      return;
    }
    if (uniformity_.of(let.local) != Shape::Varying) return;
    if (operation.op == Op::Load || operation.op == Op::LocalLoad)
      return touch(operation.operands, operation.type, times);
    std::size_t bytes = bytes_in_register(operation.type);
    for (const Value &operand : operation.operands)
      if (operand.type() != ScalarType::Bool) bytes = std::max(bytes, bytes_in_register(operand.type()));
    constexpr double of_calls = 16;
    by_bytes_[bytes] += passes::cheap(operation.op) || !is_floating(operation.type) ? times : of_calls * times;
  }

  // An access to an element for each lane, or for all of them.
  void touch(std::span<const Value> indices, ScalarType type, double times) {
    const auto varies = [&](const Value &index) { return uniformity_.of(index) == Shape::Varying; };
    if (std::ranges::any_of(indices, varies))
      lane_by_lane_ += times;
    else
      by_bytes_[size_of(type)] += times;
  }

  const passes::Uniformity &uniformity_;
  bool plain_ = true;
  double lane_by_lane_ = 0;
  std::map<std::size_t, double> by_bytes_;
  std::vector<std::int64_t> extents_;
};

}  // namespace

int cpu_lanes(const Kernel &kernel, int vector_bytes) {
  std::size_t single = 0, twice = 0;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let) return;
    const bool floating = is_floating(let->value.type), is_double = let->value.type == ScalarType::Float64;
    single += floating && !is_double;
    twice += is_double;
  });
  return twice > single ? vector_bytes / 8 : vector_bytes / 4;
}

int cpu_lanes(const Kernel &lowered, const passes::Uniformity &uniformity, int vector_bytes) {
  const int lanes = cpu_lanes(lowered, vector_bytes);
  if (lanes * 4 < vector_bytes) return lanes;
  const VectorWork work(lowered, uniformity);
  // Several registers for a number leave fewer for others, so that it must be worth it.
  constexpr double worth = 0.9;
  int best = lanes;
  double least = worth * work.for_each_instance(lanes, vector_bytes);
  for (const int wide : {lanes * 2, lanes * 4}) {
    if (!work.may_be_wide(wide)) break;
    const double takes = work.for_each_instance(wide, vector_bytes);
    if (takes > least) continue;
    best = wide;
    least = worth * takes;
  }
  return best;
}

}  // namespace samite::codegen
