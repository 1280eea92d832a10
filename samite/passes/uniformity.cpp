#include "samite/passes/uniformity.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

namespace samite::passes {
namespace {

using namespace ir;

Shape join(Shape a, Shape b) { return a == b ? a : Shape::Varying; }

bool can_be_linear(ScalarType type) {
  return type == ScalarType::Int32 || type == ScalarType::Int64 || type == ScalarType::UInt64;
}

// All lanes run the same number of iterations: the bounds are equally far apart in each lane.
bool same_trips(Shape begin, Shape end, Shape step) {
  return step == Shape::Uniform && begin == end && begin != Shape::Varying;
}

// Lanes count in steps of one, from begins that differ to one end: all can follow the lane that starts first, each from
// its own begin on. That lane runs to the end, so no iteration is added.
bool can_start_late(const For &loop, Shape begin, Shape end) {
  if (loop.kind == LoopKind::Thread || begin != Shape::Varying || end != Shape::Uniform) return false;
  if (class_of(loop.type) != ScalarClass::Signed || !loop.step.is_constant()) return false;
  return loop.step.as_int() == 1 || loop.step.as_int() == -1;
}

class UniformityAnalysis {
 public:
  UniformityAnalysis(const Kernel &kernel, std::vector<Shape> &shapes)
      : shapes_(shapes),
        shared_(kernel.local_array_count),
        lane_dimension_(kernel.launch_rank - 1),
        in_lanes_(!is_tile_kernel(kernel)) {
    // Before lowering, the whole body is what one lane runs.
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const For *loop = stmt.as<For>();
      if (loop && loop->kind == LoopKind::Thread) in_lanes_ = false;
    });
    analyse(kernel.body);
  }

 private:
  Shape of(const Value &value) const { return value.is_local() ? shapes_[value.id()] : Shape::Uniform; }

  void analyse(const Block &block) {
    for (const Stmt &stmt : block) {
      visit(
          stmt, [&](const Let &let) { shapes_[let.local] = of_operation(let.value); },
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
      case Op::Cast: return a == Shape::Linear && keeps_linear ? Shape::Linear : Shape::Varying;
      case Op::Add:
        return a != Shape::Varying && b != Shape::Varying && !both_linear && keeps_linear ? Shape::Linear
                                                                                          : Shape::Varying;
      case Op::Sub:
        if (both_linear) return Shape::Uniform;
        return a == Shape::Linear && b == Shape::Uniform && keeps_linear ? Shape::Linear : Shape::Varying;
      case Op::Equal:
      case Op::NotEqual:
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual: return both_linear ? Shape::Uniform : Shape::Varying;
      case Op::Select: return a == Shape::Uniform ? join(b, of(operands[2])) : Shape::Varying;
      default: return Shape::Varying;
    }
  }

  void analyse(const If &branch) {
    analyse(branch.then_block);
    analyse(branch.else_block);
    for (const BranchResult &result : branch.results)
      shapes_[result.local] =
          of(branch.condition) == Shape::Varying ? Shape::Varying : join(of(result.then_value), of(result.else_value));
  }

  // Repeats `iterate` until the shapes of the carried values no longer change. They only go from Uniform to Varying.
  template <class Iterate>
  void settle(const std::vector<Carried> &carried, Iterate iterate, bool late = false) {
    for (const Carried &value : carried) shapes_[value.inner] = late ? Shape::Varying : of(value.initial);
    for (bool changed = true; changed;) {
      iterate();
      changed = false;
      for (const Carried &value : carried) {
        const Shape joined = join(shapes_[value.inner], of(value.next));
        changed = changed || joined != shapes_[value.inner];
        shapes_[value.inner] = joined;
      }
    }
  }

  void leave(const std::vector<Carried> &carried, bool divergent) {
    for (const Carried &value : carried) shapes_[value.result] = divergent ? Shape::Varying : shapes_[value.inner];
  }

  void analyse(const For &loop) {
    internal_check(loop.kind != LoopKind::Thread || !in_lanes_, "a thread loop inside of a thread loop");
    const bool was_in_lanes = in_lanes_, late = can_start_late(loop, of(loop.begin), of(loop.end));
    if (loop.kind == LoopKind::Thread) {
      in_lanes_ = true;
      shapes_[loop.index] = can_be_linear(loop.type) && loop.step.is_constant(1.0) ? Shape::Linear : Shape::Varying;
    } else if (late) {
      shapes_[loop.index] = Shape::Uniform;
    } else {
      shapes_[loop.index] = of(loop.step) == Shape::Uniform ? of(loop.begin) : Shape::Varying;
    }
    settle(loop.carried, [&] { analyse(loop.body); }, late);
    leave(loop.carried, !same_trips(of(loop.begin), of(loop.end), of(loop.step)));
    in_lanes_ = was_in_lanes;
  }

  void analyse(const While &loop) {
    settle(loop.carried, [&] {
      analyse(loop.condition_block);
      analyse(loop.body);
    });
    leave(loop.carried, of(loop.condition) == Shape::Varying);
  }

  std::vector<Shape> &shapes_;
  std::vector<bool> shared_;  // local arrays that all instances of a thread loop share
  int lane_dimension_;
  bool in_lanes_;
};

}  // namespace

bool Uniformity::divergent(const For &loop) const {
  return loop.kind != LoopKind::Thread && !same_trips(of(loop.begin), of(loop.end), of(loop.step));
}

bool Uniformity::starts_late(const For &loop) const { return can_start_late(loop, of(loop.begin), of(loop.end)); }

Uniformity uniformity(const Kernel &kernel) {
  Uniformity result;
  result.shapes_.assign(kernel.local_count, Shape::Uniform);
  const UniformityAnalysis fixed_point(kernel, result.shapes_);
  return result;
}

}  // namespace samite::passes
