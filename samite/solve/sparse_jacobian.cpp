#include "samite/solve/sparse_jacobian.h"

#include "samite/base/error.h"
#include "samite/jit/arguments.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/tape_function.h"
#include "samite/solve/colouring.h"
#include "samite/solve/jacobian_pattern.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>

namespace samite::solvers {

using detail::with_floating_type;

struct SparseJacobian::Plan {
  std::shared_ptr<jit::KernelDefinition> tangent;
  LaunchExtents extents;
  std::vector<jit::OwnedArgument> arguments;  // of the tangent: own copies of what it writes, and tangents
  struct Copied {
    std::size_t argument;
    AnyBuffer from;  // what its copy holds before each run
  };
  std::vector<Copied> copied;
  std::size_t seeds, products;   // two of the arguments: the tangents of input and output
  Buffer<std::int32_t> colours;  // of each column
  // For each entry, colour by colour: its number, and the place of its value in the products.
  Buffer<std::int32_t> entries, places;
  std::vector<std::int64_t> starts;
  SparseMatrix matrix;

  void compute();
};

namespace {

template <class T>
const auto &seeding() {
  static const Kernel kernel{"seed_columns",
                             {"seeds", "colours", "colour"},
                             [](Array<T, 1> seeds, Array<const std::int32_t, 1> colours, const Int &colour) {
                               const Int i = thread_index();
                               seeds(i) = select(colours(i) == colour, Traced<T>(T(1)), Traced<T>(T(0)));
                             }};
  return kernel;
}

template <class T>
const auto &decompression() {
  static const Kernel kernel{"entries_of_colour",
                             {"values", "products", "entries", "places"},
                             [](Array<T, 1> values, Array<const T, 1> products, Array<const std::int32_t, 1> entries,
                                Array<const std::int32_t, 1> places) {
                               const Int i = thread_index();
                               values(entries(i)) = products(places(i));
                             }};
  return kernel;
}

AnyBuffer flat(const AnyBuffer &buffer) { return buffer.reshape({buffer.count()}); }

AnyBuffer zeros_like(const AnyBuffer &buffer) { return AnyBuffer(buffer.device(), buffer.type(), buffer.extents()); }

std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number; }

std::vector<std::size_t> places_of_bits(std::uint64_t bits) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 64; ++i)
    if (bits & bit(i)) places.push_back(i);
  return places;
}

// The floating-point arrays that the kernel writes, and the input, as bits.
std::uint64_t active_arrays(const jit::KernelDefinition &kernel, std::size_t input) {
  std::uint64_t active = bit(input);
  for (const std::size_t i : places_of_bits(kernel.written()))
    if (is_floating(kernel.parameters()[i].type)) active |= bit(i);
  return active;
}

void check_launch(const char *what, const jit::KernelDefinition &kernel, const LaunchExtents &extents,
                  const std::vector<jit::OwnedArgument> &arguments, std::size_t input, std::size_t output) {
  const auto refuse = [&](const std::string &why) {
    throw UserError(extents.where(), std::string(what) + " of kernel '" + kernel.name() + "': " + why);
  };
  const std::vector<jit::Argument> given = jit::views(arguments);
  jit::check_extents(kernel, extents);
  jit::check_arguments(kernel, given);
  const auto name = [&](std::size_t i) { return jit::describe(kernel.parameters(), i); };
  for (const std::size_t i : {input, output})
    if (!given[i].buffer) refuse(name(i) + " is a number; derivatives are of arrays by arrays");
  const AnyBuffer &x = *given[input].buffer, &y = *given[output].buffer;
  with_floating_type(x.type(), std::string(what) + ": elements", extents.where(), [](auto) {});
  if (x.type() != y.type())
    refuse("arrays of one type are expected; " + name(input) + " is " + x.to_string() + ", " + name(output) + " is " +
           y.to_string());
  if (!(kernel.written() & bit(output))) refuse("it does not write to " + name(output));
  if (kernel.written() & bit(input))
    refuse("it writes to " + name(input) +
           ", so that its contents before and after the launch differ; write the "
           "result to another array");
  const auto tracks = [](const jit::Argument &one) { return one.buffer && one.buffer->tracks_gradient(); };
  if (jit::TapeAccess::recording() && std::ranges::any_of(given, tracks))
    refuse(
        "its values have no gradient, and a tape records; compute them outside of Tape::record, or in "
        "without_gradients");
}

