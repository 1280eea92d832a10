#include "samite/ir/loop_products.h"

#include <fmt/format.h>

namespace samite::ir {
namespace {

std::string declared_error(const For &loop, const Kernel &kernel) {
  const LoopProducts &products = loop.products;
  if (products.declared.empty()) return products.and_more ? "a loop that does more than compute no products" : "";
  if (loop.kind != LoopKind::Serial || !is_tile_kernel(kernel)) return "products of a loop that runs in no order";
  const std::vector<const TileCall *> calls = product_calls(loop);
  if (calls.size() != products.declared.size())
    return fmt::format("a loop declares {} products, and computes {}", products.declared.size(), calls.size());
  if (calls.size() > 1 && !products.and_more) return "a loop that only adds a product to its sums declares several";
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const LoopProduct &product = products.declared[i];
    if (product.result != calls[i]->result.array) return fmt::format("a product to ${} is none", product.result);
    for (std::size_t f = 0; f < 2; ++f) {
      const LoopProduct::Factor &factor = product.factors[f];
      if (factor.tile != calls[i]->operands[f].array) return fmt::format("a factor ${} is none", factor.tile);
      if ((factor.terms || factor.shared) && !factor.window)
        return fmt::format("a factor ${} that is no window has terms, or is shared", factor.tile);
      if (factor.terms && factor.terms->type() != Type(ScalarType::Int32))
        return fmt::format("the terms of ${} have type {}, expected i32", factor.tile, name(factor.terms->type()));
    }
  }
  return "";
}

// A group has its turn at the start and end of each iteration: it passes it once, and then takes it once.
std::string turns_error(const For &loop, const Kernel &kernel) {
  std::string turns;
  for (const Stmt &stmt : loop.body)
    if (const auto *product = stmt.as<WindowProduct>())
      turns += std::string(product->takes_turn ? "t" : "") + (product->gives_turn ? "g" : "");
  const bool right = kernel.producers != 0 && loop.kind == LoopKind::Serial && turns == "gt";
  return right ? "" : "a loop in turns must give its turn once and then take it once";
}

}  // namespace

std::vector<const TileCall *> product_calls(const For &loop) {
  std::vector<const TileCall *> calls;
  for (const Stmt &stmt : loop.body)
    if (const auto *call = stmt.as<TileCall>(); call && call->op == Op::MatMul) calls.push_back(call);
  return calls;
}

const TileLoad *load_of(const For &loop, LocalArrayId tile) {
  for (const Stmt &stmt : loop.body)
    if (const auto *load = stmt.as<TileLoad>(); load && load->result.array == tile) return load;
  return nullptr;
}

std::string loop_products_error(const For &loop, const Kernel &kernel) {
  const std::string declared = declared_error(loop, kernel);
  return declared.empty() && loop.products.in_turns ? turns_error(loop, kernel) : declared;
}

}  // namespace samite::ir
