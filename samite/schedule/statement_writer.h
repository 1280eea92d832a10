// The place where lowering writes statements: a block of a kernel or of the host.
#pragma once

#include "samite/ir/stmt.h"

#include <functional>

namespace samite::schedules {

inline ir::Value number(std::int64_t value) { return ir::Value::constant(ScalarType::Int32, value); }

struct StatementWriter {
  ir::Block *out = nullptr;
  SourceLocation where;  // of the written statements
  ir::LocalId next_local = 0;

  ir::LocalId new_local() { return next_local++; }
  // The operation's result; writes it unless it is known.
  ir::Value operation(ir::Operation operation);
  // An operation on two values of one type.
  ir::Value operator()(ir::Op op, ir::Value a, ir::Value b);
  ir::Value converted(ir::Value value, ScalarType type);
  ir::Value as_i32(ir::Value value) { return converted(value, ScalarType::Int32); }
  // The remainder that is not negative.
  ir::Value floored_remainder(ir::Value value, std::int64_t by);
};

}  // namespace samite::schedules
