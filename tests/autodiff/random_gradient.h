// Random well-typed kernels with gradients checked three ways: reverse mode against forward mode, and both against
// central differences, in double.
//
// A program is a function of only its seed. It draws straight-line code, branches, loops of every kind with carried
// values, whose ends may depend on the data, breaks, continues and early returns, assignments, local arrays, arrays
// written in place, atomic sums and every mathematical function, with arguments kept away from kinks and poles and
// values kept of moderate size.
#pragma once

#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace samite::test {

class RandomProgram {
 public:
  static constexpr std::int64_t instances = 5, inputs = 7, totals = 2, row = 4;

  explicit RandomProgram(unsigned seed) : seed_(seed) {}

  // The kernel's function: out(i) from in, work(i) and the row rows(i, …) in place, sums into total.
  void operator()(Array<double, 1> out, Array<const double, 1> in, Array<double, 1> work, Array<double, 1> total,
                  Array<double, 2> rows) const {
    Body body{std::mt19937(seed_), in, work, total, rows, thread_index()};
    body.run(out);
  }

 private:
  struct Body {
    std::mt19937 random;
    const Array<const double, 1> &in;
    const Array<double, 1> &work, &total;
    const Array<double, 2> &rows;
    Int i;
    std::vector<Double> variables = {};
    std::vector<Int> counters = {};
    bool in_place = false;  // arrays are written anywhere, else only at the end
    int loops = 0;          // around
    // Two sizes, so that the adjoint copies one array and logs the writes to the other.
    std::vector<std::unique_ptr<LocalArray<double, 3>>> small = {};
    std::vector<std::unique_ptr<LocalArray<double, 16>>> large = {};

    int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    double number() { return 0.25 + 0.125 * pick(12); }

    void run(const Array<double, 1> &out) {
      in_place = pick(2);
      counters.push_back(i);
      Double own = work(i);
      variables.reserve(64);
      variables.push_back(own);
      for (int n = 0; n < 2; ++n) variables.push_back(in(index()));
      block(3 + pick(4), 0);
      // In place: the element from before the instance, and a new value.
      if (pick(2)) work(i) = squash(own * any() + value(1));
      Double sum = 0;
      for (const Double &variable : variables) sum += variable * number();
      out(i) = sum;
    }

