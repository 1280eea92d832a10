#include "samite/passes/analysis/uniformity.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

Shape join(Shape a, Shape b) { return a == b ? a : Shape::Varying; }

bool can_be_linear(ScalarType type) {
  return type == ScalarType::Int32 || type == ScalarType::Int64 || type == ScalarType::UInt64;
}

// Facts about a Linear value besides its shape.
struct Lanes {
  bool steady = false;                   // no lane wraps unless its neighbour does
  std::optional<std::int64_t> distance;  // the largest distance from the index of a thread loop

  friend bool operator==(const Lanes &, const Lanes &) = default;
};

constexpr std::int64_t most_distance = 1 << 16;

Lanes join(const Lanes &a, const Lanes &b) {
  Lanes both;
  both.steady = a.steady && b.steady;
  if (a.distance && b.distance) both.distance = std::max(*a.distance, *b.distance);
  return both;
}

// All lanes run the same number of iterations: their bounds are equally far apart.
bool same_trips(const Uniformity &shapes, const For &loop) {
  const Shape begin = shapes.of(loop.begin), end = shapes.of(loop.end);
  if (shapes.of(loop.step) != Shape::Uniform || begin != end || begin == Shape::Varying) return false;
  return begin == Shape::Uniform || (shapes.steady(loop.begin) && shapes.steady(loop.end));
}

// Lanes count in steps of one, from different begins to one end: all can follow the lane that starts first, each from
// its own begin on. That lane runs to the end, so no iteration is added.
bool can_start_late(const For &loop, Shape begin, Shape end) {
  if (loop.kind == LoopKind::Thread || begin != Shape::Varying || end != Shape::Uniform) return false;
  if (class_of(loop.type) != ScalarClass::Signed || !loop.step.is_constant()) return false;
  return loop.step.as_int() == 1 || loop.step.as_int() == -1;
}

