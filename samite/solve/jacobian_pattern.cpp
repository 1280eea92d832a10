#include "samite/solve/jacobian_pattern.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/fold.h"
#include "samite/runtime/buffer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace samite::solvers::detail {
namespace {

using namespace ir;
using Elements = std::vector<std::int32_t>;  // of the input, in increasing order

// An integer's or a condition's value, unless it depends on floating-point numbers; a floating-point number's elements.
struct Symbolic {
  std::optional<Value> known = {};
  Elements elements = {};
};

void add_elements(Elements &to, const Elements &more) {
  if (more.empty()) return;
  if (to.empty()) {
    to = more;
    return;
  }
  Elements both;
  both.reserve(to.size() + more.size());
  std::set_union(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(both));
  to.swap(both);
}

std::optional<Value> evaluated(const Operation &operation) {
  if (auto folded = passes::fold(operation); folded && folded->is_constant()) return folded;
  if (operation.operands.empty()) return std::nullopt;
  const Value &x = operation.operands[0];
  if (operation.op == Op::Abs && is_integer(operation.type.element()))
    return Value::constant(operation.type, x.as_int() < 0 ? -x.as_int() : x.as_int());
  if (operation.operands.size() != 2) return std::nullopt;
  // As kernels have them: x / 0 is 0, x % 0 is x, and a shift counts modulo the width.
  const Value &y = operation.operands[1];
  const std::uint64_t count = y.bits() % (8 * size_of(operation.type.element()));
  const bool is_signed = class_of(x.type()) == ScalarClass::Signed;
  switch (operation.op) {
    case Op::Div:
      return y.bits() == 0 ? Value::zero(operation.type)
                           : Value::constant(operation.type, static_cast<std::int64_t>(0 - x.bits()));  // by -1
    case Op::Rem: return y.bits() == 0 ? x : Value::zero(operation.type);
    case Op::ShiftLeft: return Value::constant(operation.type, static_cast<std::int64_t>(x.bits() << count));
    case Op::ShiftRight:
      return Value::constant(operation.type,
                             is_signed ? x.as_int() >> count : static_cast<std::int64_t>(x.bits() >> count));
    default: return std::nullopt;
  }
}

template <class T>
std::vector<Value> constants_of(const AnyBuffer &buffer) {
  std::vector<Value> constants;
  constants.reserve(static_cast<std::size_t>(buffer.count()));
  for (const T element : Buffer<T>(buffer).to_vector())
    constants.push_back(Value::constant(scalar_type_of<T>, static_cast<std::int64_t>(element)));
  return constants;
}

std::vector<Value> constants_of(const AnyBuffer &buffer) {
  switch (buffer.type()) {
    case ScalarType::Bool: return constants_of<bool>(buffer);
    case ScalarType::Int8: return constants_of<std::int8_t>(buffer);
    case ScalarType::UInt8: return constants_of<std::uint8_t>(buffer);
    case ScalarType::Int16: return constants_of<std::int16_t>(buffer);
    case ScalarType::UInt16: return constants_of<std::uint16_t>(buffer);
    case ScalarType::Int32: return constants_of<std::int32_t>(buffer);
    case ScalarType::UInt32: return constants_of<std::uint32_t>(buffer);
    case ScalarType::Int64: return constants_of<std::int64_t>(buffer);
    case ScalarType::UInt64: return constants_of<std::uint64_t>(buffer);
    default: return {};
  }
}

class SymbolicRun {
 public:
  SymbolicRun(const ir::Kernel &kernel, const Extents &extents, std::span<const jit::Argument> arguments,
              std::uint32_t input, SourceLocation where)
      : kernel_(kernel), arguments_(arguments), input_(input), where_(where), locals_(kernel.local_count) {
    if (is_tile_kernel(kernel)) refuse("it is a kernel of tiles; a kernel of threads is expected", kernel.where);
    integers_.resize(kernel.parameters.size());
    elements_.resize(kernel.parameters.size());
    written_.resize(kernel.parameters.size());
    for_each_statement(kernel, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written_[*array] = true;
    });
    if (written_[input]) refuse("it writes to the input", kernel.where);
    const int rank = kernel.launch_rank;
    std::int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= extents[d];
    for (std::int64_t instance = 0; instance < count; ++instance) {
      std::int64_t rest = instance;
      for (int d = rank - 1; d >= 0; --d) index_[static_cast<std::size_t>(d)] = rest % extents[d], rest /= extents[d];
      local_arrays_.clear();
      run(kernel.body);
    }
  }

  std::unordered_map<std::int64_t, Elements> take(std::uint32_t array) { return std::move(elements_[array]); }

 private:
  [[noreturn]] void refuse(const std::string &why, SourceLocation at) const {
    throw UserError(where_, "sparse_jacobian: no pattern of kernel '" + kernel_.name + "' is known: " + why + ", " +
                                at.to_string());
  }

