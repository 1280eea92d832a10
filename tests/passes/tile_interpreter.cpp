#include "tests/passes/tile_interpreter.h"

#include "samite/ir/print.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <array>
#include <optional>
#include <stdexcept>

namespace samite::test::tiles {
namespace {

class TileInterpreter : private TileOperations {
 public:
  TileInterpreter(const ir::Kernel &kernel, std::vector<std::int64_t> blocks, std::vector<TileArray> arguments,
                  std::optional<unsigned> noise, double loudness)
      : TileOperations(noise, loudness),
        kernel_(kernel),
        blocks_(std::move(blocks)),
        arguments_(std::move(arguments)) {}

  std::vector<TileArray> run() {
    run_dimension(0);
    return std::move(arguments_);
  }

 private:
  [[noreturn]] void fail(const std::string &what) const {
    throw std::runtime_error(what + (statement_ ? " in: " + to_string(*statement_, kernel_.parameters) : ""));
  }

  void run_dimension(std::size_t dimension) {
    if (dimension < blocks_.size()) {
      for (block_[dimension] = 0; block_[dimension] < blocks_[dimension]; ++block_[dimension])
        run_dimension(dimension + 1);
      return;
    }
    locals_.assign(kernel_.local_count, {});
    local_arrays_.assign(kernel_.local_array_count, {});
    run(kernel_.body);
  }

  void run(const ir::Block &block) {
    for (const ir::Stmt &stmt : block) {
      statement_ = &stmt;
      if (++statements_ > 1'000'000) fail("too many statements");
      ir::visit(stmt, [&](const auto &kind) { execute(kind); });
    }
  }

  TileValue value(const ir::Value &operand) const {
    switch (operand.kind()) {
      case ir::Value::Kind::Constant: {
        // For types of 32 bits and less, the sign must be extended.
        Element element = constant(operand);
        if (class_of(operand.type().element()) == ScalarClass::Signed) element.integer = operand.as_int();
        return {operand.type(), std::vector<Element>(size_of_type(operand.type()), element)};
      }
      case ir::Value::Kind::Parameter: return {operand.type(), arguments_.at(operand.parameter_index()).elements};
      case ir::Value::Kind::Local: break;
    }
    const auto &local = locals_.at(operand.id());
    if (!local) fail("a local is read before it is defined");
    if (local->type != operand.type()) fail("a local is read as another type");
    return *local;
  }
  std::int64_t integer(const ir::Value &operand) const { return value(operand).elements[0].integer; }

  // Calls `visit(e, p)` for each element e of the type, with its place in the array, or none.
  template <class F>
  void for_each_place(std::uint32_t parameter, const std::vector<ir::Value> &indices, const ir::Type &type, F &&visit) {
    const TileArray &array = arguments_.at(parameter);
    std::vector<TileValue> at;
    for (const ir::Value &index : indices) at.push_back(value(index));
    const bool gather = ir::is_gather(indices);
    const Shape extents = shape_of(type);
    for_each_index(extents, [&](std::size_t e, const Shape &own) {
      Shape index;
      for (std::size_t d = 0; d < at.size(); ++d) {
        index.push_back(at[d].elements[at[d].elements.size() > 1 ? e : 0].integer);
        const std::size_t before = at.size() - own.size();
        if (!gather && d >= before) index.back() += own[d - before];
      }
      visit(e, place(array.extents, index));
    });
  }

