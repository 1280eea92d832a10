// Runs a kernel's IR directly, one instance after another: the reference for a kernel's results.
//
// Captured, structured and lowered form. Arrays are dense. Instances run in the order of their indices, the last
// dimension fastest, so that a kernel with races has one result here. Nothing is optimised, and every number is
// computed by tests/passes/scalar_operations.h.
//
//   Arguments arguments;
//   arguments.add_array<float>({1, 2, 3}).add_array<float>({0, 0, 0}).add(2.0f);
//   arguments = interpret(kernel, {3}, arguments).arguments;
//   EXPECT_EQ(arguments.elements<float>(1), …);
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "tests/passes/scalar_operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

namespace samite::test {

using ir::Block;
using ir::LocalId;
using ir::Stmt;

struct DenseArray {
  std::vector<std::int64_t> extents;
  std::vector<Value> elements;  // constants; the last dimension is the fastest

  friend bool operator==(const DenseArray &, const DenseArray &) = default;
};

// The arguments of a launch, in the order of the kernel's parameters. Two parameters may be one array.
class Arguments {
 public:
  Arguments &add(Value scalar) {
    scalars_.push_back(scalar);
    array_of_.push_back(std::nullopt);
    return *this;
  }
  template <Scalar T>
  Arguments &add(T scalar) {
    return add(boxed(scalar));
  }

  Arguments &add(DenseArray array) {
    arrays_.push_back(std::move(array));
    return add_array_number(arrays_.size() - 1);
  }
  // The default is rank 1.
  template <Scalar T>
  Arguments &add_array(const std::vector<T> &elements, std::vector<std::int64_t> extents = {}) {
    DenseArray array{std::move(extents), {}};
    if (array.extents.empty()) array.extents = {static_cast<std::int64_t>(elements.size())};
    for (T element : elements) array.elements.push_back(boxed(element));
    return add(std::move(array));
  }
  // The array that was added for `parameter`, once more.
  Arguments &add_same_array(std::size_t parameter) { return add_array_number(array_of_.at(parameter).value()); }

  const Value &scalar(std::size_t parameter) const { return scalars_.at(parameter); }
  DenseArray &array(std::size_t parameter) { return arrays_.at(array_of_.at(parameter).value()); }
  const DenseArray &array(std::size_t parameter) const { return arrays_.at(array_of_.at(parameter).value()); }

  template <Scalar T>
  std::vector<T> elements(std::size_t parameter) const {
    std::vector<T> elements;
    for (const Value &element : array(parameter).elements) elements.push_back(unboxed<T>(element));
    return elements;
  }

  std::size_t size() const { return scalars_.size(); }
  const std::vector<DenseArray> &arrays() const { return arrays_; }

 private:
  Arguments &add_array_number(std::size_t number) {
    scalars_.push_back(Value::boolean(false));
    array_of_.push_back(number);
    return *this;
  }

  std::vector<Value> scalars_;
  std::vector<std::optional<std::size_t>> array_of_;
  std::vector<DenseArray> arrays_;
};

struct InterpretOptions {
  // After lower_threads the body holds the loops over the launch, and runs once.
  bool lowered = false;
  // For kernels made at random: each loop is left after this many iterations, as if it had ended there.
  std::optional<int> most_iterations = std::nullopt;
  // For kernels made at random: an index counts modulo the extent, and a local array has 1 to 8 elements. Otherwise an
  // index outside throws.
  bool wrap_indices = false;
  // If set, floating products are rounded randomly to the nearest number or one of its neighbours: as if a compiler
  // fused some copies of an expression and not others.
  std::optional<unsigned> unsteady_products = std::nullopt;
  // The first index of the launch in each dimension, 0 by default. It ends at its extents.
  std::vector<std::int64_t> begin = {};
  // A kernel that executes more statements than this throws; each iteration counts as one more.
  std::int64_t most_statements = 10'000'000;
};

struct Interpretation {
  Arguments arguments;                // with the arrays after the launch
  std::int64_t statements = 0;        // executed
  std::int64_t local_elements = 0;    // of local arrays that were allocated, all together
  std::vector<std::string> said{};    // by prints, and by checks that failed, which begin with the instance
  bool added_opposite_zeros = false;  // -0 + 0 or -0 - -0, which reveals a fold of x + 0 to x
};

class Interpreter {
 public:
  Interpreter(const ir::Kernel &kernel, std::vector<std::int64_t> launch, Arguments arguments, InterpretOptions options)
      : kernel_(kernel),
        launch_(std::move(launch)),
        options_(options),
        state_{std::move(arguments)},
        unsteady_(options.unsteady_products.value_or(0)) {
    if (launch_.size() != static_cast<std::size_t>(kernel.launch_rank) ||
        state_.arguments.size() != kernel.parameters.size())
      throw std::invalid_argument("the launch does not fit the kernel");
  }

