// How long a kernel of 500 lines takes from C++ to its adjoint as IR: capture, structure, derive. No peer does the
// same; the peer here is only the capture.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/ir/visit.h"
#include "samite/jit/definition.h"
#include "samite/lang/capture.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <array>
#include <stdexcept>

using namespace samite;

namespace {

struct State {
  Float x, y, z, angle, energy;
};

// 25 lines that a capture runs through, as a user would write them: two nested loops that carry values, three branches,
// loads, a store, mathematics.
void section(State &s, const Array<float, 1> &out, const Array<const float, 1> &in, const Int &i, int number) {
  Float scale = 0.5f + 0.01f * static_cast<float>(number);
  Int n = in.extent(0);
  Int left = max(i - 1 - number, 0);
  Int right = min(i + 1 + number, n - 1);
  Float slope = (in(right)-in(left)) * scale;
  Float sum = 0;
  for (Int k : range(3)) {
    Float weight = exp(-0.1f * cast<Float>(k) - s.x * s.x);
    Float sample = in(min(i + k, n - 1));
    if_(sample > s.y, [&] {
      sum += weight * sample;
      s.energy *= 1 + 0.01f * weight;
    });
    Float inner = sample;
    for (Int m : range(k)) {
      inner = inner * 0.5f + sin(cast<Float>(m) + s.angle);
      sum += 0.1f * inner;
    }
  }
  Float radius = sqrt(s.x * s.x + s.y * s.y + 1);
  if_(radius > 2, [&] { s.x = s.x / radius; }, [&] { s.x = s.x + 0.1f * slope; });
  s.y = s.y * 0.9f + 0.1f * tanh(sum);
  s.z = s.z + slope * cos(s.angle);
  s.angle = s.angle + 0.1f * atan2(s.y, radius);
  if_(s.z < -1, [&] { s.z = -1; });
  out(i) += s.z * scale + s.energy * 0.001f;
}

ir::Kernel capture() {
  return lang::capture<Array<float, 1>, Array<const float, 1>>(
      "long_kernel", {"out", "in"},
      [](const Array<float, 1> &out, const Array<const float, 1> &in) {
        Int i = thread_index();
        State state{in(i), 0, 0, 0, 1};
        for (int number = 0; number < 20; ++number) section(state, out, in, i, number);
      },
      std::source_location::current());
}

std::size_t statements(const ir::Kernel &kernel) {
  std::size_t count = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &) { ++count; });
  return count;
}

}  // namespace

int main() {
  return bench::run("derive", [](bench::Report &report) {
    const bench::Outcome outcome = bench::alternate(
        {.rounds = 51},
        [] {
          jit::KernelDefinition definition(capture());
          if (definition.adjoint(3, false).empty) throw std::runtime_error("the adjoint is empty");
        },
        [] { capture(); });
    report.add({"500 lines with loops and branches", "time of capture and derivation", outcome.ours * 1e3, "ms",
                "capture alone", outcome.peer * 1e3},
               {.value_at_most = 20});
    const ir::Kernel captured = capture();
    jit::KernelDefinition definition(captured);
    report.note(fmt::format("statements of the IR: {} captured, {} structured, {} in the adjoint", statements(captured),
                            statements(definition.structured()), statements(definition.adjoint(3, false).kernel)));
  });
}
