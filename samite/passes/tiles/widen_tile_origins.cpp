#include "samite/passes/tiles/widen_tile_origins.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

class Widening {
 public:
  Widening(const Kernel &kernel, const std::vector<bool> &wide)
      : build_(kernel.local_count), wide_(wide), product_(kernel.local_count) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      auto *let = stmt.as<Let>();
      if (let && let->value.op == Op::Mul && let->value.type == ScalarType::Int32) product_[let->local] = &let->value;
    });
  }

  Block rewritten(const Block &block) {
    Block outer = build_.open();
    for (const Stmt &stmt : block) {
      build_.at(stmt.where());
      rewrite(stmt);
    }
    return build_.close(std::move(outer));
  }
  LocalId local_count() const { return build_.local_count(); }

 private:
  void rewrite(const Stmt &stmt) {
    visit(
        stmt,
        [&](Let let) {
          const Typing typing = info(let.value.op).typing;
          const bool memory = typing == Typing::Load || typing == Typing::Atomic;
          if (memory && let.value.type.is_tile() && wide_[let.value.array])
            widen(let.value.operands, element_indices(let.value).size());
          build_.append({std::move(let), stmt.where()});
        },
        [&](Store store) {
          if (store.value.type().is_tile() && wide_[store.array]) widen(store.indices, store.indices.size());
          build_.append({std::move(store), stmt.where()});
        },
        [&](Accumulate accumulate) {
          if (accumulate.value.type().is_tile() && wide_[accumulate.array])
            widen(accumulate.indices, accumulate.indices.size());
          build_.append({std::move(accumulate), stmt.where()});
        },
        [&](const auto &) { build_.append(with_blocks(stmt, [&](const Block &inner) { return rewritten(inner); })); });
  }

  // An index that is a tile has the index of each element, and stays unchanged.
  void widen(std::vector<Value> &values, std::size_t indices) {
    for (std::size_t d = 0; d < indices; ++d)
      if (values[d].type() == ScalarType::Int32) values[d] = widened(values[d]);
  }
  Value widened(const Value &index) {
    const Operation *product = index.is_local() ? product_[index.id()] : nullptr;
    if (!product || !product->operands[1].is_constant()) return build_.cast(ScalarType::Int64, index);
    const Value number = build_.cast(ScalarType::Int64, product->operands[0]);
    return build_(Op::Mul, {number, Value::constant(ScalarType::Int64, product->operands[1].as_int())});
  }

  Builder build_;
  const std::vector<bool> &wide_;
  std::vector<const Operation *> product_;  // by local: its product, if it is one
};

}  // namespace

Kernel widen_tile_origins(Kernel structured, const std::vector<bool> &wide) {
  if (!is_tile_kernel(structured) || std::ranges::none_of(wide, [](bool own) { return own; })) return structured;
  Widening widening(structured, wide);
  Block body = widening.rewritten(structured.body);
  structured.body = std::move(body);
  structured.local_count = widening.local_count();
  return structured;
}

}  // namespace samite::passes