  TileValue compute(const ir::Operation &operation) {
    const ir::Type &type = operation.type;
    const ScalarType element = type.element();
    switch (operation.op) {
      case Op::ThreadIndex: return {type, {{0, 0, block_.at(static_cast<std::size_t>(operation.attribute))}}};
      case Op::LaunchBegin: return {type, {{}}};
      case Op::LaunchEnd: return {type, {{0, 0, blocks_.at(static_cast<std::size_t>(operation.attribute))}}};
      case Op::Extent:
        return {type,
                {{0, 0, arguments_.at(operation.array).extents.at(static_cast<std::size_t>(operation.attribute))}}};
      case Op::Load:
      case Op::Exchange: {
        TileValue result = zero(type);
        for_each_place(operation.array, operation.operands, type, [&](std::size_t e, std::optional<std::size_t> p) {
          if (p) result.elements[e] = arguments_[operation.array].elements[*p];
        });
        if (operation.op == Op::Exchange)
          for_each_place(operation.array, operation.operands, type, [&](std::size_t, std::optional<std::size_t> p) {
            if (p) arguments_[operation.array].elements[*p] = {};
          });
        return result;
      }
      case Op::LocalLoad: {
        const auto &array = local_arrays_.at(operation.array);
        const std::int64_t at = integer(operation.operands[0]);
        if (at < 0 || at >= static_cast<std::int64_t>(array.size())) fail("outside of a local array");
        return array[static_cast<std::size_t>(at)];
      }
      case Op::Coordinate: {
        TileValue result = zero(type);
        for_each_index(shape_of(type), [&](std::size_t e, const Shape &index) {
          result.elements[e].integer = index[static_cast<std::size_t>(operation.attribute)];
        });
        return result;
      }
      default: break;
    }
    const ir::Typing typing = ir::info(operation.op).typing;
    if (typing == ir::Typing::Atomic) return atomic(operation);
    std::vector<TileValue> x;
    for (const ir::Value &operand : operation.operands) x.push_back(value(operand));
    if (by_elements(typing)) {
      TileValue result = zero(type);
      for (std::size_t e = 0; e < result.elements.size(); ++e) {
        std::array<const Element *, 3> of{};
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = &x[std::min(i, x.size() - 1)].elements[e];
        result.elements[e] = of_elements(operation.op, typing, element, x[0].type.element(), of.data());
      }
      return result;
    }
    if (auto result = of_tiles(operation, x)) return std::move(*result);
    switch (typing) {
      case ir::Typing::Broadcast: {
        TileValue result = zero(type);
        const Shape from = shape_of(x[0].type);
        for_each_index(shape_of(type), [&](std::size_t e, Shape index) {
          for (std::size_t d = 0; d < from.size(); ++d)
            if (from[d] == 1) index[d] = 0;
          result.elements[e] = x[0].elements[from.empty() ? 0 : *place(from, index)];
        });
        return result;
      }
      case ir::Typing::Reshape: return {type, x[0].elements};
      case ir::Typing::Transpose: {
        TileValue result = zero(type);
        const Shape from = shape_of(x[0].type);
        for_each_index(shape_of(type), [&](std::size_t e, const Shape &index) {
          Shape at(index.size());
          for (std::size_t d = 0; d < index.size(); ++d)
            at[static_cast<std::size_t>(ir::tile_axis(operation.attribute, static_cast<int>(d)))] = index[d];
          result.elements[e] = x[0].elements[*place(from, at)];
        });
        return result;
      }
      case ir::Typing::Window: {
        TileValue result = zero(type);
        const Shape from = shape_of(x[0].type);
        for_each_index(shape_of(type), [&](std::size_t e, Shape index) {
          for (std::size_t d = 0; d < index.size(); ++d) index[d] += x[1 + d].elements[0].integer;
          if (const auto p = place(from, index)) result.elements[e] = x[0].elements[*p];
        });
        return result;
      }
      default: fail("no reference for this operation");
    }
  }

  // Each element in turn; the values before, and zero outside of the array.
  TileValue atomic(const ir::Operation &operation) {
    const ScalarType type = operation.type.element();
    const auto values = ir::element_values(operation);
    const TileValue first = value(values[0]), last = value(values.back());
    const Op op = ir::combination(operation.op);
    TileValue before = zero(operation.type);
    const auto indices = ir::element_indices(operation);
    for_each_place(operation.array, {indices.begin(), indices.end()}, operation.type,
                   [&](std::size_t e, std::optional<std::size_t> p) {
                     if (!p) return;
                     Element &place = arguments_[operation.array].elements[*p];
                     before.elements[e] = place;
                     if (operation.op == Op::AtomicCompareExchange)
                       place = compare(Op::Equal, type, place, first.elements[e]) ? last.elements[e] : place;
                     else
                       place = op == Op::Copy ? first.elements[e] : combined(op, type, place, first.elements[e]);
                   });
    return before;
  }