    Int index() { return (counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))] + pick(7)) % 7; }
    Double any() { return variables[static_cast<std::size_t>(pick(static_cast<int>(variables.size())))]; }
    // Bounded and smooth.
    Double squash(const Double &x) { return x / sqrt(1 + x * x); }

    // An element of a local array of either size.
    template <class Use>
    void local_element(Use use) {
      const Int at = counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))] + pick(5);
      const int arrays = static_cast<int>(small.size() + large.size());
      const auto chosen = static_cast<std::size_t>(pick(arrays));
      if (chosen < small.size())
        use((*small[chosen])((at % 3 + 3) % 3));
      else
        use((*large[chosen - small.size()])((at % 16 + 16) % 16));
    }

    // An element of the instance's own, in an array that is read and written in place.
    template <class Use>
    void own_element(Use use) {
      const Int at = counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))] + pick(5);
      switch (pick(3)) {
        case 0: use(work(i)); break;
        case 1: use(rows(i, pick(4))); break;
        default: use(rows(i, (at % 4 + 4) % 4)); break;
      }
    }

    Double leaf() {
      if (in_place && pick(5) == 0) {
        Double element = 0;
        own_element([&](auto reference) { element = reference; });
        return element;
      }
      if (!small.empty() || !large.empty()) {
        if (pick(4) == 0) {
          Double element = 0;
          local_element([&](auto reference) { element = reference; });
          return element;
        }
      }
      switch (pick(4)) {
        case 0: return in(index());
        case 1: return Double(number());
        default: return any();
      }
    }

    Double value(int depth) {
      if (depth == 0) return leaf();
      Double x = value(depth - 1), y = value(depth - 1);
      Double square = 1 + x * x, bounded = squash(x) * 0.9;
      switch (pick(42)) {
        case 0: return x + y;
        case 1: return x - y;
        case 2: return x * y;
        case 3: return x / (1 + y * y);
        case 4: return -x;
        case 5: return min(x, x + 1 + y * y);
        case 6: return max(x, x - 1 - y * y);
        case 7: return abs(square) * y;
        case 8: return sqrt(square + y * y);
        case 9: return rsqrt(square) * y;
        case 10: return cbrt(square);
        case 11: return exp(bounded);
        case 12: return exp2(bounded);
        case 13: return expm1(bounded) * y;
        case 14: return log(square);
        case 15: return log2(square);
        case 16: return log10(square) + y;
        case 17: return log1p(x * x);
        case 18: return sin(x);
        case 19: return cos(x * y);
        case 20: return tan(bounded);
        case 21: return asin(bounded);
        case 22: return acos(bounded);
        case 23: return atan(x + y);
        case 24: return atan2(y, square);
        case 25: return sinh(bounded);
        case 26: return cosh(bounded);
        case 27: return tanh(x - y);
        case 28: return asinh(x);
        case 29: return acosh(1 + square);
        case 30: return atanh(bounded);
        case 31: return erf(x);
        case 32: return erfc(x) * y;
        case 33: return pow(square, squash(y));
        case 34: return pow(squash(x), 2) + pow(squash(y), 3);
        case 35: return hypot(square, y);
        case 36: return fmod(4.5 + 0.1 * bounded, Double(4)) * y;
        case 37: return copysign(square, y * y + 1) * x;
        case 38: return select(i % 2 == 0, x, y);
        case 39: return x * (floor(2.5 + 0.1 * bounded) + ceil(1.5 + 0.1 * bounded));
        case 40: return y * (round(2.2 + 0.1 * bounded) - trunc(1.5 + 0.1 * bounded));
        default: return clamp(squash(x), -3, 3) * y;
      }
    }

    Bool condition() {
      // Compares floating values only with a margin that difference steps practically never cross.
      if (pick(4) == 0) return squash(any()) > 0.37 + 0.01 * pick(20);
      return (counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))] + pick(3)) % (2 + pick(2)) ==
             0;
    }

    // With a value that keeps it of moderate size.
    template <class Reference>
    static void change(Reference reference, int kind, const Double &written) {
      switch (kind) {
        case 0: reference *= 0.5 + 0.5 * written; break;
        case 1: reference /= 2 + written; break;
        case 2: reference = reference * 0.5 + written; break;
        default: reference = written; break;
      }
    }

    void assign() {
      if (in_place && pick(3) == 0) {
        const Double written = squash(value(2));
        const int kind = pick(4);
        own_element([&](auto reference) { change(reference, kind, written); });
        return;
      }
      Double &target = variables[static_cast<std::size_t>(pick(static_cast<int>(variables.size())))];
      switch (pick(5)) {
        case 0: target += squash(value(1)); break;
        case 1: target *= 0.5 + 0.5 * squash(value(1)); break;
        case 2: target /= 2 + squash(value(1)); break;
        default: target = squash(value(2)); break;
      }
    }

    // Variables made inside a block end with it.
    void scope(const std::function<void()> &body) {
      std::size_t known = variables.size(), counted = counters.size(), few = small.size(), many = large.size();
      body();
      small.resize(few);
      large.resize(many);
      while (variables.size() > known) variables.pop_back();
      while (counters.size() > counted) counters.pop_back();
    }

    void block(int statements, int depth) {
      for (int s = 0; s < statements; ++s) statement(depth);
    }

    void statement(int depth) {
      int kind = pick(depth < 3 ? 12 : 6);
      if (kind < 2 && variables.size() < 60) {
        variables.push_back(squash(value(2)));
      } else if (kind < 5) {
        assign();
      } else if (kind == 5 && pick(2)) {
        local_array();
      } else if (kind == 5) {
        atomic_add(total(pick(2)), squash(value(1)));
      } else if (kind < 8) {
        bool both = pick(2);
        auto side = [&] {
          scope([&] {
            block(1 + pick(2), depth + 1);
            if (pick(4) == 0) jump();
          });
        };
        if (both)
          if_(condition(), side, side);
        else
          if_(condition(), side);
      } else if (kind < 11) {
        loop(depth);
      } else {
        open_loop(depth);
      }
    }

    // Leaves the enclosing branch: an instance that gets here skips the following statements.
    void jump() {
      if (loops == 0) {
        if (pick(3) == 0) return_();
      } else if (pick(2)) {
        break_();
      } else {
        continue_();
      }
    }

    // A while_ that counts down, or until a value is small.
    void open_loop(int depth) {
      ++loops;
      if (pick(2)) {
        Int left = counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))] % 4;
        while_([&] { return left > 0; },
               [&] {
                 left -= 1;
                 scope([&] { block(1 + pick(2), depth + 1); });
               });
      } else {
        const double small = 0.21 + 0.01 * pick(30);
        Double left = 1.1 + squash(any());
        const Double factor = 0.5 + 0.1 * squash(any());
        while_([&] { return left * factor > small; },
               [&] {
                 left = left * factor;
                 scope([&] {
                   if (variables.size() < 60) variables.push_back(left);
                   block(1 + pick(2), depth + 1);
                 });
               });
      }
      --loops;
    }

    // A new one, filled, or a write to an existing one.
    void local_array() {
      if (small.size() + large.size() == 0 || (pick(3) == 0 && small.size() + large.size() < 4)) {
        if (pick(2)) {
          small.push_back(std::make_unique<LocalArray<double, 3>>());
          (*small.back())(pick(3)) = squash(value(1));
        } else {
          large.push_back(std::make_unique<LocalArray<double, 16>>());
          const Double base = any();
          const double factor = number();
          for (Int k : range(16)) (*large.back())(k) = squash(base + in(k % 7) * factor);
        }
        return;
      }
      const Double written = squash(value(2));
      const int kind = pick(4);
      local_element([&](auto reference) { change(reference, kind, written); });
    }

    void loop(int depth) {
      auto body = [&](const Int &j) {
        ++loops;
        scope([&] {
          counters.push_back(j);
          block(1 + pick(3), depth + 1);
        });
        --loops;
      };
      switch (pick(4)) {
        case 0:
          for (Int j : range(pick(4))) body(j);
          break;
        case 1:
          for (Int j : range(i % 4)) body(j);
          break;
        case 2:
          for (Int j : range(5 - i, 0, -(1 + pick(2)))) body(j);
          break;
        default:
          for (Int j : range(i, in.extent(0), 1 + pick(3))) body(j);
          break;
      }
    }
  };

  unsigned seed_;
};

