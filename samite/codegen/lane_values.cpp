#include "samite/codegen/lane_values.h"

#include "samite/codegen/emission.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using ir::Value;

std::string LaneValues::name(ir::LocalId local) const {
  if (copy_ >= 0 && copied_[local]) return fmt::format("v{}_{}", local, copy_);
  return local_name(local);
}

std::string_view LaneValues::type(ScalarType type, Shape shape) {
  return shape == Shape::Varying ? vector_name(type) : scalar_name(type);
}

std::string_view LaneValues::type(ScalarType type, ir::LocalId local) const {
  return LaneValues::type(type, shape(local));
}

std::string LaneValues::assigned(const Value &value, ir::LocalId local) const { return as(value, shape(local)); }

std::string LaneValues::vector(const Value &value) const {
  switch (shape(value)) {
    case Shape::Uniform: return fmt::format("{}({})", vector_name(value.type()), scalar(value));
    case Shape::Linear: return fmt::format("({} + lane_{})", scalar(value), scalar_name(value.type()));
    case Shape::Varying: break;
  }
  return name(value.id());
}

// C++ broadcasts scalars to all lanes, except for masks.
std::string LaneValues::beside_vector(const Value &value) const {
  return shape(value) == Shape::Uniform && value.type() != ScalarType::Bool ? scalar(value) : vector(value);
}

std::string LaneValues::as(const Value &value, Shape shape) const {
  return shape == Shape::Varying ? vector(value) : scalar(value);
}

}  // namespace samite::codegen