// The entries of each colour. `symmetric`: an entry is found in its own row, or in that of its column.
void group_entries(SparseJacobian::Plan &plan, const detail::ElementPattern &pattern,
                   const std::vector<std::int32_t> &colours, bool symmetric) {
  const std::int32_t count = colours.empty() ? 0 : 1 + *std::ranges::max_element(colours);
  struct Found {
    std::int32_t entry, place;
  };
  std::vector<std::vector<Found>> found(static_cast<std::size_t>(count));
  const auto rows = static_cast<std::int32_t>(pattern.offsets.size()) - 1;
  std::vector<std::int32_t> in_row(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < rows; ++i) {
    const auto first = static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(i)]),
               last = static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(i) + 1]);
    const auto colour_of = [&](std::size_t k) {
      return static_cast<std::size_t>(colours[static_cast<std::size_t>(pattern.indices[k])]);
    };
    for (std::size_t k = first; k < last; ++k) ++in_row[colour_of(k)];
    for (std::size_t k = first; k < last; ++k) {
      const bool alone = !symmetric || in_row[colour_of(k)] == 1;
      const std::size_t colour = alone ? colour_of(k) : static_cast<std::size_t>(colours[static_cast<std::size_t>(i)]);
      found[colour].push_back({static_cast<std::int32_t>(k), alone ? i : pattern.indices[k]});
    }
    for (std::size_t k = first; k < last; ++k) in_row[colour_of(k)] = 0;
  }
  std::vector<std::int32_t> entries, places;
  plan.starts = {0};
  for (const auto &of_colour : found) {
    for (const Found &each : of_colour) entries.push_back(each.entry), places.push_back(each.place);
    plan.starts.push_back(static_cast<std::int64_t>(entries.size()));
  }
  const Device device = plan.colours.device();
  plan.entries = Buffer<std::int32_t>(device, {entries.size()}, entries);
  plan.places = Buffer<std::int32_t>(device, {places.size()}, places);
}

// Entries (i, j) of both triangles: rounding apart, a Hessian is symmetric, and so is its pattern.
detail::ElementPattern with_transpose(const detail::ElementPattern &pattern) {
  std::vector<std::vector<std::int32_t>> rows(pattern.offsets.size() - 1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (auto k = static_cast<std::size_t>(pattern.offsets[i]); k < static_cast<std::size_t>(pattern.offsets[i + 1]);
         ++k) {
      const auto j = static_cast<std::size_t>(pattern.indices[k]);
      rows[i].push_back(static_cast<std::int32_t>(j)), rows[j].push_back(static_cast<std::int32_t>(i));
    }
  detail::ElementPattern both{{0}, {}};
  for (std::vector<std::int32_t> &row : rows) {
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
    both.indices.insert(both.indices.end(), row.begin(), row.end());
    both.offsets.push_back(static_cast<std::int64_t>(both.indices.size()));
  }
  return both;
}

SparseMatrix matrix_of(const detail::ElementPattern &pattern, const AnyBuffer &input, std::int64_t rows,
                       SourceLocation where) {
  const Device device = input.device();
  const std::vector<std::int32_t> offsets(pattern.offsets.begin(), pattern.offsets.end());
  const AnyBuffer values(device, input.type(), {pattern.indices.size()});
  return {rows,
          input.count(),
          Buffer<std::int32_t>(device, {offsets.size()}, offsets),
          Buffer<std::int32_t>(device, {pattern.indices.size()}, pattern.indices),
          values,
          where};
}

// For a kernel whose arguments may be overwritten, but for those of `kept`, which hold what each run begins with.
SparseJacobian planned(const std::shared_ptr<jit::KernelDefinition> &kernel, const LaunchExtents &extents,
                       std::vector<jit::OwnedArgument> arguments, std::size_t input, std::size_t output,
                       bool symmetric) {
  const std::uint64_t active = active_arrays(*kernel, input);
  auto plan = std::make_shared<SparseJacobian::Plan>(
      SparseJacobian::Plan{kernel->tangent_kernel(active), extents, {}, {}, 0, 0, {}, {}, {}, {}, {}});
  for (const std::size_t i : places_of_bits(kernel->written())) {
    plan->copied.push_back({i, arguments[i].buffer});
    arguments[i].buffer = arguments[i].buffer.clone();
  }
  for (const std::size_t i : places_of_bits(active)) {
    if (i == input) plan->seeds = arguments.size();
    if (i == output) plan->products = arguments.size();
    const AnyBuffer zeros = zeros_like(arguments[i].buffer);
    if (i != input) plan->copied.push_back({arguments.size(), zeros});
    arguments.push_back({zeros.clone(), 0, {}});
  }
  plan->arguments = std::move(arguments);
  const AnyBuffer &x = plan->arguments[plan->seeds].buffer, &y = plan->arguments[plan->products].buffer;
  if (x.count() > 2147483647 || y.count() > 2147483647)
    throw UserError(extents.where(), "a sparse Jacobian has at most 2147483647 rows and columns; " + x.to_string() +
                                         " and " + y.to_string() + " are given");
  detail::ElementPattern pattern = detail::element_pattern(
      plan->tangent->structured(), extents, jit::views(plan->arguments), static_cast<std::uint32_t>(plan->seeds),
      static_cast<std::uint32_t>(plan->products), extents.where());
  if (symmetric) pattern = with_transpose(pattern);
  const std::vector<std::int32_t> colours =
      symmetric ? detail::star_colours(pattern.offsets, pattern.indices)
                : detail::colours_of_columns(x.count(), pattern.offsets, pattern.indices);
  plan->colours = Buffer<std::int32_t>(x.device(), {colours.size()}, colours);
  plan->matrix = matrix_of(pattern, x, y.count(), extents.where());
  group_entries(*plan, pattern, colours, symmetric);
  plan->compute();
  return SparseJacobian(std::move(plan));
}

}  // namespace

