// Products that repeat a factor, such as m * r * r * r: the factors get their gradients from the whole product.
//
// Factor by factor, r would get three equal terms, each computed differently. With c = t r², where t is the gradient of
// the product, the gradients are 3 m c and r c. Another rule of r often computes r² anyway.
#include "samite/autodiff/deriver.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

namespace {

// Longer products are reversed factor by factor: otherwise a long chain would take quadratic time.
constexpr std::size_t most_factors = 64;

}  // namespace

void Deriver::find_factors(const Block &block) {
  for (const Stmt &stmt : block) {
    for_each_operand(stmt, [&](const Value &operand) {
      if (operand.is_local()) ++locals_.uses[operand.id()];
    });
    if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Mul && is_floating(let->value.type))
      locals_.products[let->local] = {&let->value, &block};
    if (auto *branch = stmt.as<If>()) find_factors(branch->then_block), find_factors(branch->else_block);
    if (auto *loop = stmt.as<For>()) find_factors(loop->body);
    if (auto *loop = stmt.as<While>()) find_factors(loop->condition_block), find_factors(loop->body);
    if (auto *custom = stmt.as<CustomAdjoint>())
      for (const Block *inside : {&custom->primal, &custom->replay, &custom->adjoint}) find_factors(*inside);
  }
}

// Appends the factors of a product. If a factor is itself a product without other uses, its factors are appended
// instead. `inside` collects such products: their own reverse may be omitted.
void Deriver::take_apart(const Product &product, std::vector<Value> &factors, std::vector<LocalId> &inside) const {
  for (const Value &operand : product.operation->operands) {
    if (factors.size() + inside.size() > 2 * most_factors) return;
    const bool apart = active(operand) && locals_.uses[operand.id()] == 1 && locals_.products[operand.id()].operation &&
                       locals_.products[operand.id()].block == product.block;
    if (!apart) {
      factors.push_back(operand);
      continue;
    }
    inside.push_back(operand.id());
    take_apart(locals_.products[operand.id()], factors, inside);
  }
}

Value Deriver::power(const Value &x, std::ptrdiff_t exponent) {
  if (exponent == 1) return x;
  if (exponent % 2 == 1) return build_(Op::Mul, {x, power(x, exponent - 1)});
  const Value root = power(x, exponent / 2);
  return build_(Op::Mul, {root, root});
}

// Reverses the product, with those inside it, if it repeats just one factor. Returns whether it did.
bool Deriver::reverse_power(const Let &let) {
  const Product &product = locals_.products[let.local];
  if (!product.operation) return false;
  std::vector<Value> factors;
  std::vector<LocalId> inside;
  take_apart(product, factors, inside);
  if (inside.empty() || factors.size() > most_factors || inside.size() > most_factors) return false;
  auto times = [&](const Value &factor) { return std::ranges::count(factors, factor); };
  const Value repeated = *std::ranges::max_element(factors, {}, times);
  std::vector<Value> others;
  std::ranges::copy_if(factors, std::back_inserter(others), [&](const Value &factor) { return factor != repeated; });
  const std::ptrdiff_t exponent = times(repeated);
  const bool plain = std::ranges::all_of(others, [&](const Value &factor) { return times(factor) == 1; });
  if (exponent < 2 || !plain) return false;

  auto scaled = [&](Value x, const Value *left_out) {
    for (const Value &other : others)
      if (&other != left_out) x = build_(Op::Mul, {x, value(other)});
    return x;
  };
  const Value base = value(repeated);
  const Value common = build_(Op::Mul, {adjoint(let.local), power(base, exponent - 1)});
  const Value rest = scaled(Value::constant(let.value.type, static_cast<double>(exponent)), nullptr);
  add(repeated, build_(Op::Mul, {common, rest}));
  for (const Value &other : others)
    if (active(other)) add(other, scaled(build_(Op::Mul, {common, base}), &other));
  for (LocalId local : inside) locals_.reversed[local] = true;
  return true;
}

}  // namespace samite::autodiff
