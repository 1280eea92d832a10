#include "samite/codegen/values.h"

#include "samite/codegen/emission.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using ir::Value;

std::string Values::type(ScalarType type, Shape shape) {
  return std::string(shape == Shape::Varying ? vector_name(type) : scalar_name(type));
}

std::string Values::name(ir::LocalId local) const {
  if (copy_ >= 0 && copied_[local]) return fmt::format("v{}_{}", local, copy_);
  return fmt::format("v{}", local);
}

std::string Values::scalar(const Value &value) const {
  return value.is_local() ? name(value.id()) : scalar_text(value);
}

std::string Values::vector(const Value &value) const {
  switch (shape(value)) {
    case Shape::Uniform: return fmt::format("{}({})", vector_name(value.type()), scalar(value));
    case Shape::Linear: return fmt::format("({} + lane_{})", scalar(value), scalar_name(value.type()));
    case Shape::Varying: break;
  }
  return name(value.id());
}

// Where the other operand is a vector, C++ repeats a scalar in all lanes by itself, except for masks.
std::string Values::mixed(const Value &value) const {
  return shape(value) == Shape::Uniform && value.type() != ScalarType::Bool ? scalar(value) : vector(value);
}

std::string Values::as(const Value &value, Shape shape) const {
  return shape == Shape::Varying ? vector(value) : scalar(value);
}

}  // namespace samite::codegen
