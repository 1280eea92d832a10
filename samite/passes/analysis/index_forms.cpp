#include "samite/passes/analysis/index_forms.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace samite::passes {

using namespace ir;

namespace {

// Bits of `depends_on`: unknown dependence, the dimensions of the launch, and the enclosing loops by their depth. The
// innermost loops of very deep nests share one.
constexpr std::uint64_t unknown_index = 1;
constexpr std::uint64_t thread_index_of(std::int32_t dimension) { return std::uint64_t{2} << dimension; }
constexpr std::uint64_t loop_at(int depth) {
  constexpr int first = 1 + maximum_rank;
  return std::uint64_t{1} << std::min(first + depth, 63);
}

constexpr std::int64_t largest_index = std::int64_t{1} << 62;

IndexForm nothing_known() { return {Affine::unknown(), {}, 0, true, 0, {}, 1, ~std::uint64_t{0}}; }

}  // namespace

class IndexForms::Reader {
 public:
  Reader(IndexForms &forms, const Kernel &kernel) : forms_(forms) { read(kernel.body); }

 private:
  using Known = IndexForm;

  void read(const Block &block) {
    for (const Stmt &stmt : block) read(stmt);
  }

  void read(const Stmt &stmt) {
    if (auto *let = stmt.as<Let>()) return define(let->local, let->value);
    for_each_definition(stmt, [&](LocalId local, Type type) { define(local, type); });
    if (auto *branch = stmt.as<If>()) {
      read(branch->then_block);
      read(branch->else_block);
    } else if (auto *loop = stmt.as<For>()) {
      enter(*loop);
      read(loop->body);
      leave(loop_at(depth_ - 1));
    } else if (auto *loop = stmt.as<While>()) {
      for (const Carried &carried : loop->carried) define(carried.inner, carried.type);
      read(loop->condition_block);
      read(loop->body);
    } else if (auto *custom = stmt.as<CustomAdjoint>()) {
      for (const Block *block : {&custom->primal, &custom->replay, &custom->adjoint}) read(*block);
    } else if (auto *labelled = stmt.as<Labelled>()) {
      read(labelled->body);
    } else if (auto *call = stmt.as<AdjointCall>()) {
      read(call->primal);
    }
  }

  void enter(const For &loop) {
    const std::uint64_t own = loop_at(depth_++);
    around_ |= own;
    for (const Carried &carried : loop.carried) define(carried.inner, carried.type);
    const Known begin = forms_(loop.begin), end = forms_(loop.end), step = forms_(loop.step);
    Known index = symbol(loop.index, loop.type);
    index.depends_on = own | begin.depends_on | step.depends_on;
    index.divisor = std::min(begin.divisor, step.divisor);
    const bool up = step.range.lower > 0, down = step.range.upper < 0;
    if (up) index.range.lower = std::max(index.range.lower, begin.range.lower);
    if (up && end.range.upper != Range::none_above)
      index.range.upper = std::min(index.range.upper, end.range.upper - 1);
    if (down) index.range.upper = std::min(index.range.upper, begin.range.upper);
    if (down && end.range.lower != Range::none_below)
      index.range.lower = std::max(index.range.lower, end.range.lower + 1);
    forms_.locals_[loop.index] = {index, own};
  }
  void leave(std::uint64_t loop) {
    --depth_;
    if (depth_ == 0 || loop_at(depth_ - 1) != loop) around_ &= ~loop;
  }

  // An unknown value: it may differ between the instances, and between iterations of the enclosing loops.
  void define(LocalId local, const Type &type) {
    Known &known = forms_.locals_[local].form;
    if (is_index(type)) known = symbol(local, type);
    known.depends_on = unknown_index | around_;
  }

