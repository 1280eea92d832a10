#include "samite/jit/jacobian.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <ostream>

namespace samite {

namespace {

Jacobian rows_of(FunctionRef<void()> work, const Buffer<double> &input, const Buffer<double> &output) {
  std::vector<Buffer<double>> inputs{input}, outputs{output};
  jit::require_tracked("jacobian", inputs, "input");
  jit::require_tracked("jacobian", outputs, "output");
  jit::Contents before_input(inputs), before_output(outputs);
  Jacobian result{output.count(), input.count(), {}};
  for (std::int64_t i = 0; i < output.count(); ++i) {
    before_output.restore();
    before_input.restore();
    std::vector<double> unit(static_cast<std::size_t>(output.count()));
    unit[static_cast<std::size_t>(i)] = 1;
    auto row = jit::gradients(work, inputs, outputs, {unit});
    result.values.insert(result.values.end(), row[0].begin(), row[0].end());
  }
  before_output.restore();
  before_input.restore();
  return result;
}

}  // namespace

Jacobian jacobian(FunctionRef<void()> work, const Buffer<double> &input, const Buffer<double> &output,
                  SourceLocation where) {
  return at_call("computed", where, [&] { return rows_of(work, input, output); });
}

std::string Jacobian::to_string() const {
  std::string text = fmt::format("Jacobian of {} outputs by {} inputs", rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    text += '\n';
    for (std::int64_t column = 0; column < columns; ++column) text += fmt::format(" {:.6g}", at(row, column));
  }
  return text;
}

std::ostream &operator<<(std::ostream &stream, const Jacobian &jacobian) { return stream << jacobian.to_string(); }

}  // namespace samite