void SparseJacobian::Plan::compute() {
  with_floating_type(matrix.type(), "", {}, [&]<class T>(T) {
    for (std::size_t colour = 0; colour + 1 < starts.size(); ++colour) {
      for (const Copied &each : copied) arguments[each.argument].buffer.copy_from(each.from);
      const Buffer<T> seeded(flat(arguments[seeds].buffer)), found(flat(arguments[products].buffer));
      seeding<T>().launch({seeded.count()}, seeded, colours, static_cast<int>(colour));
      jit::launch_once(tangent, extents, {}, jit::views(arguments));
      const std::int64_t first = starts[colour], last = starts[colour + 1];
      const Buffer<std::int32_t> of_entries(entries.slice(0, first, last)), of_places(places.slice(0, first, last));
      decompression<T>().launch({last - first}, Buffer<T>(matrix.values()), found, of_entries, of_places);
    }
  });
}

const SparseMatrix &SparseJacobian::matrix() const { return plan_->matrix; }

int SparseJacobian::colours() const { return static_cast<int>(plan_->starts.size()) - 1; }

const SparseMatrix &SparseJacobian::compute(SourceLocation where) {
  const auto tracks = [](const AnyBuffer &buffer) { return buffer.valid() && buffer.tracks_gradient(); };
  if (jit::TapeAccess::recording() &&
      (std::ranges::any_of(plan_->copied, [&](const Plan::Copied &each) { return tracks(each.from); }) ||
       std::ranges::any_of(plan_->arguments, [&](const jit::OwnedArgument &each) { return tracks(each.buffer); })))
    throw UserError(where,
                    "the values of a sparse Jacobian have no gradient, and a tape records; compute them outside of "
                    "Tape::record, or in without_gradients");
  plan_->compute();
  return plan_->matrix;
}

SparseJacobian detail::make_sparse_jacobian(const std::shared_ptr<jit::KernelDefinition> &kernel,
                                            const LaunchExtents &extents, std::vector<jit::OwnedArgument> arguments,
                                            std::size_t input, std::size_t output) {
  check_launch("the sparse Jacobian", *kernel, extents, arguments, input, output);
  return planned(kernel, extents, std::move(arguments), input, output, /*symmetric=*/false);
}

SparseJacobian detail::make_sparse_hessian(const std::shared_ptr<jit::KernelDefinition> &kernel,
                                           const LaunchExtents &extents, std::vector<jit::OwnedArgument> arguments,
                                           std::size_t input, std::size_t objective) {
  check_launch("the sparse Hessian", *kernel, extents, arguments, input, objective);
  if (arguments[objective].buffer.count() != 1)
    throw UserError(extents.where(), "the sparse Hessian of kernel '" + kernel->name() +
                                         "': an objective of one element is expected; " +
                                         jit::describe(kernel->parameters(), objective) + " is " +
                                         arguments[objective].buffer.to_string());
  const std::uint64_t active = active_arrays(*kernel, input);
  std::size_t gradient = 0;
  for (const std::size_t i : places_of_bits(active)) {
    const AnyBuffer own = zeros_like(arguments[i].buffer);
    if (i == input) gradient = arguments.size();
    if (i == objective) with_floating_type(own.type(), "", {}, [&]<class T>(T) { Buffer<T>(own).fill(T(1)); });
    arguments.push_back({own, 0, {}});
  }
  return planned(kernel->adjoint_kernel(active), extents, std::move(arguments), input, gradient, /*symmetric=*/true);
}

}  // namespace samite::solvers
