#include "samite/ops/grouped_matmul.h"

#include "samite/base/error.h"
#include "samite/jit/tape_access.h"

#include <fmt/format.h>

#include <limits>

namespace samite::ops {

GroupedShape grouped_shape(const std::string &name, const GroupedOperands &operands, SourceLocation where) {
  const auto &[a, b, offsets, c, b_transposed] = operands;
  const auto fail = [&](const std::string &what) { throw UserError(where, fmt::format("{}: {}", name, what)); };
  const std::pair<const AnyBuffer *, const char *> buffers[] = {{&a, "a"}, {&b, "b"}, {&offsets, "offsets"}, {&c, "c"}};
  for (const auto &[buffer, letter] : buffers) {
    if (!buffer->valid())
      fail(fmt::format("{} is an empty buffer; give it memory: Buffer<T>(device, extents)", letter));
    if (buffer->device() != a.device())
      fail(fmt::format("a is on {} and {} on {}; move one with to(device)", a.device().to_string(), letter,
                       buffer->device().to_string()));
  }
  const std::string given =
      fmt::format("a {}, b {}{}, offsets {} and c {} given", a.extents().to_string(), b.extents().to_string(),
                  b_transposed ? ", transposed" : "", offsets.extents().to_string(), c.extents().to_string());
  if (a.rank() != 2 || b.rank() != 3 || offsets.rank() != 1 || c.rank() != 2)
    fail(fmt::format("expected a matrix a, a matrix in b for each group, a row of offsets, and a matrix c; {}", given));
  const GroupedShape shape{b.extents()[0], a.extents()[0], b.extents()[b_transposed ? 1 : 2], a.extents()[1]};
  const std::int64_t terms = b.extents()[b_transposed ? 2 : 1];
  if (shape.groups == 0) fail("b has no matrices; expected one for each group, of which there is one at least");
  if (terms != shape.inner) {
    const bool other = b.extents()[b_transposed ? 1 : 2] == shape.inner;
    fail(fmt::format("a has {} terms for each sum and b has {}; {}{}", shape.inner, terms, given,
                     other ? fmt::format(". With {{.transposed = {{.b = {}}}}} they would fit", !b_transposed) : ""));
  }
  if (offsets.extents()[0] != shape.groups + 1)
    fail(fmt::format("expected {} offsets, where each of {} groups begins and where the last one ends; {}",
                     shape.groups + 1, shape.groups, given));
  if (c.extents()[0] != shape.rows || c.extents()[1] != shape.columns)
    fail(fmt::format("expected c of {} by {}; {}", shape.rows, shape.columns, given));
  if (shape.rows > std::numeric_limits<std::int32_t>::max())
    fail(fmt::format("a has {} rows; offsets of 32 bits reach to 2^31", shape.rows));
  return shape;
}

void refuse_transposed_rows(const std::string &name, const tile::Transposes &transposed, SourceLocation where) {
  if (transposed.a)
    throw UserError(where,
                    fmt::format("{}: the rows of a, which are in groups, have to lie one after another; expected "
                                "{{.transposed = {{.b = true}}}} or no transposes, transposed a given: copy it "
                                "with transpose().clone()",
                                name));
}

bool is_differentiated(const LaunchOptions &options, const AnyBuffer &c) {
  return options.direction == Direction::adjoint || (jit::TapeAccess::recording() && c.tracks_gradient());
}

bool checks_offsets(const LaunchOptions &options, Device device) {
  return device.kind() == DeviceKind::cpu || options.debug.value_or(debug_mode());
}

}  // namespace samite::ops