struct GradientOutcome {
  bool right = true;
  std::string refusal;  // why the adjoint was refused, if it was
  std::string report;   // of a wrong one
};

inline GradientOutcome check_random_gradient(unsigned seed) {
  Device device = test::device();
  Kernel kernel{"random", {"out", "in", "work", "total", "rows"}, RandomProgram(seed)};
  std::mt19937 random(seed + 1);
  auto fill = [&](std::int64_t n) {
    std::uniform_real_distribution<double> distribution(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(n));
    for (double &value : values) value = distribution(random);
    return values;
  };
  constexpr std::int64_t n = RandomProgram::instances, m = RandomProgram::inputs, t = RandomProgram::totals;
  auto make = [&](std::int64_t count) { return Buffer<double>(device, {count}, Gradient::tracked); };
  Buffer<double> out = make(n), in = make(m), work = make(n), total = make(t);
  Buffer<double> rows(device, {n, RandomProgram::row}, Gradient::tracked);
  const auto in0 = fill(m), work0 = fill(n), in_direction = fill(m), work_direction = fill(n);
  const auto out_weight = fill(n), work_weight = fill(n), total_weight = fill(t);
  const auto rows0 = fill(rows.count()), rows_direction = fill(rows.count()), rows_weight = fill(rows.count());

  auto dot = [](const std::vector<double> &a, const std::vector<double> &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  auto set = [&](double step) {
    std::vector<double> x = in0, w = work0, r = rows0;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step * in_direction[i];
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += step * work_direction[i];
    for (std::size_t i = 0; i < r.size(); ++i) r[i] += step * rows_direction[i];
    in.copy_from(x);
    work.copy_from(w);
    rows.copy_from(r);
    out.fill(0);
    total.fill(0);
  };
  auto objective = [&](double step) {
    set(step);
    kernel.launch({n}, out, in, work, total, rows);
    return dot(out_weight, out.to_vector()) + dot(work_weight, work.to_vector()) +
           dot(total_weight, total.to_vector()) + dot(rows_weight, rows.to_vector());
  };

  GradientOutcome outcome;
  set(0);
  in.gradient().copy_from(in_direction);
  work.gradient().copy_from(work_direction);
  rows.gradient().copy_from(rows_direction);
  out.zero_gradient();
  total.zero_gradient();
  kernel.launch({n}, {.direction = Direction::tangent}, out, in, work, total, rows);
  double tangent = dot(out_weight, out.gradient().to_vector()) + dot(work_weight, work.gradient().to_vector()) +
                   dot(total_weight, total.gradient().to_vector()) + dot(rows_weight, rows.gradient().to_vector());

  double adjoint = 0;
  try {
    set(0);
    Tape tape;
    // With and without checkpoints.
    LaunchOptions options;
    if (seed % 3 != 0) options.memory_limit = seed % 3 == 1 ? 0 : 40;
    tape.record([&] { kernel.launch({n}, options, out, in, work, total, rows); });
    tape.zero_gradients();
    auto seed_of = [&](const Buffer<double> &buffer, const std::vector<double> &weight) {
      return Tape::Cotangent{buffer, Buffer<double>(device, buffer.extents(), weight)};
    };
    tape.backward({seed_of(out, out_weight), seed_of(work, work_weight), seed_of(total, total_weight),
                   seed_of(rows, rows_weight)});
    adjoint = dot(in.gradient().to_vector(), in_direction) + dot(work.gradient().to_vector(), work_direction) +
              dot(rows.gradient().to_vector(), rows_direction);
  } catch (const UserError &error) {
    outcome.refusal = error.what();
    return outcome;
  }

  // A difference step may cross a branch: of several steps the best counts, and if none is good, one-sided differences.
  double difference = 0, best = INFINITY;
  const double scale = 1 + std::fabs(tangent);
  auto consider = [&](double candidate) {
    if (std::fabs(candidate - adjoint) < best) best = std::fabs(candidate - adjoint), difference = candidate;
  };
  for (double step : {1e-5, 1e-6, 1e-4}) consider((objective(step) - objective(-step)) / (2 * step));
  for (double step : {1e-6, -1e-6, 1e-5, -1e-5})
    if (best > 1e-5 * scale) consider((4 * objective(step) - 3 * objective(0) - objective(2 * step)) / (2 * step));
  // Near a pole the slope changes within a step.
  for (double step : {1e-8, 1e-9})
    if (best > 1e-5 * scale) consider((objective(step) - objective(-step)) / (2 * step));
  outcome.right = std::fabs(tangent - adjoint) <= 1e-9 * scale && best <= 1e-5 * scale;
  if (!outcome.right)
    outcome.report = "seed " + std::to_string(seed) + ": adjoint " + std::to_string(adjoint) + ", tangent " +
                     std::to_string(tangent) + ", difference " + std::to_string(difference);
  return outcome;
}

}  // namespace samite::test
