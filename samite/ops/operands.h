// Checks the arrays of a matrix product.
#pragma once

#include "samite/ops/matmul_plan.h"
#include "samite/runtime/any_buffer.h"

#include <string>

namespace samite::ops {

struct MatmulOperands {
  const AnyBuffer &a, &b, &c;
  tile::Transposes transposed;
};

namespace detail {
// UserError if a buffer's elements are of another type; `what` is its name.
void expect_type(const char *operation, const AnyBuffer &buffer, const char *what, ScalarType type,
                 SourceLocation where);
}  // namespace detail

// a is (rows x inner), b (inner x columns), c (rows x columns); if transposed, a is (inner x rows) and b (columns x
// inner). Either all three have a leading batch dimension, or none. UserError with `where`, and with what was expected
// and given, if shapes or devices do not match.
MatmulShape matmul_shape(const std::string &name, const MatmulOperands &operands, SourceLocation where);

}  // namespace samite::ops
