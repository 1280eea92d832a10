#include "samite/ops/operand_check.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <utility>

namespace samite::ops::detail {

std::string text_of(const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; }

OperandCheck::OperandCheck(std::string operation, const AnyBuffer &like, std::string name_of_like, SourceLocation where)
    : operation_(std::move(operation)), like_(like), name_of_like_(std::move(name_of_like)), where_(where) {}

void OperandCheck::expect(const AnyBuffer &buffer, const char *what, const Extents &extents, ScalarType type) const {
  if (buffer.valid() && buffer.extents() == extents && buffer.type() == type && buffer.device() == like_.device())
    return;
  fail(fmt::format("expected {} of {} with extents {} on {}, as {} is {}; {} given", what, cpp_name(type),
                   extents.to_string(), like_.device().to_string(), name_of_like_, text_of(like_), text_of(buffer)));
}

void OperandCheck::fail(const std::string &what) const { throw UserError(where_, operation_ + ": " + what); }

}  // namespace samite::ops::detail
