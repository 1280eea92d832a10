#include "samite/passes/relax_atomics.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

// What is known of an integer local across the instances of a launch.
struct Shift {
  enum class Kind : std::uint8_t { Unknown, Invariant, Thread } kind = Kind::Unknown;
  int dimension = 0;                     // of Thread: thread_index(dimension) plus an invariant
  std::optional<std::int64_t> offset{};  // the invariant, where it is a constant
};

class ShiftAnalysis {
 public:
  explicit ShiftAnalysis(const Kernel &kernel) : shifts_(kernel.local_count) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (auto *let = stmt.as<Let>()) shifts_[let->local] = shift(let->value);
    });
  }

  Shift operator()(const Value &value) const {
    return value.is_local() ? shifts_[value.id()] : Shift{Shift::Kind::Invariant};
  }

 private:
  Shift shift(const Operation &operation) const {
    if (operation.op == Op::ThreadIndex) return {Shift::Kind::Thread, operation.attribute, 0};
    if (operation.op == Op::Extent) return {Shift::Kind::Invariant};
    if (!info(operation.op).pure || operation.operands.empty()) return {};
    bool invariant = std::all_of(operation.operands.begin(), operation.operands.end(),
                                 [&](const Value &operand) { return (*this)(operand).kind == Shift::Kind::Invariant; });
    if (invariant) return {Shift::Kind::Invariant};
    bool is_sum = operation.op == Op::Add || operation.op == Op::Sub || operation.op == Op::Cast;
    // Integers wrap, and different ones stay different; floating numbers are rounded, and may become one.
    if (!is_sum || !is_integer(operation.type) || !is_integer(operation.operands[0].type())) return {};
    // Only widening casts keep different indices different.
    if (operation.op == Op::Cast)
      return size_of(operation.type) >= size_of(operation.operands[0].type()) ? (*this)(operation.operands[0])
                                                                              : Shift{};
    Shift a = (*this)(operation.operands[0]), b = (*this)(operation.operands[1]);
    if (a.kind == Shift::Kind::Thread && b.kind == Shift::Kind::Invariant)
      return moved(a, operation.operands[1], operation.op == Op::Add ? 1 : -1);
    if (operation.op == Op::Add && a.kind == Shift::Kind::Invariant && b.kind == Shift::Kind::Thread)
      return moved(b, operation.operands[0], 1);
    return {};
  }

  static Shift moved(Shift shift, const Value &by, std::int64_t sign) {
    if (shift.offset && by.is_constant())
      *shift.offset += sign * by.as_int();
    else
      shift.offset.reset();
    return shift;
  }

  std::vector<Shift> shifts_;
};

// The accesses to one array, as far as they tell instances apart. Where one of the indices is the same shift of
// thread_index(k) in all of them, two instances that meet at an element have the same thread_index(k), whatever the
// other indices are.
class Accesses {
 public:
  void add(const std::vector<Value> &indices, const ShiftAnalysis &shift) {
    if (places_.empty())
      for (const Value &index : indices) places_.push_back({index, shift(index)});
    else
      for (std::size_t d = 0; d < indices.size(); ++d)
        if (!same(places_[d], {indices[d], shift(indices[d])})) places_[d].shift.kind = Shift::Kind::Unknown;
  }

  bool one_to_one(int launch_rank) const {
    for (int dimension = 0; dimension < launch_rank; ++dimension)
      if (std::none_of(places_.begin(), places_.end(), [&](const Place &place) {
            return place.shift.kind == Shift::Kind::Thread && place.shift.dimension == dimension;
          }))
        return false;
    return true;
  }

 private:
  struct Place {
    Value index;
    Shift shift;
  };

  static bool same(const Place &a, const Place &b) {
    if (a.index == b.index) return true;
    return a.shift.kind == Shift::Kind::Thread && b.shift.kind == Shift::Kind::Thread &&
           a.shift.dimension == b.shift.dimension && a.shift.offset && a.shift.offset == b.shift.offset;
  }

  std::vector<Place> places_;
};

// The indices of a gradient access, or null.
const std::vector<Value> *gradient_access(const Kernel &kernel, const Stmt &stmt, std::uint32_t &array) {
  const std::vector<Value> *indices = nullptr;
  if (auto *accumulate = stmt.as<Accumulate>()) {
    array = accumulate->array;
    indices = &accumulate->indices;
  } else if (auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Load) {
    array = let->value.array;
    indices = &let->value.operands;
  }
  return indices && kernel.parameters[array].role == Role::Gradient ? indices : nullptr;
}

Block relax(const Block &block, const std::vector<bool> &plain) {
  Block relaxed;
  for (const Stmt &stmt : block) {
    visit(
        stmt,
        [&](Let let) {
          if (let.value.op == Op::Exchange && plain[let.value.array]) let.value.attribute = 1;
          relaxed.push_back({std::move(let), stmt.where()});
        },
        [&](Accumulate accumulate) {
          accumulate.atomic = accumulate.atomic && !plain[accumulate.array];
          relaxed.push_back({std::move(accumulate), stmt.where()});
        },
        [&](If branch) {
          branch.then_block = relax(branch.then_block, plain);
          branch.else_block = relax(branch.else_block, plain);
          relaxed.push_back({std::move(branch), stmt.where()});
        },
        [&](For loop) {
          loop.body = relax(loop.body, plain);
          relaxed.push_back({std::move(loop), stmt.where()});
        },
        [&](While loop) {
          loop.condition_block = relax(loop.condition_block, plain);
          loop.body = relax(loop.body, plain);
          relaxed.push_back({std::move(loop), stmt.where()});
        },
        [&](const auto &) { relaxed.push_back(stmt); });
  }
  return relaxed;
}

}  // namespace

Kernel relax_atomics(const Kernel &adjoint) {
  ShiftAnalysis shift(adjoint);
  std::vector<Accesses> accesses(adjoint.parameters.size());
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    std::uint32_t array = 0;
    if (const std::vector<Value> *indices = gradient_access(adjoint, stmt, array)) accesses[array].add(*indices, shift);
  });
  std::vector<bool> plain(adjoint.parameters.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    plain[i] = adjoint.parameters[i].role == Role::Gradient && accesses[i].one_to_one(adjoint.launch_rank);
  Kernel relaxed = adjoint;
  relaxed.body = relax(adjoint.body, plain);
  return relaxed;
}

}  // namespace samite::passes
