// Operations that are an operator or a function of C++, the same for scalars and vectors.
#pragma once

#include "samite/ir/stmt.h"

#include <functional>
#include <string>

namespace samite::codegen {

// The text of operands: as operands of an operator, and as values of the result's own kind.
struct OperandText {
  std::function<std::string(const ir::Value &)> beside, whole;
};

// Throws InternalError for any other operation.
std::string operation_text(const ir::Operation &operation, const OperandText &text);

// The result of a 16-bit operation, rounded if it may have more digits than its operands. Casts and memory accesses
// already round.
std::string rounded(const ir::Operation &operation, std::string text);

// A scalar of another type.
std::string cast_text(const ir::Operation &operation, const std::string &from);

// Whether a division by this value may be undefined in C++. Otherwise it uses the C++ operator, which the compiler
// turns into a multiplication if the divisor is a constant.
bool needs_definition(const ir::Operation &division);

}  // namespace samite::codegen
