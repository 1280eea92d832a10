// The arrays that a product of matrices is given, and whether they fit each other.
#pragma once

#include "samite/ops/matmul_plan.h"
#include "samite/runtime/any_buffer.h"

#include <string>

namespace samite::ops {

struct MatmulOperands {
  const AnyBuffer &a, &b, &c;
  tile::Transposes transposed;
};

// a is (rows x inner), b (inner x columns), c (rows x columns); where transposed, a is (inner x rows) and b
// (columns x inner). All three have a first dimension of batches, or none has. UserError with `where`, and with what
// was expected and given, where they do not fit, or are not on one device.
MatmulShape matmul_shape(const std::string &name, const MatmulOperands &operands, SourceLocation where);

}  // namespace samite::ops
