// The Jacobian of work on arrays: every derivative of every output element.
//
//   Jacobian j = jacobian([&] { kernel.launch({n}, y, x); }, x, y);
//   j.at(2, 0)                          // d y[2] / d x[0]
#pragma once

#include "samite/jit/work.h"

#include <iosfwd>

namespace samite {

struct Jacobian {
  std::int64_t rows = 0, columns = 0;  // elements of the output, and of the input, in row-major order
  std::vector<double> values;          // row by row

  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  std::string to_string() const;  // a row a line
};
std::ostream &operator<<(std::ostream &stream, const Jacobian &jacobian);

// d(output) / d(input), by one run of the adjoint for each element of the output. Contents are restored; gradients are
// overwritten. UserError if one of the arrays tracks no gradient, and as in Tape::backward.
Jacobian jacobian(FunctionRef<void()> work, const Buffer<double> &input, const Buffer<double> &output,
                  SourceLocation where = std::source_location::current());

// For one launch of a kernel, by the indices of its arguments: jacobian<1, 0>(kernel, {n}, y, x) is dy / dx.
template <std::size_t Input, std::size_t Output, class... Ps>
Jacobian jacobian(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                  const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  static_assert(Input < sizeof...(Ps) && Output < sizeof...(Ps), "the kernel has no parameter of that index");
  const auto views = jit::views_of<Ps...>(arguments...);
  static_assert(
      requires {
        std::get<Input>(std::tie(arguments...)).buffer;
      } && requires { std::get<Output>(std::tie(arguments...)).buffer; }, "a Jacobian is of arrays");
  return jacobian([&] { kernel.launch(extents, arguments...); },
                  Buffer<double>(*views[jit::argument_place<Input, Ps...>()].buffer),
                  Buffer<double>(*views[jit::argument_place<Output, Ps...>()].buffer), extents.where());
}

}  // namespace samite