  void define(LocalId local, const Operation &operation) {
    if (!info(operation.op).pure || operation.op == Op::Unavailable) return define(local, operation.type);
    Known &known = forms_.locals_[local].form;
    known.depends_on = 0;
    for (const Value &operand : operation.operands)
      if (operand.is_local()) known.depends_on |= forms_.locals_[operand.id()].form.depends_on;
    if (!is_index(operation.type)) return;
    if (operation.operands.empty()) {
      known = of_launch(operation);
      return;
    }
    const std::uint64_t depends_on = known.depends_on;
    std::vector<Known> operands;
    for (const Value &operand : operation.operands) operands.push_back(forms_(operand));
    known = symbol(local, operation.type);
    describe_symbol(known, operation, operands);
    known = computed(operation, std::move(operands), Known(known));
    known.depends_on = depends_on;
  }

  // As a symbol of its own.
  Known symbol(LocalId local, const Type &type) const {
    Known known{Symbol::local(local)};
    known.range = range_of_type(type);
    return known;
  }

  Known of_launch(const Operation &operation) {
    Known known;
    if (operation.op == Op::ThreadIndex) {
      Range &range = forms_.thread_indices_[static_cast<std::size_t>(operation.attribute)];
      if (operation.type.element() == ScalarType::Int32) range.upper = range_of_type(operation.type).upper;
      known.form = Symbol::thread_index(operation.attribute);
      known.range = range;
      known.depends_on = thread_index_of(operation.attribute);
      return known;
    }
    known.range = {0, largest_index};
    if (operation.op == Op::Extent) {
      known.form = Symbol::extent(operation.array, operation.attribute);
      return wrapped(known, ScalarType::Int64, operation.type);
    }
    // It differs between parts of a launch.
    known.form = operation.op == Op::LaunchBegin ? Symbol::launch_begin(operation.attribute)
                                                 : Symbol::launch_end(operation.attribute);
    known.range.upper = std::min(known.range.upper, range_of_type(operation.type).upper);
    known.depends_on = unknown_index;
    return known;
  }

  static void wraps(Known &known, const Type &type) {
    known.bits = std::min(known.bits, width(type));
    known.narrowest = std::min(known.narrowest, width(type));
    known.narrow_or_unsigned = known.narrow_or_unsigned || is_unsigned(type) || width(type) < 32;
    known.range = range_of_type(type);
  }

  // The same number in a type that may not hold it.
  Known wrapped(Known known, const Type &from, const Type &type) const {
    const bool may_be_beyond = is_unsigned(from) && !is_unsigned(type) && width(from) == 64;
    if (holds(type, known.range) || (!may_be_beyond && range_of_type(type).contains(known.range))) return known;
    wraps(known, type);
    return known;
  }

  // `self` if there is no better form.
  Known computed(const Operation &operation, std::vector<Known> operands, Known self) const {
    const bool same_number = operation.op == Op::Copy || operation.op == Op::Cast;
    if (same_number && is_index(operation.operands[0].type()) && operands[0].form.known())
      return wrapped(std::move(operands[0]), operation.operands[0].type(), operation.type);
    const auto rule = index_rule(operation, operands, [&](const Affine &form) { return forms_.range_of(form); });
    if (!rule) return self;
    const bool differ = std::ranges::any_of(operands, [](const Known &operand) { return operand.low.has_value(); });
    Combined of_low;
    if (differ) {
      of_low.operands = operands;
      for (Known &operand : of_low.operands) {
        operand.form = operand.low_form();
        operand.low.reset();
      }
      if (!combine(operation, *rule, of_low)) return self;
    }
    Combined all{{}, std::move(operands)};
    if (!combine(operation, *rule, all)) return self;
    Combined &low = differ ? of_low : all;

    Known known{all.form};
    for (const Known &operand : all.operands) {
      known.narrow_or_unsigned = known.narrow_or_unsigned || operand.narrow_or_unsigned;
      known.narrowest = std::min(known.narrowest, operand.narrowest);
    }
    for (const Known &operand : low.operands) known.bits = std::min(known.bits, operand.bits);
    const bool is_self = !rule->always || known.bits < rule->needed_bits;
    if (is_self) low.form = self.form;
    if (rule->needed_bits > 0) known.bits = IndexForm::all_bits;
    known.range = rule->range;
    if (known.bits == IndexForm::all_bits) {
      const Range exact = forms_.range_of(low.form);
      known.range = {std::max(known.range.lower, exact.lower), std::min(known.range.upper, exact.upper)};
    }
    if (rule->needed_bits == 0 && !holds(operation.type, known.range)) wraps(known, operation.type);
    known.divisor = std::max(rule->divisor, divisor_of(low.form));
    if (known.bits < 61) known.divisor = std::min(known.divisor, std::int64_t{1} << known.bits);
    if ((differ || is_self) && !(low.form == known.form)) known.low = std::move(low.form);
    if (known.exact()) {
      known.narrow_or_unsigned = false;
      known.narrowest = IndexForm::all_bits;
    }
    return known;
  }

