#include "samite/passes/tiles/declared_products.h"

#include "samite/base/error.h"
#include "samite/ir/loop_products.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <array>

namespace samite::passes {

using namespace ir;

namespace {

bool is_product(const Let *let) { return let && let->value.op == Op::MatMul; }

// A pure operation on scalars.
bool is_of_scalars(const Operation &operation) {
  return info(operation.op).pure && operation.op != Op::LocalLoad && !operation.type.is_tile() &&
         std::ranges::none_of(operation.operands, [](const Value &value) { return value.type().is_tile(); });
}

// Whether the loop carries nothing but the sums of this product.
bool carries_only_sums(const For &loop, const Let &product) {
  return loop.carried.size() == 1 && loop.carried[0].next == Value::local(product.value.type, product.local) &&
         product.value.operands[2] == Value::local(product.value.type, loop.carried[0].inner);
}

}  // namespace

std::vector<const Let *> products_of(const For &structured) {
  std::vector<const Let *> products;
  for (const Stmt &stmt : structured.body)
    if (const auto *let = stmt.as<Let>(); is_product(let)) products.push_back(let);
  return products;
}

const Operation *window_of(const For &structured, const Value &factor) {
  for (const Stmt &stmt : structured.body) {
    const auto *let = stmt.as<Let>();
    if (!let || !factor.is_local() || let->local != factor.id()) continue;
    const Operation &own = let->value;
    const bool window = own.op == Op::Load && own.type.is_tile() && own.type.shape().rank() == 2;
    return window && !is_gather(own.operands) ? &own : nullptr;
  }
  return nullptr;
}

DeclaredProducts::DeclaredProducts(const Kernel &structured) {
  for_each_statement(structured.body, [&](const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>()) lets_.emplace(let->local, stmt);
    for_each_operand(stmt, [&](const Value &value) {
      if (value.is_local()) ++uses_[value.id()];
    });
  });
}

const Operation *DeclaredProducts::made(const Value &value) const {
  const auto known = value.is_local() ? lets_.find(value.id()) : lets_.end();
  return known == lets_.end() ? nullptr : &known->second.as<Let>()->value;
}

bool DeclaredProducts::is_zero(const Value &value) const {
  if (value.is_constant()) return value.bits() == 0;
  const Operation *number = made(value);
  return number && number->op == Op::Broadcast && number->operands[0].is_constant() && number->operands[0].bits() == 0;
}

// The limit, if `below` says of each element of a tile whether its coordinate is below it.
std::optional<Value> DeclaredProducts::limit(const Value &below, const Type &tile, int dimension) const {
  const Operation *less = made(below);
  if (!less || less->op != Op::Less || tile.shape().rank() != 2) return std::nullopt;
  const Operation *coordinate = made(less->operands[0]), *all = made(less->operands[1]);
  const Type coordinates(ScalarType::Int32, tile.shape());
  if (!coordinate || coordinate->op != Op::Coordinate || coordinate->attribute != dimension ||
      coordinate->type != coordinates || !all || all->op != Op::Broadcast ||
      all->operands[0].type() != Type(ScalarType::Int32))
    return std::nullopt;
  return all->operands[0];
}

std::optional<DeclaredProducts::Window> DeclaredProducts::window(const Value &factor, int terms_along,
                                                                 const std::set<LocalId> &inside) const {
  Window found{factor};
  for (const Operation *own = made(factor); own && inside.contains(found.load.id()); own = made(found.load)) {
    found.values.insert(found.load.id());
    if (own->op == Op::Load) return found;
    const bool masked = own->op == Op::Select && !found.terms && is_zero(own->operands[2]);
    if (!masked && own->op != Op::Reshape) return std::nullopt;
    if (masked) {
      found.terms = limit(own->operands[0], own->type, terms_along);
      if (!found.terms) return std::nullopt;
      const Operation &less = *made(own->operands[0]);
      for (const Value &value : {own->operands[0], less.operands[0], less.operands[1]}) found.values.insert(value.id());
    }
    found.load = own->operands[masked ? 1 : 0];
    if (!found.load.is_local()) return std::nullopt;
    found.shared = found.shared || uses_.at(found.load.id()) != 1;
  }
  return std::nullopt;
}

LoopProducts DeclaredProducts::of(const For &structured, const For &lowered, const TileMemories &memories,
                                  const std::set<LocalId> &loaded) const {
  const std::vector<const Let *> products = products_of(structured);
  std::set<LocalId> inside, parts;  // values of an iteration; parts of its windows and products
  for (const Stmt &stmt : structured.body)
    if (const auto *let = stmt.as<Let>()) inside.insert(let->local);
  for (const Let *product : products) parts.insert(product->local);
  const auto uses_as = [&](const Value &factor, std::size_t place) {
    return std::ranges::count_if(products, [&](const Let *own) { return own->value.operands[place] == factor; });
  };
  LoopProducts found;
  const std::vector<const TileCall *> calls = product_calls(lowered);
  internal_check(calls.size() == products.size(), "products of a loop that have not become calls");
  for (std::size_t i = 0; i < products.size(); ++i) {
    LoopProduct product{calls[i]->result.array, {}};
    for (std::size_t f = 0; f < 2; ++f) {
      const Value &factor = products[i]->value.operands[f];
      const bool transposed = products[i]->value.attribute & (f == 0 ? transposed_a : transposed_b);
      product.factors[f].tile = calls[i]->operands[f].array;
      const auto own = window(factor, static_cast<int>(transposed ? f : 1 - f), inside);
      if (!own || !loaded.contains(own->load.id())) {
        found.and_more = true;
        continue;
      }
      parts.insert(own->values.begin(), own->values.end());
      product.factors[f].window = memories.memory(own->load)->array;
      product.factors[f].terms = own->terms;
      product.factors[f].shared = own->shared || uses_.at(factor.id()) != uses_as(factor, f);
    }
    const Value &sums = products[i]->value.operands[2];
    product.from_zero = sums.is_constant() && sums.bits() == 0;
    found.and_more = found.and_more || product.factors[0].window == product.factors[1].window;
    found.declared.push_back(product);
  }
  if (products.empty()) return {};
  found.and_more = found.and_more || products.size() > 1 || !carries_only_sums(structured, *products[0]) ||
                   std::ranges::any_of(structured.body, [&](const Stmt &stmt) {
                     const auto *let = stmt.as<Let>();
                     return !let || !(parts.contains(let->local) || is_of_scalars(let->value));
                   });
  return found;
}

}  // namespace samite::passes