  Interpretation run() {
    if (options_.lowered)
      run_instance();
    else
      run_dimension(0);
    return std::move(state_);
  }

 private:
  [[noreturn]] void fail(const std::string &message) const {
    throw std::runtime_error(message + (statement_ ? " in: " + to_string(*statement_, kernel_.parameters) : ""));
  }

  void run_dimension(std::size_t dimension) {
    if (dimension == launch_.size()) return run_instance();
    for (std::int64_t i = begin(dimension); i < launch_[dimension]; ++i) {
      thread_index_[dimension] = i;
      run_dimension(dimension + 1);
    }
  }

  std::int64_t begin(std::size_t dimension) const { return options_.begin.empty() ? 0 : options_.begin.at(dimension); }

  void run_instance() {
    locals_.assign(kernel_.local_count, std::nullopt);
    local_arrays_.assign(kernel_.local_array_count, std::nullopt);
    run(kernel_.body);
  }

  void run(const Block &block) {
    for (const Stmt &stmt : block) {
      statement_ = &stmt;
      count_statement();
      ir::visit(stmt, [&](const auto &kind) { execute(kind); });
      if (leaving_) return;
    }
  }

  void count_statement() {
    if (++state_.statements > options_.most_statements) fail("too many statements");
  }

  Value value(const Value &operand) const {
    switch (operand.kind()) {
      case Value::Kind::Parameter: return canonical(state_.arguments.scalar(operand.parameter_index()));
      case Value::Kind::Constant: return canonical(operand);
      case Value::Kind::Local: break;
    }
    const auto &local = locals_.at(operand.id());
    if (!local) fail("a local is read before it is defined");
    if (local->type() != operand.type()) fail("a local is read as another type");
    return *local;
  }

  // With the one NaN of this interpreter.
  static Value canonical(const Value &constant) {
    return with_host_type(constant.type(), [&]<class T>(T) { return boxed(unboxed<T>(constant)); });
  }

  std::vector<Value> values(const std::vector<Value> &operands) const {
    std::vector<Value> known;
    for (const Value &operand : operands) known.push_back(value(operand));
    return known;
  }

  Value &element(std::uint32_t parameter, std::span<const Value> indices) {
    DenseArray &array = state_.arguments.array(parameter);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      std::int64_t index = value(indices[d]).as_int(), extent = array.extents.at(d);
      if (options_.wrap_indices) index = ((index % extent) + extent) % extent;
      if (index < 0 || index >= extent) fail("index " + std::to_string(index) + " is outside of the array");
      offset = offset * extent + index;
    }
    return array.elements.at(static_cast<std::size_t>(offset));
  }

  Value &local_element(ir::LocalArrayId id, const Value &operand) {
    auto &array = local_arrays_.at(id);
    if (!array) fail("a local array is used before it is allocated");
    auto size = static_cast<std::int64_t>(array->size());
    std::int64_t index = value(operand).as_int();
    if (options_.wrap_indices && size > 0) index = ((index % size) + size) % size;
    if (index < 0 || index >= size) fail("index " + std::to_string(index) + " is outside of the local array");
    return array->at(static_cast<std::size_t>(index));
  }