  struct Combined {
    Affine form;
    std::vector<Known> operands;
  };
  // Combines the operands' forms, or, if the result is too large, the operands themselves as symbols.
  bool combine(const Operation &operation, const IndexRule &rule, Combined &made) const {
    for (std::size_t tries = 0; tries <= made.operands.size(); ++tries) {
      std::vector<Affine> forms;
      for (const Known &operand : made.operands) forms.push_back(operand.form);
      made.form = rule.form(forms);
      if (made.form.known()) return true;
      const auto largest = std::ranges::max_element(made.operands, {}, [](const Known &known) {
        return known.form.known() ? known.form.nodes() : ~std::size_t{0};
      });
      const Value &value = operation.operands[static_cast<std::size_t>(largest - made.operands.begin())];
      if (!value.is_local()) return false;
      largest->form = Symbol::local(value.id());
      largest->bits = largest->narrowest = IndexForm::all_bits;
      largest->narrow_or_unsigned = false;
    }
    return false;
  }

  std::int64_t divisor_of(const Affine &form) const {
    std::int64_t divisor = power_of_two_in(form.constant());
    for (const AffineTerm &term : form.terms()) {
      divisor = std::min(divisor, product_of_divisors(divisor_of(term), power_of_two_in(term.coefficient)));
    }
    return divisor;
  }
  std::int64_t divisor_of(const AffineTerm &term) const {
    switch (term.kind) {
      case AffineTerm::Kind::Symbol:
        return term.symbol.kind == Symbol::Kind::Local ? forms_.locals_[term.symbol.id].form.divisor : 1;
      case AffineTerm::Kind::Quotient: return 1;
      case AffineTerm::Kind::Remainder: return std::min(divisor_of((*term.operands)[0]), power_of_two_in(term.by));
      case AffineTerm::Kind::Least:
      case AffineTerm::Kind::Greatest:
        return std::min(divisor_of((*term.operands)[0]), divisor_of((*term.operands)[1]));
    }
    return 1;
  }

  IndexForms &forms_;
  std::uint64_t around_ = 0;
  int depth_ = 0;
};

IndexForms::IndexForms(const Kernel &kernel)
    : locals_(kernel.local_count, Local{nothing_known()}),
      thread_indices_(static_cast<std::size_t>(maximum_rank), Range{0, largest_index}),
      tiles_(is_tile_kernel(kernel)) {
  for (const Parameter &parameter : kernel.parameters) parameters_.push_back(range_of_type(parameter.type));
  Reader(*this, kernel);
}

IndexForm IndexForms::operator()(const Value &value) const {
  if (value.is_local()) return value.id() < locals_.size() ? locals_[value.id()].form : nothing_known();
  if (value.kind() == Value::Kind::Parameter) {
    IndexForm form{Symbol::parameter(value.parameter_index())};
    form.range = range_of_type(value.type());
    return form;
  }
  if (!is_index(value.type())) return {Affine::unknown()};
  const std::int64_t number = value.as_int();
  const bool beyond = is_unsigned(value.type()) && number < 0;
  IndexForm form{beyond ? Affine::unknown() : Affine(number)};
  form.divisor = power_of_two_in(number);
  form.range = beyond ? range_of_type(value.type()) : Range{number, number};
  return form;
}

