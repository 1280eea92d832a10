#include "samite/solve/many_systems.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/sparse_pattern.h"

#include <fmt/format.h>

#include <cmath>

namespace samite::solvers {
namespace {

using detail::with_floating_type;
using Indices = Array<const std::int32_t, 1>;

// Rounding lets the residual of the recurrence fall below the true one: the method then begins again.
constexpr int rounds = 4;

template <class T>
struct SystemArrays {
  Array<const T, 2> values, b;
  Array<T, 2> x, residual, direction, product;
  Indices offsets, indices, diagonal;
};
template <class T>
struct HostSystemArrays {
  Buffer<T> values, b, x, residual, direction, product;
  Buffer<std::int32_t> offsets, indices, diagonal;
};

template <class T>
Double product_of_row(const SystemArrays<T> &of, const Array<T, 2> &x, const Int &row, const Int &system) {
  Double sum = 0;
  for (Int k : range(of.offsets(row), of.offsets(row + 1)))
    sum += cast<Double>(of.values(k, system)) * cast<Double>(x(of.indices(k), system));
  return sum;
}

// The inverse of a number on the diagonal, 1 where it is zero or missing.
template <class T>
Double inverse_of_diagonal(const SystemArrays<T> &of, const Int &row, const Int &system) {
  const Int k = of.diagonal(row);
  const Double number = cast<Double>(of.values(max(k, 0), system));
  return select(k >= 0 && number != 0.0, 1.0 / number, 1.0);
}

// Hestenes and Stiefel, 1952, of one system.
template <class T>
const auto &solution_of_system() {
  static const Kernel kernel{
      "solve_many",
      {"arrays", "norms", "counts", "tolerance", "absolute_tolerance", "iterations"},
      [](SystemArrays<T> of, Array<double, 2> norms, Array<std::int32_t, 1> counts, const Double &tolerance,
         const Double &absolute_tolerance, const Int &iterations) {
        const Int system = thread_index(), rows = of.diagonal.extent(0);
        Int count = 0;
        Double target = 0.0, square = 0.0;
        for (Int round : range(rounds)) {
          Double right = 0.0, rho = 0.0;
          square = 0.0;
          for (Int row : range(rows)) {
            const Double b = cast<Double>(of.b(row, system));
            const Double r = b - product_of_row(of, of.x, row, system);
            const Double z = r * inverse_of_diagonal(of, row, system);
            of.residual(row, system) = cast<Traced<T>>(r), of.direction(row, system) = cast<Traced<T>>(z);
            right += b * b, square += r * r, rho += r * z;
          }
          target = max(tolerance * sqrt(right), absolute_tolerance);
          Bool goes_on = sqrt(square) > target && count < iterations && round < rounds - 1;
          while_([&] { return goes_on; },
                 [&] {
                   Double curvature = 0.0;
                   for (Int row : range(rows)) {
                     const Double q = product_of_row(of, of.direction, row, system);
                     of.product(row, system) = cast<Traced<T>>(q);
                     curvature += cast<Double>(of.direction(row, system)) * q;
                   }
                   const Bool descends = curvature > 0.0 && rho > 0.0;
                   const Double alpha = select(descends, rho / curvature, 0.0);
                   Double next = 0.0;
                   square = 0.0;
                   for (Int row : range(rows)) {
                     const Double r =
                         cast<Double>(of.residual(row, system)) - alpha * cast<Double>(of.product(row, system));
                     const Double moved =
                         cast<Double>(of.x(row, system)) + alpha * cast<Double>(of.direction(row, system));
                     of.x(row, system) = cast<Traced<T>>(moved), of.residual(row, system) = cast<Traced<T>>(r);
                     square += r * r, next += r * r * inverse_of_diagonal(of, row, system);
                   }
                   const Double beta = next / rho;
                   for (Int row : range(rows))
                     of.direction(row, system) =
                         cast<Traced<T>>(cast<Double>(of.residual(row, system)) * inverse_of_diagonal(of, row, system) +
                                         beta * cast<Double>(of.direction(row, system)));
                   rho = next;
                   count += 1;
                   goes_on = descends && sqrt(square) > target && count < iterations;
                 });
        }
        norms(0, system) = sqrt(square), norms(1, system) = target;
        counts(system) = count;
      }};
  return kernel;
}

template <class T>
const auto &gradient_of_values() {
  static const Kernel kernel{
      "solve_many_values",
      {"gradient", "multipliers", "x", "rows", "indices"},
      [](Array<T, 2> gradient, Array<const T, 2> multipliers, Array<const T, 2> x, Indices rows, Indices indices) {
        const auto [k, system] = thread_index<2>();
        gradient(k, system) -= multipliers(rows(k), system) * x(indices(k), system);
      }};
  return kernel;
}

template <class T>
const auto &addition_of_systems() {
  static const Kernel kernel{"add_systems", {"y", "x"}, [](Array<T, 2> y, Array<const T, 2> x) {
                               const auto [i, j] = thread_index<2>();
                               y(i, j) += x(i, j);
                             }};
  return kernel;
}

template <class T>
ManySolvesReport solve_now(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &b, const AnyBuffer &x,
                           const ManySolvesOptions &options) {
  const Extents &extents = b.extents();
  const std::int64_t systems = extents[1];
  const Device device = a.device();
  const Buffer<double> norms(device, {2, systems});
  const Buffer<std::int32_t> counts(device, {systems});
  const HostSystemArrays<T> arrays{
      Buffer<T>(values),          Buffer<T>(b), Buffer<T>(x), Buffer<T>(device, extents), Buffer<T>(device, extents),
      Buffer<T>(device, extents), a.offsets(),  a.indices(),  a.pattern().diagonal()};
  if (systems > 0 && a.rows() > 0)
    solution_of_system<T>().launch({systems}, arrays, norms, counts, options.tolerance, options.absolute_tolerance,
                                   static_cast<int>(options.iterations));
  const std::vector<double> numbers = norms.to_vector();
  const auto middle = numbers.begin() + systems;
  return {{numbers.begin(), middle}, {middle, numbers.end()}, counts.to_vector()};
}

void check_many(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &b, const AnyBuffer &x,
                const ManySolvesOptions &options, SourceLocation where) {
  const auto refuse = [&](const std::string &what) { throw UserError(where, "conjugate_gradients_of_many: " + what); };
  a.pattern(where);
  if (a.rows() != a.columns() || a.block() != BlockExtents{})
    refuse("the pattern of a square matrix of numbers is expected, " + a.to_string() + " is given");
  if (a.entries() == 0 && a.rows() > 0) refuse("a matrix without entries is singular; " + a.to_string() + " is given");
  const auto fits = [&](const AnyBuffer &buffer, std::int64_t rows) {
    return buffer.valid() && buffer.rank() == 2 && buffer.extents()[0] == rows && values.valid() &&
           buffer.extents()[1] == values.extents()[1] && buffer.type() == values.type() &&
           buffer.device() == a.device();
  };
  const auto given = [](const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; };
  if (!values.valid() || values.rank() != 2 || !fits(values, a.entries()) || !fits(b, a.rows()) || !fits(x, a.rows()))
    refuse(
        fmt::format("values of {} x systems, b and x of {} x systems are expected, of one type, on {}; values are "
                    "{}, b is {}, x is {}",
                    a.entries(), a.rows(), a.device().to_string(), given(values), given(b), given(x)));
  with_floating_type(values.type(), "numbers of many systems", where, [](auto) {});
  if (x.is_broadcast() || share_elements(b, x) || share_elements(values, x))
    refuse("x is expected to be an array of its own, apart from b and the values");
  if (!(options.tolerance >= 0) || !(options.absolute_tolerance >= 0) || options.iterations < 0 ||
      options.iterations > 2147483647)
    refuse(fmt::format("tolerances of at least 0 and 0 to 2147483647 iterations are expected; {}, {} and {} are given",
                       options.tolerance, options.absolute_tolerance, options.iterations));
}

void require_all_solved(const ManySolvesReport &report, const char *which, SourceLocation where) {
  if (report.converged()) return;
  throw UserError(where, "backward: the gradient of many solves would be wrong, since not all of the " +
                             std::string(which) + " have converged: " + report.to_string());
}

}  // namespace

std::vector<std::int64_t> ManySolvesReport::unsolved() const {
  std::vector<std::int64_t> systems;
  for (std::size_t s = 0; s < residuals.size(); ++s)
    if (!(residuals[s] <= targets[s])) systems.push_back(static_cast<std::int64_t>(s));
  return systems;
}

std::string ManySolvesReport::to_string() const {
  const std::vector<std::int64_t> failed = unsolved();
  std::string text = fmt::format("{} of {} systems converged", residuals.size() - failed.size(), residuals.size());
  if (failed.empty()) return text;
  const auto first = static_cast<std::size_t>(failed[0]);
  return text + fmt::format("; system {} has a residual of {:.3g}, of at most {:.3g}, after {} iterations", first,
                            residuals[first], targets[first], iterations[first]);
}

ManySolvesReport conjugate_gradients_of_many(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &b,
                                             const AnyBuffer &x, const ManySolvesOptions &options,
                                             SourceLocation where) {
  check_many(a, values, b, x, options, where);
  const auto report = std::make_shared<ManySolvesReport>();
  TapeFunction function;
  function.outputs = {x}, function.inputs = {values, b};
  function.options.name = "conjugate_gradients_of_many";
  with_floating_type(values.type(), "", where, [&]<class T>(T) {
    function.forward = [&] { *report = solve_now<T>(a, values, b, x, options); };
    function.backward = [a, options, report, where](const FunctionGradients &of) {
      require_all_solved(*report, "systems", where);
      const Buffer<T> multipliers(a.device(), of.outputs[0].extents());
      const ManySolvesReport adjoint = solve_now<T>(a, of.input_values[0], of.outputs[0], multipliers, options);
      if (options.on_adjoint) options.on_adjoint(adjoint);
      require_all_solved(adjoint, "transposed systems", where);
      if (of.inputs[1].valid())
        addition_of_systems<T>().launch(LaunchExtents(multipliers.extents()), Buffer<T>(of.inputs[1]), multipliers);
      if (of.inputs[0].valid())
        gradient_of_values<T>().launch(LaunchExtents(of.inputs[0].extents()), Buffer<T>(of.inputs[0]), multipliers,
                                       Buffer<T>(of.output_values[0]), a.pattern().entry_rows(), a.indices());
    };
  });
  run_on_tape(function, where);
  return *report;
}

}  // namespace samite::solvers