  Value compute(const ir::Operation &operation) {
    auto index = [&](std::int64_t number) { return Value::constant(operation.type, number); };
    switch (operation.op) {
      case Op::ThreadIndex: return index(thread_index_.at(static_cast<std::size_t>(operation.attribute)));
      case Op::LaunchBegin: return index(begin(static_cast<std::size_t>(operation.attribute)));
      case Op::LaunchEnd: return index(launch_.at(static_cast<std::size_t>(operation.attribute)));
      case Op::Extent:
        return index(state_.arguments.array(operation.array).extents.at(static_cast<std::size_t>(operation.attribute)));
      case Op::Load: return canonical(element(operation.array, operation.operands));
      case Op::LocalLoad: return canonical(local_element(operation.array, operation.operands[0]));
      case Op::Exchange:
        return std::exchange(element(operation.array, operation.operands), Value::zero(operation.type));
      default: break;
    }
    if (ir::info(operation.op).typing == Typing::Atomic) return atomic(operation);
    std::vector<Value> operands = values(operation.operands);
    if (is_floating(operation.type)) note_zeros(operation.op, operands);
    const Value result = evaluate(operation.op, operation.type, operands);
    if (!options_.unsteady_products || operation.op != Op::Mul || operation.type != ScalarType::Float64) return result;
    const double exact = result.as_double(), infinity = std::numeric_limits<double>::infinity();
    const std::array<double, 3> rounded{std::nextafter(exact, -infinity), exact, std::nextafter(exact, infinity)};
    return Value::constant(operation.type, rounded.at(unsteady_() % 3));
  }

  Value atomic(const ir::Operation &operation) {
    Value &place = element(operation.array, ir::element_indices(operation));
    const Value before = place, old = canonical(before);
    auto operands = ir::element_values(operation);
    const Value first = value(operands[0]);
    const Op combined = ir::combination(operation.op);
    if (operation.op == Op::AtomicCompareExchange) {
      if (before == first) place = value(operands[1]);
    } else if (combined == Op::Copy) {
      place = first;
    } else {
      std::array<Value, 2> both{old, first};
      if (is_floating(operation.type)) note_zeros(combined, {both.begin(), both.end()});
      place = evaluate(combined, operation.type, both);
    }
    return old;
  }

  void note_zeros(Op op, const std::vector<Value> &operands) {
    if (op != Op::Add && op != Op::Sub) return;
    double a = operands[0].as_double(), b = operands[1].as_double();
    if (a != 0 || b != 0) return;
    bool shows = op == Op::Add ? std::signbit(a) != std::signbit(b) : std::signbit(a) && std::signbit(b);
    state_.added_opposite_zeros = state_.added_opposite_zeros || shows;
  }

  void execute(const ir::Let &let) { locals_.at(let.local) = compute(let.value); }
  void execute(const ir::Assign &assign) { locals_.at(assign.local) = value(assign.value); }
  void execute(const ir::Store &store) { element(store.array, store.indices) = value(store.value); }
  void execute(const ir::Accumulate &accumulate) {
    Value &sum = element(accumulate.array, accumulate.indices);
    std::array<Value, 2> operands{sum, value(accumulate.value)};
    sum = evaluate(Op::Add, sum.type(), operands);
  }