bool IndexForms::differs_in(const Affine &form, std::uint64_t indices) const {
  bool differs = false;
  form.for_each_symbol([&](const Symbol &symbol) {
    if (symbol.kind == Symbol::Kind::Local) differs = differs || (locals_[symbol.id].form.depends_on & indices);
    if (symbol.kind == Symbol::Kind::ThreadIndex) differs = differs || (thread_index_of(symbol.dimension) & indices);
    if (symbol.kind == Symbol::Kind::LaunchBegin || symbol.kind == Symbol::Kind::LaunchEnd)
      differs = differs || (unknown_index & indices);
  });
  return differs;
}

bool IndexForms::same_in(const Value &value, const For &loop) const {
  return !((*this)(value).depends_on & locals_[loop.index].loop);
}

Affine IndexForms::moving(const Value &value, const For &loop) const {
  if (same_in(value, loop)) return 0;
  const IndexForm known = (*this)(value);
  if (known.narrow_or_unsigned || !known.form.known()) return Affine::unknown();
  Affine moving = 0;
  for (const AffineTerm &term : known.form.terms())
    if (differs_in(term, locals_[loop.index].loop)) moving = moving + term;
  return moving;
}

std::optional<std::int64_t> IndexForms::slope(const Value &value, const For &loop) const {
  const Affine own = moving(value, loop);
  const auto slope = own.coefficient(Symbol::local(loop.index));
  if (!slope || own != Affine(Symbol::local(loop.index)) * *slope) return std::nullopt;
  // Elements of an array may be closer than a step of narrow numbers, to which a larger one wraps.
  if (is_index(value.type()) && width(value.type()) <= 32 &&
      std::abs(*slope) >= std::int64_t{1} << (width(value.type()) - 1))
    return std::nullopt;
  return slope;
}

std::optional<Along> IndexForms::along(const Value &value, const For *loop) const {
  const IndexForm known = (*this)(value);
  const Affine &form = known.low_form();
  Along along{{}, 0, form, false};
  for (const AffineTerm &term : form.terms()) {
    const bool is_index = !term.operands && (term.symbol.kind == Symbol::Kind::ThreadIndex ||
                                             (loop && term.symbol == Symbol::local(loop->index)));
    if (!is_index) continue;
    if (along.index) return std::nullopt;
    along.index = term.symbol;
    along.scale = term.coefficient;
  }
  if (along.index) along.rest = form - Affine(*along.index) * along.scale;
  if (!along.rest.known() || differs_in(along.rest, ~std::uint64_t{0})) return std::nullopt;
  if (!along.index) return known.depends_on == 0 ? std::optional(along) : std::nullopt;
  const int lost = tiles_ ? 0 : std::countr_zero(static_cast<std::uint64_t>(along.scale));
  along.one_to_one = known.bits == IndexForm::all_bits || tells_apart(*along.index, known.bits - lost);
  return along;
}

bool IndexForms::same(const Value &a, const Value &b) const {
  if (a == b) return true;
  const IndexForm x = (*this)(a), y = (*this)(b);
  if (!x.form.known() || !(x.low_form() == y.low_form())) return false;
  const int bits = std::min(x.bits, y.bits);
  if (bits == IndexForm::all_bits) return true;
  if (bits >= 64) return is_unsigned(a.type()) == is_unsigned(b.type());
  const Range both = united(x.range, y.range);
  return __int128{both.upper} - both.lower < __int128{1} << bits;
}

bool IndexForms::tells_apart(const Symbol &symbol, int bits) const {
  const Range range = range_of(symbol);
  return bits > 0 && __int128{range.upper} - range.lower < __int128{1} << std::min(bits, 100);
}

Range IndexForms::range_of(const Symbol &symbol) const {
  switch (symbol.kind) {
    case Symbol::Kind::Local: return locals_[symbol.id].form.range;
    case Symbol::Kind::Parameter: return parameters_[symbol.id];
    case Symbol::Kind::ThreadIndex: return thread_indices_[static_cast<std::size_t>(symbol.dimension)];
    default: return {0, largest_index};
  }
}

Range IndexForms::range_of(const Affine &form) const {
  return passes::range_of(form, [&](const Symbol &symbol) { return range_of(symbol); });
}

}  // namespace samite::passes