  void execute(const ir::Let &let) { locals_.at(let.local) = compute(let.value); }
  void execute(const ir::Store &store) {
    const TileValue stored = value(store.value);
    for_each_place(store.array, store.indices, stored.type, [&](std::size_t e, std::optional<std::size_t> p) {
      if (p) arguments_[store.array].elements[*p] = stored.elements[e];
    });
  }
  void execute(const ir::Accumulate &accumulate) {
    const TileValue added = value(accumulate.value);
    const ScalarType type = added.type.element();
    for_each_place(accumulate.array, accumulate.indices, added.type, [&](std::size_t e, std::optional<std::size_t> p) {
      if (!p) return;
      Element &sum = arguments_[accumulate.array].elements[*p];
      if (!is_floating(type)) {
        sum = of_integers(Op::Add, type, sum, added.elements[e]);
        return;
      }
      sum = added_in_any_order(type, sum, added.elements[e]);
    });
  }
  void execute(const ir::Allocate &allocate) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(integer(allocate.size), 0));
    local_arrays_.at(allocate.array).assign(size, zero(allocate.type));
  }
  void execute(const ir::LocalStore &store) {
    auto &array = local_arrays_.at(store.array);
    const std::int64_t at = integer(store.index);
    if (at < 0 || at >= static_cast<std::int64_t>(array.size())) fail("outside of a local array");
    array[static_cast<std::size_t>(at)] = value(store.value);
  }
  void execute(const ir::If &branch) {
    const bool taken = integer(branch.condition) != 0;
    run(taken ? branch.then_block : branch.else_block);
    for (const ir::BranchResult &result : branch.results)
      locals_.at(result.local) = value(taken ? result.then_value : result.else_value);
  }
  void execute(const ir::For &loop) {
    const std::int64_t end = integer(loop.end), step = integer(loop.step);
    begin_carried(loop.carried);
    for (std::int64_t i = integer(loop.begin); step > 0 ? i < end : i > end; i += step) {
      locals_.at(loop.index) = TileValue{loop.type, {{0, 0, i}}};
      run(loop.body);
      advance_carried(loop.carried);
    }
    end_carried(loop.carried);
  }
  void execute(const ir::While &loop) {
    begin_carried(loop.carried);
    for (;;) {
      run(loop.condition_block);
      if (integer(loop.condition) == 0) break;
      run(loop.body);
      advance_carried(loop.carried);
    }
    end_carried(loop.carried);
  }
  template <class Kind>
  void execute(const Kind &) {
    fail("no reference for this statement");
  }

  void begin_carried(const std::vector<ir::Carried> &carried) {
    std::vector<TileValue> initial;
    for (const ir::Carried &each : carried) initial.push_back(value(each.initial));
    for (std::size_t i = 0; i < carried.size(); ++i) locals_.at(carried[i].inner) = std::move(initial[i]);
  }
  void advance_carried(const std::vector<ir::Carried> &carried) {
    // All are read before any is written: one may be another's next.
    std::vector<TileValue> next;
    for (const ir::Carried &each : carried) next.push_back(value(each.next));
    for (std::size_t i = 0; i < carried.size(); ++i) locals_.at(carried[i].inner) = std::move(next[i]);
  }
  void end_carried(const std::vector<ir::Carried> &carried) {
    for (const ir::Carried &each : carried) locals_.at(each.result) = locals_.at(each.inner);
  }

  const ir::Kernel &kernel_;
  std::vector<std::int64_t> blocks_;
  std::vector<TileArray> arguments_;
  std::array<std::int64_t, ir::maximum_rank> block_{};
  std::vector<std::optional<TileValue>> locals_;
  std::vector<std::vector<TileValue>> local_arrays_;
  const ir::Stmt *statement_ = nullptr;
  std::int64_t statements_ = 0;
};

}  // namespace

std::vector<TileArray> run_structured(const ir::Kernel &kernel, std::vector<std::int64_t> blocks,
                                      std::vector<TileArray> arguments, std::optional<unsigned> noise,
                                      double loudness) {
  return TileInterpreter(kernel, std::move(blocks), std::move(arguments), noise, loudness).run();
}

}  // namespace samite::test::tiles
