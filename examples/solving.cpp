// Sparse systems and their gradients: the conductivities of a rod are found from its temperatures. And the other parts
// of docs/solving.md: sorting, scans, direct solvers, functions of the host on a tape, roots, optimisers.
#include <samite/samite.h>
#include <samite/solve.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <vector>

using namespace samite;
using namespace samite::solvers;

namespace {

const Device device = Device::preferred();
constexpr std::int64_t cells = 16, edges = cells + 1;  // an edge lies before each cell, and one after the last

void check(bool right, const char *what) {
  std::printf("%-28s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}

// Four triplets of each edge, between cells edge - 1 and edge. Beyond the ends the temperature is zero.
const Kernel conductances{"conductances", [](Array<double, 1> values, Array<const double, 1> logarithms) {
                            Int edge = thread_index(), n = logarithms.extent(0) - 1;
                            const Double k = exp(logarithms(edge));
                            const Double between = select(edge > 0 && edge < n, -k, 0.0);
                            values(4 * edge) = select(edge < n, k, 0.0);
                            values(4 * edge + 1) = select(edge > 0, k, 0.0);
                            values(4 * edge + 2) = between;
                            values(4 * edge + 3) = between;
                          }};
const Kernel misfit{"misfit", [](Array<double, 1> sum, Array<const double, 1> x, Array<const double, 1> measured) {
                      Int i = thread_index();
                      const Double difference = x(i) - measured(i);
                      atomic_add(sum(0), difference * difference);
                    }};

Assembly assembly_of_rod() {
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t edge = 0; edge < edges; ++edge) {
    const std::int32_t right = std::min<std::int32_t>(edge, cells - 1), left = std::max(edge - 1, 0);
    rows.insert(rows.end(), {right, left, right, left});
    columns.insert(columns.end(), {right, left, left, right});
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {cells, cells, Buffer<std::int32_t>(device, {count}, rows), Buffer<std::int32_t>(device, {count}, columns)};
}

struct Rod {
  Assembly assembly = assembly_of_rod();
  Buffer<double> logarithms{device, {edges}, Gradient::tracked};
  Buffer<double> values{device, {4 * edges}, Gradient::tracked};

  SparseMatrix matrix() const {
    conductances.launch({edges}, values, logarithms);
    return assembly.assemble(values);
  }
};

void fit() {
  Rod rod;
  std::vector<double> truth(edges), heat(cells, 1), lamp(cells);
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = i > 9 ? 1.0 : std::sin(double(i));
  lamp[3] = 5;
  const Buffer<double> sources[] = {{device, {cells}, heat}, {device, {cells}, lamp}};
  Buffer<double> measured[] = {Buffer<double>{device, {cells}}, Buffer<double>{device, {cells}}};
  rod.logarithms.copy_from(std::span<const double>(truth));
  for (int i : {0, 1}) conjugate_gradients(rod.matrix(), sources[i], measured[i], {.tolerance = 1e-12});
  rod.logarithms.fill(0);

  Buffer<double> loss{device, {1}, Gradient::tracked};
  auto objective = [&] {
    Tape tape;
    tape.record([&] {
      loss.fill(0);
      SparseMatrix a = rod.matrix();
      for (int i : {0, 1}) {
        Buffer<double> x{device, {cells}, Gradient::tracked};
        conjugate_gradients(a, sources[i], x, {.tolerance = 1e-12, .preconditioner = jacobi(a)});
        misfit.launch({cells}, loss, x, measured[i]);
      }
    });
    tape.backward(loss);
    return loss.at(0);
  };
  MinimiseReport report = lbfgs({rod.logarithms}, objective, {.gradient_tolerance = 1e-7});
  std::cout << report << '\n';

  double error = 0;
  const std::vector<double> found = rod.logarithms.to_vector();
  for (std::size_t i = 0; i < truth.size(); ++i) error = std::max(error, std::abs(found[i] - truth[i]));
  check(report.converged() && error < 1e-3, "conductivities");
}

void whole_vectors() {
  Buffer<float> keys{device, {5}, {3, 1, 2, 1, 5}}, values{device, {5}, {1, 2, 3, 4, 5}};
  Buffer<float> sorted{device, {5}}, moved{device, {5}}, sums{device, {5}};
  sort(keys, values, sorted, moved);                     // 1 1 2 3 5 and 2 4 3 1 5
  auto [different, totals] = sum_by_key(sorted, moved);  // 1 2 3 5 and 6 3 1 5
  scan(moved, sums, {.exclusive = true});                // 0 2 6 9 10
  check(Buffer<float>(totals).to_vector() == std::vector<float>{6, 3, 1, 5}, "sums by key");
  check(sums.at(4) == 10, "scan");
}

void direct() {
  std::istringstream file("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
  SparseMatrix a = read_matrix_market(file, "a.mtx", device);
  Buffer<double> b{device, {2}, {1, 2}}, x{device, {2}};
  DirectSolver solver(a, Factorisation::llt);
  SolveReport report = solver.solve(b, x);
  check(report.converged() && std::abs(x.at(0) - 1.0 / 11) < 1e-12, "direct solver");
}

void matrix_free() {
  const Kernel second_difference{"second_difference", [](Array<double, 1> y, Array<const double, 1> x) {
                                   Int i = thread_index(), n = x.extent(0);
                                   y(i) = 2.0 * x(i) - select(i > 0, x(max(i - 1, 0)), 0.0) -
                                          select(i < n - 1, x(min(i + 1, n - 1)), 0.0);
                                 }};
  auto apply = [&](const AnyBuffer &x, const AnyBuffer &y) {
    second_difference.launch({cells}, Buffer<double>(y), Buffer<double>(x));
  };
  LinearOperator a{cells, cells, ScalarType::Float64, device, {.apply = apply, .symmetric = true}};
  Buffer<double> b{device, {cells}, std::vector<double>(cells, 1)}, x{device, {cells}};
  SolveReport report = minres(a, b, x, {.tolerance = 1e-10});
  check(report.converged() && std::abs(x.at(0) - cells / 2.0) < 1e-8, "operator");
}

void own_function() {
  Buffer<double> x{device, {1}, {2}, Gradient::tracked}, y{device, {1}, Gradient::tracked};
  Tape tape;
  tape.record_function(
      {y}, {x}, [&] { y.set({0}, std::tgamma(x.at(0))); },
      [](const FunctionGradients &of) {
        const double at = Buffer<double>(of.input_values[0]).at(0), step = 1e-5;
        const double slope = (std::tgamma(at + step) - std::tgamma(at - step)) / (2 * step);
        Buffer<double> gradient(of.inputs[0]);
        gradient.set({0}, gradient.at(0) + slope * Buffer<double>(of.outputs[0]).at(0));
      });
  tape.backward(y);
  check(std::abs(x.gradient().at(0) - 0.4227843350984671) < 1e-8, "function on a tape");
}

// x^4 + loss x = 3: a radiator's radiation and its loss to the air equal its heat input.
const Kernel balance{"balance", [](Array<double, 1> f, Array<const double, 1> x, Array<const double, 1> loss) {
                       Int i = thread_index();
                       f(i) = pow(x(i), 4.0) + loss(i) * x(i) - 3.0;
                     }};

void root() {
  Buffer<double> loss{device, {1}, {2}, Gradient::tracked}, x{device, {1}, Gradient::tracked};
  auto newton = [&] {
    double at = 2;
    for (int step = 0; step < 20; ++step) at -= (at * at * at * at + 2 * at - 3) / (4 * at * at * at + 2);
    x.set({0}, at);
  };
  Tape tape;
  tape.record([&] {
    auto f = [&](const AnyBuffer &x, const AnyBuffer &f) {
      balance.launch({1}, Buffer<double>(f), Buffer<double>(x), loss);
    };
    implicit(f, x, {loss}, newton);  // x = 1
  });
  tape.backward(x);  // d x / d loss = -x / (4 x^3 + loss)
  check(std::abs(loss.gradient().at(0) + 1.0 / 6) < 1e-9, "root");
}

void optimiser() {
  std::vector<AnyBuffer> weights = parameter_block(device, ScalarType::Float32, {{8, 4}, {4}});
  Optimiser adam(weights, AdamW{.rate = 0.1}, {.clip_norm = 1});
  Buffer<float>(weights[1]).gradient().fill(3);
  adam.step();
  check(std::abs(Buffer<float>(weights[1]).at(0) + 0.1f) < 1e-6f && adam.gradient_norm() == 6, "optimiser");
}

}  // namespace

int main() {
  fit();
  whole_vectors();
  direct();
  matrix_free();
  own_function();
  root();
  optimiser();
}