  void execute(const ir::Allocate &allocate) {
    std::int64_t size = value(allocate.size).as_int();
    if (options_.wrap_indices) size = std::clamp<std::int64_t>(size, 1, 8);
    // The initial contents are unspecified. Here it is zero, each time.
    state_.local_elements += std::max<std::int64_t>(size, 0);
    local_arrays_.at(allocate.array)
        .emplace(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), Value::zero(allocate.type));
  }
  // The elements; the first is at the start of a unit of this many.
  std::span<Value> elements(std::uint32_t parameter, std::span<const Value> indices, std::size_t count) {
    std::vector<Value> &all = state_.arguments.array(parameter).elements;
    const auto first = static_cast<std::size_t>(&element(parameter, indices) - all.data());
    if (first % count != 0 || first + count > all.size()) fail("elements that are no unit");
    return std::span(all).subspan(first, count);
  }
  void execute(const ir::LoadPack &load) {
    const std::span<Value> from = elements(load.array, load.indices, load.locals.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      locals_.at(load.locals[i]) = canonical(from[i]);
      if (load.how == ir::LoadPack::How::take) from[i] = Value::zero(load.type);
    }
  }
  void execute(const ir::StorePack &store) {
    const std::span<Value> to = elements(store.array, store.indices, store.values.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::array<Value, 2> operands{to[i], value(store.values[i])};
      to[i] = store.adds() ? evaluate(Op::Add, to[i].type(), operands) : operands[1];
    }
  }
  void execute(const ir::LoweredOnly auto &) { throw std::logic_error("a tile kernel"); }
  void execute(const ir::LocalStore &store) { local_element(store.array, store.index) = value(store.value); }

  std::string text(const ir::Message &message) const {
    std::string text = message.texts[0];
    for (std::size_t i = 0; i < message.values.size(); ++i)
      text += to_string(value(message.values[i]), {}) + message.texts[i + 1];
    return text;
  }
  void execute(const ir::Print &print) { state_.said.push_back(text(print.message)); }
  void execute(const ir::Check &check) {
    if (value(check.condition).bits() != 0) return;
    std::string instance;
    for (std::size_t d = 0; d < launch_.size(); ++d)
      instance += std::to_string(options_.lowered ? value(check.instance[d]).as_int() : thread_index_.at(d)) + " ";
    state_.said.push_back(instance + text(check.message));
  }

  void execute(const ir::If &branch) {
    const bool taken = value(branch.condition).bits() != 0;
    run(taken ? branch.then_block : branch.else_block);
    if (leaving_) return;
    for (const ir::BranchResult &result : branch.results)
      locals_.at(result.local) = value(taken ? result.then_value : result.else_value);
  }

  bool may_iterate(int iterations) {
    count_statement();  // so that an empty loop that never ends is noticed, too
    return !options_.most_iterations || iterations < *options_.most_iterations;
  }

  void execute(const ir::For &loop) {
    const Value end = value(loop.end), step = value(loop.step);
    const bool down = class_of(loop.type) == ScalarClass::Signed && step.as_int() < 0;
    Value index = value(loop.begin);
    begin_carried(loop.carried);
    for (int i = 0; may_iterate(i); ++i) {
      std::array<Value, 2> bounds{index, end};
      if (evaluate(down ? Op::Greater : Op::Less, ScalarType::Bool, bounds).bits() == 0) break;
      locals_.at(loop.index) = index;
      run(loop.body);
      if (leaving_) return;
      advance_carried(loop.carried);
      std::array<Value, 2> sum{index, step};
      index = evaluate(Op::Add, loop.type, sum);
    }
    end_carried(loop.carried);
  }

  void execute(const ir::While &loop) {
    begin_carried(loop.carried);
    for (int i = 0; may_iterate(i); ++i) {
      run(loop.condition_block);
      if (value(loop.condition).bits() == 0) break;
      run(loop.body);
      if (leaving_) return;
      advance_carried(loop.carried);
    }
    end_carried(loop.carried);
  }

  void execute(const ir::Labelled &labelled) {
    run(labelled.body);
    if (leaving_ == labelled.label) leaving_.reset();
  }
  void execute(const ir::Leave &leave) { leaving_ = leave.label; }

  void execute(const ir::CustomAdjoint &custom) {
    for (const ir::CustomOperand &each : custom.operands) locals_.at(each.inner) = value(each.operand);
    run(custom.primal);
    for (const ir::CustomResult &result : custom.results) locals_.at(result.local) = value(result.value);
  }
  void execute(const ir::AdjointCall &) { fail("a call of an adjoint is not expanded"); }

  void begin_carried(const std::vector<ir::Carried> &carried) {
    std::vector<Value> initial;
    for (const ir::Carried &each : carried) initial.push_back(value(each.initial));
    for (std::size_t i = 0; i < carried.size(); ++i) locals_.at(carried[i].inner) = initial[i];
  }
  void advance_carried(const std::vector<ir::Carried> &carried) {
    // All are read before any is written: one may be another's next.
    std::vector<Value> next;
    for (const ir::Carried &each : carried) next.push_back(value(each.next));
    for (std::size_t i = 0; i < carried.size(); ++i) locals_.at(carried[i].inner) = next[i];
  }
  void end_carried(const std::vector<ir::Carried> &carried) {
    for (const ir::Carried &each : carried) locals_.at(each.result) = locals_.at(each.inner);
  }

  const ir::Kernel &kernel_;
  std::vector<std::int64_t> launch_;
  InterpretOptions options_;
  Interpretation state_;
  std::mt19937 unsteady_;
  std::array<std::int64_t, ir::maximum_rank> thread_index_{};
  std::vector<std::optional<Value>> locals_;
  std::vector<std::optional<std::vector<Value>>> local_arrays_;
  std::optional<ir::LabelId> leaving_;  // on the way out of the blocks inside of it
  const Stmt *statement_ = nullptr;
};

// Throws std::runtime_error if the kernel does something that no kernel may do: see InterpretOptions.
inline Interpretation interpret(const ir::Kernel &kernel, std::vector<std::int64_t> launch, Arguments arguments,
                                InterpretOptions options = {}) {
  return Interpreter(kernel, std::move(launch), std::move(arguments), options).run();
}

}  // namespace samite::test
