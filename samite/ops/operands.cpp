#include "samite/ops/operands.h"

#include "samite/base/error.h"

#include <fmt/format.h>

namespace samite::ops {
namespace {

class Check {
 public:
  Check(const std::string &name, const MatmulOperands &operands, SourceLocation where)
      : name_(name), operands_(operands), where_(where) {}

  MatmulShape shape() const {
    const auto &[a, b, c, transposed] = operands_;
    for (const auto &[buffer, letter] : {std::pair{&a, 'a'}, std::pair{&b, 'b'}, std::pair{&c, 'c'}}) {
      if (!buffer->valid())
        fail(fmt::format("{} is an empty buffer; give it memory: Buffer<T>(device, extents)", letter));
      if (buffer->device() != a.device())
        fail(fmt::format("a is on {} and {} on {}; move one with to(device)", a.device().to_string(), letter,
                         buffer->device().to_string()));
    }
    const int rank = a.rank();
    if ((rank != 2 && rank != 3) || b.rank() != rank || c.rank() != rank)
      fail(
          fmt::format("expected three matrices, or three arrays of as many matrices each; {} given. A matrix for all "
                      "batches is made by broadcast()",
                      given()));
    const auto extent = [&](const AnyBuffer &x, int d) { return x.extents()[rank - 2 + d]; };
    const MatmulShape shape{rank == 3 ? a.extents()[0] : 1, extent(a, transposed.a ? 1 : 0),
                            extent(b, transposed.b ? 0 : 1), extent(a, transposed.a ? 0 : 1)};
    if (extent(b, transposed.b ? 1 : 0) != shape.inner)
      fail(fmt::format("a has {} terms for each sum and b has {}; {} given{}", shape.inner,
                       extent(b, transposed.b ? 1 : 0), given(), remedy()));
    if (extent(c, 0) != shape.rows || extent(c, 1) != shape.columns)
      fail(fmt::format("expected c of {} by {}; {} given", shape.rows, shape.columns, given()));
    if (rank == 3 && (b.extents()[0] != shape.batches || c.extents()[0] != shape.batches))
      fail(fmt::format("expected as many matrices in each array; {} given", given()));
    return shape;
  }

 private:
  std::string given() const {
    const auto &[a, b, c, transposed] = operands_;
    return fmt::format("a {}{}, b {}{} and c {}", a.extents().to_string(), transposed.a ? ", transposed" : "",
                       b.extents().to_string(), transposed.b ? ", transposed" : "", c.extents().to_string());
  }
  std::string remedy() const {
    const auto &[a, b, c, transposed] = operands_;
    const int rank = a.rank();
    const std::int64_t inner = a.extents()[rank - (transposed.a ? 2 : 1)];
    if (b.extents()[rank - (transposed.b ? 2 : 1)] != inner) return "";
    return fmt::format(". With {{.transposed = {{.b = {}}}}} they would fit", !transposed.b);
  }
  [[noreturn]] void fail(const std::string &what) const { throw UserError(where_, fmt::format("{}: {}", name_, what)); }

  const std::string &name_;
  const MatmulOperands &operands_;
  SourceLocation where_;
};

}  // namespace

void detail::expect_type(const char *operation, const AnyBuffer &buffer, const char *what, ScalarType type,
                         SourceLocation where) {
  if (!buffer.valid() || buffer.type() != type)
    throw UserError(where, fmt::format("{}: expected {} of {}; {} given", operation, what, cpp_name(type),
                                       buffer.valid() ? buffer.to_string() : "an empty buffer"));
}

MatmulShape matmul_shape(const std::string &name, const MatmulOperands &operands, SourceLocation where) {
  return Check(name, operands, where).shape();
}

}  // namespace samite::ops