  Symbolic of(const Value &value) const {
    if (value.is_local()) return locals_[value.id()];
    if (value.is_constant()) return {is_floating(value.type()) ? std::optional<Value>() : value, {}};
    if (is_floating(value.type())) return {};
    return {Value::from_bits(value.type(), scalar_bits(value)), {}};
  }

  // The bits of an integer argument, extended like constants of the IR.
  std::uint64_t scalar_bits(const Value &parameter) const {
    const std::uint64_t bits = arguments_[parameter.parameter_index()].scalar;
    const std::size_t bytes = size_of(parameter.type().element());
    const std::uint64_t own = bytes == 8 ? bits : bits & ((std::uint64_t{1} << (8 * bytes)) - 1);
    return Value::constant(parameter.type(), static_cast<std::int64_t>(own)).bits();
  }

  std::int64_t integer(const Value &value, const char *what, SourceLocation at) const {
    const std::optional<Value> known = of(value).known;
    if (!known)
      refuse(std::string(what) + " depends on floating-point numbers, or on integers that the kernel writes", at);
    return class_of(known->type()) == ScalarClass::Signed ? known->as_int() : static_cast<std::int64_t>(known->bits());
  }

  // The number of an element in row-major order, or nothing outside of the array.
  std::optional<std::int64_t> element(std::uint32_t array, std::span<const Value> indices, SourceLocation at) const {
    const Extents &extents = arguments_[array].buffer->extents();
    std::int64_t number = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::int64_t index = integer(indices[d], "an index", at), extent = extents[static_cast<int>(d)];
      if (index < 0 || index >= extent) return std::nullopt;
      number = number * extent + index;
    }
    return number;
  }

  void run(const Block &block) {
    for (const Stmt &stmt : block) run(stmt);
  }

  void run(const Stmt &stmt) {
    visit(
        stmt, [&](const Let &let) { locals_[let.local] = result(let.value, stmt.where()); },
        [&](const Store &store) { put(store.array, store.indices, of(store.value), !maybe_, stmt.where()); },
        [&](const Accumulate &sum) { put(sum.array, sum.indices, of(sum.value), false, stmt.where()); },
        [&](const Allocate &allocate) {
          const std::int64_t size = integer(allocate.size, "the size of a local array", stmt.where());
          local_arrays_[allocate.array].assign(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), {});
        },
        [&](const LocalStore &store) {
          if (Symbolic *to = local_element(store.array, store.index, stmt.where())) {
            const Elements before = to->elements;
            const std::optional<Value> known = to->known;
            *to = of(store.value);
            if (!maybe_) return;
            add_elements(to->elements, before);
            if (known != to->known) to->known.reset();
          }
        },
        [&](const If &branch) { run(branch); }, [&](const For &loop) { run(loop, stmt.where()); },
        [&](const While &loop) { run(loop, stmt.where()); }, [](const Print &) {}, [](const Check &) {},
        [&](const auto &) { refuse("it has a statement that cannot be followed", stmt.where()); });
  }

  Symbolic *local_element(std::uint32_t array, const Value &index, SourceLocation at) {
    auto &elements = local_arrays_[array];
    const std::int64_t place = integer(index, "an index", at);
    return place >= 0 && place < static_cast<std::int64_t>(elements.size()) ? &elements[static_cast<std::size_t>(place)]
                                                                            : nullptr;
  }

  void put(std::uint32_t array, std::span<const Value> indices, const Symbolic &value, bool replaces,
           SourceLocation at) {
    if (!is_floating(kernel_.parameters[array].type)) return;
    const auto number = element(array, indices, at);
    if (!number) return;
    if (replaces && value.elements.empty()) {
      elements_[array].erase(*number);
    } else if (!value.elements.empty()) {
      Elements &to = elements_[array][*number];
      if (replaces) to.clear();
      add_elements(to, value.elements);
    }
  }

  Symbolic loaded(const Operation &operation, SourceLocation at) {
    const std::uint32_t array = operation.array;
    if (!is_floating(operation.type)) {
      if (written_[array]) return {};
      const auto number = element(array, operation.operands, at);
      if (!number) return {};
      if (integers_[array].empty()) integers_[array] = constants_of(arguments_[array].buffer->clone());
      return {integers_[array][static_cast<std::size_t>(*number)], {}};
    }
    if (array != input_ && !written_[array]) return {};
    const auto number = element(array, element_indices(operation), at);
    if (!number) return {};
    if (array == input_) return {{}, {static_cast<std::int32_t>(*number)}};
    const auto found = elements_[array].find(*number);
    Symbolic value{{}, found == elements_[array].end() ? Elements() : found->second};
    if (operation.op == Op::Exchange && !maybe_ && found != elements_[array].end()) elements_[array].erase(found);
    return value;
  }

  Symbolic result(const Operation &operation, SourceLocation at) {
    switch (operation.op) {
      case Op::ThreadIndex:
        return {Value::constant(operation.type, index_[static_cast<std::size_t>(operation.attribute)]), {}};
      case Op::Extent:
        return {Value::constant(operation.type, arguments_[operation.array].buffer->extents()[operation.attribute]),
                {}};
      case Op::Load:
      case Op::Exchange: return loaded(operation, at);
      case Op::LocalLoad: {
        const Symbolic *from = local_element(operation.array, operation.operands[0], at);
        return from ? *from : Symbolic();
      }
      case Op::Select: return selected(operation);
      case Op::Unavailable: return {};
      default: break;
    }
    if (info(operation.op).typing == Typing::Atomic) {
      if (is_floating(operation.type)) refuse("it reads the result of an atomic step on floating-point numbers", at);
      return {};
    }
    Symbolic value;
    if (is_floating(operation.type)) {
      for (const Value &operand : operation.operands)
        if (operand.is_local() && is_floating(operand.type()))
          add_elements(value.elements, locals_[operand.id()].elements);
      return value;
    }
    Operation known{operation.op, operation.type, {}, operation.array, operation.attribute};
    for (const Value &operand : operation.operands) {
      const std::optional<Value> constant = of(operand).known;
      if (!constant) return {};
      known.operands.push_back(*constant);
    }
    return {evaluated(known), {}};
  }

  Symbolic selected(const Operation &operation) const {
    if (const auto condition = of(operation.operands[0]).known)
      return of(operation.operands[condition->bits() ? 1 : 2]);
    return either(of(operation.operands[1]), of(operation.operands[2]));
  }

  static Symbolic either(Symbolic a, const Symbolic &b) {
    if (a.known != b.known) a.known.reset();
    add_elements(a.elements, b.elements);
    return a;
  }

  void run(const If &branch) {
    const std::optional<Value> condition = of(branch.condition).known;
    if (condition) {
      const bool taken = condition->bits() != 0;
      run(taken ? branch.then_block : branch.else_block);
      for (const BranchResult &each : branch.results)
        locals_[each.local] = of(taken ? each.then_value : each.else_value);
      return;
    }
    ++maybe_;
    run(branch.then_block);
    std::vector<Symbolic> results;
    for (const BranchResult &each : branch.results) results.push_back(of(each.then_value));
    run(branch.else_block);
    for (std::size_t i = 0; i < results.size(); ++i)
      locals_[branch.results[i].local] = either(std::move(results[i]), of(branch.results[i].else_value));
    --maybe_;
  }

  void begin(const std::vector<Carried> &carried) {
    for (const Carried &each : carried) locals_[each.inner] = of(each.initial);
  }
  void advance(const std::vector<Carried> &carried) {
    std::vector<Symbolic> next;
    for (const Carried &each : carried) next.push_back(of(each.next));
    for (std::size_t i = 0; i < next.size(); ++i) locals_[carried[i].inner] = std::move(next[i]);
  }
  void end(const std::vector<Carried> &carried) {
    for (const Carried &each : carried) locals_[each.result] = locals_[each.inner];
  }

  void run(const For &loop, SourceLocation at) {
    const char *what = "the number of iterations of a loop";
    const std::int64_t first = integer(loop.begin, what, at), last = integer(loop.end, what, at),
                       step = integer(loop.step, what, at);
    begin(loop.carried);
    for (std::int64_t i = first; step > 0 ? i < last : step < 0 && i > last; i += step) {
      locals_[loop.index] = {Value::constant(loop.type, i), {}};
      run(loop.body);
      advance(loop.carried);
    }
    end(loop.carried);
  }

  void run(const While &loop, SourceLocation at) {
    begin(loop.carried);
    while (true) {
      run(loop.condition_block);
      if (integer(loop.condition, "the condition of a loop", at) == 0) break;
      run(loop.body);
      advance(loop.carried);
    }
    end(loop.carried);
  }

  const ir::Kernel &kernel_;
  std::span<const jit::Argument> arguments_;
  std::uint32_t input_;
  SourceLocation where_;
  std::array<std::int64_t, ir::maximum_rank> index_{};
  std::vector<Symbolic> locals_;
  std::unordered_map<LocalArrayId, std::vector<Symbolic>> local_arrays_;
  std::vector<std::vector<Value>> integers_;                          // of arrays of integers, once they are read
  std::vector<std::unordered_map<std::int64_t, Elements>> elements_;  // of arrays that the kernel writes
  std::vector<bool> written_;
  int maybe_ = 0;  // enclosing branches whose condition is not known
};

}  // namespace

ElementPattern element_pattern(const ir::Kernel &kernel, const Extents &extents,
                               std::span<const jit::Argument> arguments, std::uint32_t input, std::uint32_t output,
                               SourceLocation where) {
  const auto rows = SymbolicRun(kernel, extents, arguments, input, where).take(output);
  ElementPattern pattern{{0}, {}};
  for (std::int64_t row = 0; row < arguments[output].buffer->count(); ++row) {
    if (const auto found = rows.find(row); found != rows.end())
      pattern.indices.insert(pattern.indices.end(), found->second.begin(), found->second.end());
    pattern.offsets.push_back(static_cast<std::int64_t>(pattern.indices.size()));
  }
  return pattern;
}

}  // namespace samite::solvers::detail
