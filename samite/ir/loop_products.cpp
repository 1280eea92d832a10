#include "samite/ir/loop_products.h"

#include <fmt/format.h>

namespace samite::ir {
namespace {

// A product that an iteration computes: its sums and factors. `fed`: the second factor is a ring of bulk copies.
struct Computed {
  LocalArrayId result;
  std::array<LocalArrayId, 2> factors;
  bool fed = false;
};
std::vector<Computed> products_computed(const For &loop) {
  std::vector<Computed> found;
  for (const Stmt &stmt : loop.body) {
    if (const auto *call = stmt.as<TileCall>(); call && call->op == Op::MatMul)
      found.push_back({call->result.array, {call->operands[0].array, call->operands[1].array}});
    if (const auto *product = stmt.as<WindowProduct>())
      found.push_back({product->result.array, {product->first.array, product->second.ring.array}, true});
  }
  return found;
}

std::string declared_error(const For &loop, const Kernel &kernel) {
  const LoopProducts &products = loop.products;
  if (products.declared.empty()) return products.and_more ? "a loop that does more than compute no products" : "";
  if (loop.kind != LoopKind::Serial || !is_tile_kernel(kernel)) return "products of a loop that runs in no order";
  const std::vector<Computed> computed = products_computed(loop);
  if (computed.size() != products.declared.size())
    return fmt::format("a loop declares {} products, and computes {}", products.declared.size(), computed.size());
  if (computed.size() > 1 && !products.and_more) return "a loop that only adds a product to its sums declares several";
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const LoopProduct &product = products.declared[i];
    if (product.result != computed[i].result) return fmt::format("a product to ${} is none", product.result);
    if (product.from_zero && !products.and_more)
      return fmt::format("a product to ${} of a loop that only adds to its sums begins with zeros", product.result);
    for (std::size_t f = 0; f < 2; ++f) {
      const LoopProduct::Factor &factor = product.factors[f];
      if (factor.tile != computed[i].factors[f]) return fmt::format("a factor ${} is none", factor.tile);
      if (f == 1 && computed[i].fed && factor.window != factor.tile)
        return fmt::format("a ring ${} is not declared as a window", factor.tile);
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
  for (const std::size_t place : window_products(loop)) {
    const auto &product = *loop.body[place].as<WindowProduct>();
    turns += std::string(product.takes_turn ? "t" : "") + (product.gives_turn ? "g" : "");
  }
  const bool right = kernel.roles.producers != 0 && loop.kind == LoopKind::Serial && turns == "gt";
  return right ? "" : "a loop in turns must give its turn once and then take it once";
}

}  // namespace

std::vector<const TileCall *> product_calls(const For &loop) {
  std::vector<const TileCall *> calls;
  for (const Stmt &stmt : loop.body)
    if (const auto *call = stmt.as<TileCall>(); call && call->op == Op::MatMul) calls.push_back(call);
  return calls;
}

std::vector<std::size_t> window_products(const For &loop) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < loop.body.size() && !loop.products.declared.empty(); ++i)
    if (loop.body[i].as<WindowProduct>()) places.push_back(i);
  return places;
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