class UniformityAnalysis {
 public:
  UniformityAnalysis(const Kernel &kernel, Uniformity &result, std::vector<Shape> &shapes, std::vector<bool> &steady)
      : result_(result),
        shapes_(shapes),
        steady_(steady),
        distance_(kernel.local_count),
        shared_(kernel.local_array_count),
        lane_dimension_(kernel.launch_rank - 1),
        in_lanes_(!is_tile_kernel(kernel)) {
    // Before lowering, a lane runs the whole body.
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const For *loop = stmt.as<For>();
      if (loop && loop->kind == LoopKind::Thread) in_lanes_ = false;
    });
    analyse(kernel.body);
  }

 private:
  Shape of(const Value &value) const { return value.is_local() ? shapes_[value.id()] : Shape::Uniform; }

  Lanes lanes(const Value &value) const {
    return of(value) == Shape::Linear ? Lanes{steady_[value.id()], distance_[value.id()]} : Lanes{};
  }
  void set(LocalId local, Shape shape, const Lanes &lanes) {
    shapes_[local] = shape;
    steady_[local] = lanes.steady;
    distance_[local] = lanes.distance;
  }

  void analyse(const Block &block) {
    for (const Stmt &stmt : block) {
      visit(
          stmt,
          [&](const Let &let) {
            const Shape shape = of_operation(let.value);
            set(let.local, shape, shape == Shape::Linear ? lanes_of(let.value) : Lanes{});
          },
          [](const CapturedOnly auto &) { throw InternalError("uniformity of a kernel that is not structured"); },
          [](const CustomAdjoint &) { throw InternalError("uniformity of a kernel whose adjoints are not inlined"); },
          [](const Store &) {}, [](const Accumulate &) {},
          [&](const Allocate &own) { shared_[own.array] = !in_lanes_ && own.space == MemorySpace::instance; },
          [](const LocalStore &) {}, [&](const LoadStream &stream) { shapes_[stream.inside] = Shape::Uniform; },
          [&](const LoadPack &load) {
            for (const LocalId local : load.locals) shapes_[local] = Shape::Varying;
          },
          [](const LoweredOnly auto &) {}, [](const Print &) {}, [](const Check &) {},
          [&](const If &branch) { analyse(branch); }, [&](const For &loop) { analyse(loop); },
          [&](const While &loop) { analyse(loop); });
    }
  }

  Shape of_operation(const Operation &operation) const {
    const auto &operands = operation.operands;
    bool all_uniform = true;
    for (const Value &operand : operands) all_uniform = all_uniform && of(operand) == Shape::Uniform;
    if (info(operation.op).typing == Typing::Atomic) return in_lanes_ ? Shape::Varying : Shape::Uniform;
    switch (operation.op) {
      case Op::ThreadIndex: return operation.attribute == lane_dimension_ ? Shape::Linear : Shape::Uniform;
      case Op::LocalLoad:
        if (shared_[operation.array] && all_uniform) return Shape::Uniform;
        return in_lanes_ ? Shape::Varying : Shape::Uniform;
      case Op::Exchange: return in_lanes_ ? Shape::Varying : Shape::Uniform;
      case Op::Copy: return of(operands[0]);
      default: break;
    }
    if (all_uniform) return Shape::Uniform;

    const Shape a = of(operands[0]), b = operands.size() > 1 ? of(operands[1]) : Shape::Uniform;
    const bool both_linear = a == Shape::Linear && b == Shape::Linear;
    const bool keeps_linear = can_be_linear(operation.type);
    switch (operation.op) {
      case Op::Cast: {
        const bool widens = size_of(operation.type) > size_of(operands[0].type());
        return a == Shape::Linear && keeps_linear && (!widens || lanes(operands[0]).steady) ? Shape::Linear
                                                                                            : Shape::Varying;
      }
      case Op::Add:
        return a != Shape::Varying && b != Shape::Varying && !both_linear && keeps_linear ? Shape::Linear
                                                                                          : Shape::Varying;
      case Op::Sub:
        if (both_linear) return Shape::Uniform;
        return a == Shape::Linear && b == Shape::Uniform && keeps_linear ? Shape::Linear : Shape::Varying;
      case Op::Equal:
      case Op::NotEqual: return both_linear ? Shape::Uniform : Shape::Varying;
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual:
        return both_linear && lanes(operands[0]).steady && lanes(operands[1]).steady ? Shape::Uniform : Shape::Varying;
      case Op::Select: return a == Shape::Uniform ? join(b, of(operands[2])) : Shape::Varying;
      default: return Shape::Varying;
    }
  }

  // The lanes of an operation with a Linear result.
  Lanes lanes_of(const Operation &operation) const {
    const auto &operands = operation.operands;
    switch (operation.op) {
      case Op::ThreadIndex: return {.steady = true, .distance = 0};
      case Op::Copy: return lanes(operands[0]);
      case Op::Select: return join(lanes(operands[1]), lanes(operands[2]));
      case Op::Cast: {
        const bool keeps = operation.type == ScalarType::Int64 || operation.type == operands[0].type();
        return keeps && class_of(operands[0].type()) == ScalarClass::Signed ? lanes(operands[0]) : Lanes{};
      }
      case Op::Add:
      case Op::Sub: {
        const bool first = of(operands[0]) == Shape::Linear;
        const Value &linear = operands[first ? 0 : 1], &other = operands[first ? 1 : 0];
        const Lanes before = lanes(linear);
        if (!before.distance || !other.is_constant() || class_of(operation.type) != ScalarClass::Signed) return {};
        const std::int64_t by = other.as_int();
        if (by < -most_distance || by > most_distance || *before.distance + std::abs(by) > most_distance) return {};
        return {.steady = true, .distance = *before.distance + std::abs(by)};
      }
      default: return {};
    }
  }

  void analyse(const If &branch) {
    analyse(branch.then_block);
    analyse(branch.else_block);
    for (const BranchResult &result : branch.results) {
      const Shape shape =
          of(branch.condition) == Shape::Varying ? Shape::Varying : join(of(result.then_value), of(result.else_value));
      set(result.local, shape, join(lanes(result.then_value), lanes(result.else_value)));
    }
  }

  // Repeats `iterate` until the shapes of the carried values no longer change. They only go from Uniform to Varying.
  template <class Iterate>
  void settle(const std::vector<Carried> &carried, Iterate iterate, bool late = false) {
    for (const Carried &value : carried)
      set(value.inner, late ? Shape::Varying : of(value.initial), lanes(value.initial));
    for (bool changed = true; changed;) {
      iterate();
      changed = false;
      for (const Carried &value : carried) {
        const Value inner = Value::local(value.type, value.inner);
        const Shape joined = join(of(inner), of(value.next));
        const Lanes before = lanes(inner), after = join(before, lanes(value.next));
        // A distance that grows between iterations is unbounded.
        const Lanes kept = after.distance == before.distance ? after : Lanes{};
        changed = changed || joined != of(inner) || (joined == Shape::Linear && kept != before);
        set(value.inner, joined, kept);
      }
    }
  }

  void leave(const std::vector<Carried> &carried, bool divergent) {
    for (const Carried &value : carried) {
      const Value inner = Value::local(value.type, value.inner);
      set(value.result, divergent ? Shape::Varying : of(inner), lanes(inner));
    }
  }

  void analyse(const For &loop) {
    internal_check(loop.kind != LoopKind::Thread || !in_lanes_, "a thread loop inside of a thread loop");
    const bool was_in_lanes = in_lanes_, late = can_start_late(loop, of(loop.begin), of(loop.end));
    if (loop.kind == LoopKind::Thread) {
      in_lanes_ = true;
      set(loop.index, can_be_linear(loop.type) && loop.step.is_constant(1.0) ? Shape::Linear : Shape::Varying,
          {.steady = true, .distance = 0});
    } else if (late) {
      set(loop.index, Shape::Uniform, {});
    } else {
      // Between bounds near the index of a thread loop, it is near that index, too.
      Lanes index = join(lanes(loop.begin), lanes(loop.end));
      index.steady = lanes(loop.begin).steady;
      set(loop.index, of(loop.step) == Shape::Uniform ? of(loop.begin) : Shape::Varying, index);
    }
    settle(loop.carried, [&] { analyse(loop.body); }, late);
    leave(loop.carried, !same_trips(result_, loop));
    in_lanes_ = was_in_lanes;
  }

  void analyse(const While &loop) {
    settle(loop.carried, [&] {
      analyse(loop.condition_block);
      analyse(loop.body);
    });
    leave(loop.carried, of(loop.condition) == Shape::Varying);
  }

  const Uniformity &result_;
  std::vector<Shape> &shapes_;  // of the result, as are the next
  std::vector<bool> &steady_;
  std::vector<std::optional<std::int64_t>> distance_;
  std::vector<bool> shared_;  // local arrays shared by all instances of a thread loop
  int lane_dimension_;
  bool in_lanes_;
};

}  // namespace

bool Uniformity::divergent(const For &loop) const { return loop.kind != LoopKind::Thread && !same_trips(*this, loop); }

bool Uniformity::starts_late(const For &loop) const { return can_start_late(loop, of(loop.begin), of(loop.end)); }

Uniformity uniformity(const Kernel &kernel) {
  Uniformity result;
  result.shapes_.assign(kernel.local_count, Shape::Uniform);
  result.steady_.assign(kernel.local_count, false);
  const UniformityAnalysis fixed_point(kernel, result, result.shapes_, result.steady_);
  return result;
}

}  // namespace samite::passes
