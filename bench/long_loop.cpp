// The adjoint of a loop of 1,000 steps that carries 8 floats, compared with its forward launch: a chain of four masses
// on stiffening springs, with unlimited memory, with checkpoints, and with a number of steps known only at launch.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

using namespace samite;

namespace {

constexpr int steps = 1000, states = 8;
constexpr std::int64_t chains = 16384;

// One step of positions q and velocities v.
template <class T>
void step(T (&q)[4], T (&v)[4]) {
  using Number = std::conditional_t<std::same_as<T, double>, double, float>;
  const Number dt = Number(0.01);
  T left = q[0];
  for (int n = 0; n < 4; ++n) {
    T right = n < 3 ? q[n + 1] - q[n] : -q[n];
    v[n] = v[n] + dt * (right + right * right * right - left - left * left * left);
    left = right;
  }
  for (int n = 0; n < 4; ++n) q[n] = q[n] + dt * v[n];
}

void chain(const Array<float, 2> &out, const Array<const float, 2> &in, const Int &n) {
  Int i = thread_index();
  Float q[4] = {in(0, i), in(1, i), in(2, i), in(3, i)}, v[4] = {in(4, i), in(5, i), in(6, i), in(7, i)};
  for (Int k : range(n)) step(q, v);
  for (int s = 0; s < 4; ++s) {
    out(s, i) = q[s];
    out(s + 4, i) = v[s];
  }
}

double sum_of_states(const std::vector<double> &start) {
  double q[4], v[4], sum = 0;
  for (std::size_t s = 0; s < 4; ++s) q[s] = start[s], v[s] = start[s + 4];
  for (int k = 0; k < steps; ++k) step(q, v);
  for (int s = 0; s < 4; ++s) sum += q[s] + v[s];
  return sum;
}

// The gradient of the sum of the states of some chains, compared with central differences in double.
void check(const std::vector<float> &start, const std::vector<float> &gradient) {
  for (std::int64_t i = 0; i < chains; i += chains / 7) {
    std::vector<double> state;
    for (int s = 0; s < states; ++s) state.push_back(start[static_cast<std::size_t>(s * chains + i)]);
    for (std::size_t s = 0; s < states; ++s) {
      constexpr double h = 1e-6;
      std::vector<double> above = state, below = state;
      above[s] += h, below[s] -= h;
      const double expected = (sum_of_states(above) - sum_of_states(below)) / (2 * h);
      const double given = gradient[s * static_cast<std::size_t>(chains) + static_cast<std::size_t>(i)];
      if (!(std::fabs(given - expected) <= 2e-3 * (1 + std::fabs(expected))))
        throw std::runtime_error(fmt::format("chain {}, state {}: gradient {}, difference {}", i, s, given, expected));
    }
  }
}

template <class K, class... Arguments>
void compare(bench::Report &report, const std::string &what, const K &kernel, std::optional<std::int64_t> limit,
             Buffer<float> &out, Buffer<float> &in, const Arguments &...arguments) {
  Launch forward = kernel.record({chains}, out, in, arguments...);
  Launch adjoint =
      kernel.record({chains}, {.direction = Direction::adjoint, .memory_limit = limit}, out, in, arguments...);
  auto prepare = [&] {
    out.gradient().fill(1);
    in.zero_gradient();
  };
  forward.launch();
  prepare();
  adjoint.launch();
  check(in.to_vector(), in.gradient().to_vector());
  const bench::Outcome outcome =
      bench::alternate({.rounds = 21, .prepare = prepare}, [&] { adjoint.launch(); }, [&] { forward.launch(); });
  report.add({what, "time of the adjoint", outcome.ours * 1e3, "ms", "the same, forward", outcome.peer * 1e3},
             {.ratio_at_least = 1 / 4.0});
  const auto bytes = adjoint.adjoint_report().bytes();
  report.note(fmt::format("{}: the adjoint takes {:.2f} times as long, and keeps {} for each instance", what,
                          outcome.ours / outcome.peer, bytes ? fmt::format("{} B", *bytes) : "what the steps need"));
}

}  // namespace

int main() {
  return bench::run("long_loop", [](bench::Report &report) {
    std::vector<float> start;
    for (std::int64_t i = 0; i < states * chains; ++i) start.push_back(0.5f * std::sin(0.37f * static_cast<float>(i)));
    Device device = Device::cpu();
    Buffer<float> in(device, {states, chains}, start, Gradient::tracked);
    Buffer<float> out(device, {states, chains}, Gradient::tracked);
    Kernel fixed{"chain", {"out", "in"}, [](Array<float, 2> y, Array<const float, 2> x) { chain(y, x, steps); }};
    Kernel dynamic{"chain", {"out", "in", "steps"}, [](Array<float, 2> y, Array<const float, 2> x, const Int &n) {
                     chain(y, x, n);
                   }};
    compare(report, "1,000 steps, 8 floats", fixed, std::nullopt, out, in);
    compare(report, "1,000 steps, 8 floats, at most 4 KiB", fixed, 4096, out, in);
    compare(report, "1,000 steps known at launch", dynamic, std::nullopt, out, in, steps);
  });
}
