#include "samite/codegen/values.h"

#include "samite/codegen/emission.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using ir::Value;

std::string Values::name(ir::LocalId local) const { return local_name(local); }

std::string Values::scalar(const Value &value) const {
  return value.is_local() ? name(value.id()) : scalar_text(value);
}

std::string_view Values::type(ScalarType type, ir::LocalId) const { return scalar_name(type); }

std::string Values::assigned(const Value &value, ir::LocalId) const { return scalar(value); }

}  // namespace samite::codegen
