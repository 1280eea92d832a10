#include "samite/passes/simplify/scales.h"

#include <cmath>

namespace samite::passes {

using namespace ir;

std::optional<Scales::Scale> Scales::scale_of(const Operation &operation) {
  if (operation.type != ScalarType::Float32 && operation.type != ScalarType::Float64) return std::nullopt;
  if (operation.op == Op::Neg) return Scale{operation.operands[0], -1};
  if (operation.op != Op::Mul) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const Value &constant = operation.operands[i];
    int exponent = 0;
    if (constant.is_constant() && std::abs(std::frexp(constant.as_double(), &exponent)) == 0.5)
      return Scale{operation.operands[1 - i], constant.as_double()};
  }
  return std::nullopt;
}

Operation Scales::merged(const Operation &operation) const {
  const auto own = scale_of(operation);
  if (!own || !own->base.is_local() || own->base.id() >= scale_.size() || !scale_[own->base.id()]) return operation;
  const auto &[base, before] = *scale_[own->base.id()];
  const double factor = own->factor * before;
  constexpr double most = 1 << 20;  // far from overflow in any type
  if (std::abs(factor) > most || std::abs(factor) < 1 / most) return operation;
  if (factor == 1) return {Op::Copy, operation.type, {base}};
  if (factor == -1) return {Op::Neg, operation.type, {base}};
  return {Op::Mul, operation.type, {base, Value::constant(operation.type, factor)}};
}

void Scales::define(LocalId local, const Operation &operation) {
  const auto own = scale_of(operation);
  if (!own) return;
  if (scale_.size() <= local) scale_.resize(local + 1);
  scale_[local] = own;
}

}  // namespace samite::passes
