#include "samite/solve/sparse_matrix.h"

#include "samite/jit/kernel.h"
#include "samite/jit/operation.h"
#include "samite/lang/control.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/ops/planned_launch.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/sparse_pattern.h"

#include <array>
#include <vector>

namespace samite::solvers {
namespace {

using detail::with_floating_type;
using ops::detail::Kernels;
using Indices = Array<const std::int32_t, 1>;
constexpr int largest_block = 8;

struct ProductKey {
  BlockExtents block;
  int together;  // numbers of the result that an instance computes: one, or all of a block
  bool adds;     // to y, instead of overwriting it

  friend bool operator==(const ProductKey &, const ProductKey &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

// An element of a vector, or of a matrix's column.
template <class T, int Rank>
Element<T> at(const Array<T, Rank> &x, const Int &i, const Int &column) {
  if constexpr (Rank == 1)
    return x(i);
  else
    return x(i, column);
}

// A GPU has an instance for each number of the result. On the CPU an instance has all numbers of a block, and loads the
// block's part of x once.
int numbers_together(const Device &device, int block) { return device.kind() == DeviceKind::cpu ? block : 1; }

// The instance's first number of the result, or its block, and its column.
template <int Rank>
std::array<Int, 2> instance() {
  if constexpr (Rank == 1) {
    return {thread_index(), Int(0)};
  } else {
    auto [i, column] = thread_index<2>();
    return {i, column};
  }
}

std::size_t place(int i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<Traced<T>> zeros(int count) {
  std::vector<Traced<T>> sums;
  for (int i = 0; i < count; ++i) sums.emplace_back(T(0));
  return sums;
}

template <class T, int Rank>
void put(const Array<T, Rank> &y, const Int &first, const Int &column, const std::vector<Traced<T>> &sums, bool adds) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto element = at(y, first + static_cast<int>(i), column);
    if (adds)
      element += sums[i];
    else
      element = sums[i];
  }
}

template <class T, int Rank>
using Product = Kernel<void(Array<T, Rank>, Array<const T, 3>, Array<const T, Rank>, Indices, Indices)>;

template <class T, int Rank>
Product<T, Rank> make_product(const ProductKey &key) {
  return {"sparse_multiply",
          {"y", "values", "x", "offsets", "indices"},
          [=](Array<T, Rank> y, Array<const T, 3> values, Array<const T, Rank> x, Indices offsets, Indices indices) {
            const auto [of, column] = instance<Rank>();
            const int parts = key.block.rows / key.together;
            const Int row = of / parts, first = of % parts * key.together;
            std::vector<Traced<T>> sums = zeros<T>(key.together);
            for (Int k : range(offsets(row), offsets(row + 1)))
              for (int j = 0; j < key.block.columns; ++j) {
                const Traced<T> factor = at(x, indices(k) * key.block.columns + j, column);
                for (int i = 0; i < key.together; ++i) sums[place(i)] += values(k, first + i, j) * factor;
              }
            put(y, of * key.together, column, sums, key.adds);
          }};
}

// Gathers through the entries of each column.
template <class T, int Rank>
using TransposedProduct =
    Kernel<void(Array<T, Rank>, Array<const T, 3>, Array<const T, Rank>, Indices, Indices, Indices)>;

template <class T, int Rank>
TransposedProduct<T, Rank> make_transposed_product(const ProductKey &key) {
  return {"sparse_multiply_transposed",
          {"y", "values", "x", "offsets", "rows", "entries"},
          [=](Array<T, Rank> y, Array<const T, 3> values, Array<const T, Rank> x, Indices offsets, Indices rows,
              Indices entries) {
            const auto [of, column] = instance<Rank>();
            const int parts = key.block.columns / key.together;
            const Int block_column = of / parts, first = of % parts * key.together;
            std::vector<Traced<T>> sums = zeros<T>(key.together);
            for (Int k : range(offsets(block_column), offsets(block_column + 1)))
              for (int i = 0; i < key.block.rows; ++i) {
                const Traced<T> factor = at(x, rows(k) * key.block.rows + i, column);
                for (int j = 0; j < key.together; ++j) sums[place(j)] += values(entries(k), i, first + j) * factor;
              }
            put(y, of * key.together, column, sums, key.adds);
          }};
}

template <class T, int Rank>
using OuterProduct = Kernel<void(Array<T, 3>, Array<const T, Rank>, Array<const T, Rank>, Indices, Indices, Traced<T>)>;

template <class T, int Rank>
OuterProduct<T, Rank> make_outer_product(const BlockExtents &block) {
  return {"sparse_outer_product",
          {"gradient", "y", "x", "rows", "indices", "scale"},
          [=](Array<T, 3> gradient, Array<const T, Rank> y, Array<const T, Rank> x, Indices rows, Indices indices,
              const Traced<T> &scale) {
            const Int number = thread_index();
            const int each = block.rows * block.columns;
            const Int k = number / each, i = number % each / block.columns, j = number % block.columns;
            const Int row = rows(k) * block.rows + i, column = indices(k) * block.columns + j;
            if constexpr (Rank == 1) {
              gradient(k, i, j) += scale * y(row) * x(column);
            } else {
              Traced<T> sum = 0;
              for (Int m : range(y.extent(1))) sum += y(row, m) * x(column, m);
              gradient(k, i, j) += scale * sum;
            }
          }};
}

SAMITE_TRACED_ONCE_END

template <class T, int Rank>
const Product<T, Rank> &product(const ProductKey &key) {
  static Kernels<ProductKey, Product<T, Rank>> made(make_product<T, Rank>);
  return made.at(key);
}
template <class T, int Rank>
const TransposedProduct<T, Rank> &transposed_product(const ProductKey &key) {
  static Kernels<ProductKey, TransposedProduct<T, Rank>> made(make_transposed_product<T, Rank>);
  return made.at(key);
}
template <class T, int Rank>
const OuterProduct<T, Rank> &outer_product(const BlockExtents &block) {
  static Kernels<BlockExtents, OuterProduct<T, Rank>> made(make_outer_product<T, Rank>);
  return made.at(block);
}

// Values as (entries, block rows, block columns).
AnyBuffer in_blocks(const AnyBuffer &values) {
  return values.rank() == 1 ? values.reshape({values.count(), 1, 1}) : values;
}

ops::PlannedLaunch product_launch(const SparseMatrix &a, const AnyBuffer &y, bool transposed, bool adds) {
  const int block = transposed ? a.block().columns : a.block().rows, together = numbers_together(a.device(), block);
  const ProductKey key{a.block(), together, adds};
  const Extents instances =
      y.rank() == 1 ? Extents{y.extents()[0] / together} : Extents{y.extents()[0] / together, y.extents()[1]};
  return with_floating_type(a.type(), "", {}, [&]<class T>(T) {
    const auto of_rank = [&]<int Rank>(std::integral_constant<int, Rank>) {
      return transposed ? transposed_product<T, Rank>(key).definition() : product<T, Rank>(key).definition();
    };
    return ops::PlannedLaunch{
        y.rank() == 1 ? of_rank(std::integral_constant<int, 1>()) : of_rank(std::integral_constant<int, 2>()),
        instances};
  });
}

ops::PlannedLaunch outer_launch(const SparseMatrix &a, const AnyBuffer &y) {
  const Extents numbers{a.entries() * a.block().rows * a.block().columns};
  return with_floating_type(a.type(), "", {}, [&]<class T>(T) {
    return ops::PlannedLaunch{
        y.rank() == 1 ? outer_product<T, 1>(a.block()).definition() : outer_product<T, 2>(a.block()).definition(),
        numbers};
  });
}

// Calls `with` for the arguments of a product's launch.
template <class F>
auto with_arguments(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &x, const AnyBuffer &y,
                    bool transposed, const F &with) {
  const AnyBuffer blocks = in_blocks(values);
  const detail::SparsePattern &pattern = a.pattern();
  if (!transposed) return with({{&y}, {&blocks}, {&x}, {&pattern.offsets()}, {&pattern.indices()}});
  const detail::SparsePattern::ByColumn &by_column = pattern.by_column();
  return with({{&y}, {&blocks}, {&x}, {&by_column.offsets}, {&by_column.rows}, {&by_column.entries}});
}

void check_operands(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y, bool transposed,
                    SourceLocation where) {
  a.pattern(where);
  const std::int64_t inner = transposed ? a.rows() : a.columns(), outer = transposed ? a.columns() : a.rows();
  const auto fits = [&](const AnyBuffer &buffer, std::int64_t extent) {
    return buffer.valid() && (buffer.rank() == 1 || buffer.rank() == 2) && buffer.extents()[0] == extent &&
           buffer.type() == a.type() && buffer.device() == a.device();
  };
  const bool same =
      fits(x, inner) && fits(y, outer) && x.rank() == y.rank() && (x.rank() == 1 || x.extents()[1] == y.extents()[1]);
  if (same) return;
  const auto given = [](const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; };
  throw UserError(where, a.to_string() + (transposed ? ", transposed," : "") + " is multiplied with vectors of " +
                             std::to_string(inner) + ", or matrices with as many rows, and gives " +
                             std::to_string(outer) + ", of the same type and on the same device; x is " + given(x) +
                             ", y is " + given(y));
}

using AdjointLaunches = std::vector<jit::AdjointLaunch>;

// The gradients of the values and of x for that of y.
AdjointLaunches product_adjoint(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &x_values,
                                const AnyBuffer &x, const AnyBuffer &y, bool transposed) {
  AdjointLaunches launches;
  const AnyBuffer y_gradient = y.gradient();
  if (x.tracks_gradient()) {
    const AnyBuffer x_gradient = x.gradient();
    with_arguments(a, values, y_gradient, x_gradient, !transposed, [&](std::initializer_list<jit::Argument> arguments) {
      launches.push_back(ops::detail::adjoint_launch(product_launch(a, x, !transposed, /*adds=*/true), arguments));
    });
  }
  if (a.values().tracks_gradient()) {
    const AnyBuffer gradient = in_blocks(a.values().gradient());
    const AnyBuffer &rows = transposed ? x_values : y_gradient, &columns = transposed ? y_gradient : x_values;
    launches.push_back(ops::detail::adjoint_launch(outer_launch(a, y), {{&gradient},
                                                                        {&rows},
                                                                        {&columns},
                                                                        {&a.pattern().entry_rows()},
                                                                        {&a.pattern().indices()},
                                                                        ops::detail::number(1, a.type())}));
  }
  return launches;
}

void multiply_either(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y, bool transposed,
                     const std::optional<Stream> &stream, SourceLocation where) {
  check_operands(a, x, y, transposed, where);
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    return product_adjoint(a, values[1], values[2], x, y, transposed);
  };
  jit::perform(
      {.name = transposed ? "sparse_multiply_transposed" : "sparse_multiply",
       .arrays = {{.buffer = y, .name = "y", .written = true},
                  {.buffer = a.values(), .name = "values", .needed = true},
                  {.buffer = x, .name = "x", .needed = true}},
       .stream = stream,
       .adjoint = adjoint},
      [&](bool) {
        with_arguments(a, a.values(), x, y, transposed, [&](std::initializer_list<jit::Argument> arguments) {
          ops::detail::launch_planned(product_launch(a, y, transposed, /*adds=*/false), arguments, where, stream);
        });
      },
      where);
}

template <class T>
const auto &gathered_values() {
  static const Kernel kernel{
      "transpose_values", {"to", "from", "entries"}, [](Array<T, 3> to, Array<const T, 3> from, Indices entries) {
        auto [k, i, j] = thread_index<3>();
        to(k, i, j) = from(entries(k), j, i);
      }};
  return kernel;
}

template <class T>
const auto &gathered_diagonal() {
  static const Kernel kernel{"sparse_diagonal",
                             {"to", "values", "entries", "block"},
                             [](Array<T, 1> to, Array<const T, 3> values, Indices entries, const Int &block) {
                               const Int number = thread_index(), i = number % block;
                               const Int k = entries(number / block);
                               to(number) = 0;
                               if_(k >= 0, [&] { to(number) = values(k, i, i); });
                             }};
  return kernel;
}

template <class T>
const auto &scattered_values() {
  static const Kernel kernel{"sparse_to_dense",
                             {"to", "values", "offsets", "indices"},
                             [](Array<T, 2> to, Array<const T, 3> values, Indices offsets, Indices indices) {
                               const Int number = thread_index(), rows = values.extent(1), columns = values.extent(2);
                               const Int row = number / rows, i = number % rows;
                               for (Int k : range(offsets(row), offsets(row + 1)))
                                 for (Int j : range(columns)) to(number, indices(k) * columns + j) = values(k, i, j);
                             }};
  return kernel;
}

Gradient like(const AnyBuffer &buffer) { return buffer.tracks_gradient() ? Gradient::tracked : Gradient::untracked; }

}  // namespace

SparseMatrix::SparseMatrix(std::int64_t rows, std::int64_t columns, const Buffer<std::int32_t> &offsets,
                           const Buffer<std::int32_t> &indices, const AnyBuffer &values, SourceLocation where)
    : values_(values) {
  const auto refuse = [&](const std::string &what) { throw UserError(where, "a sparse matrix: " + what); };
  if (!values.valid() || (values.rank() != 1 && values.rank() != 3) || !values.is_contiguous())
    refuse("values are a contiguous array of numbers, or of blocks (entries, rows, columns); " +
           (values.valid() ? values.to_string() : "an empty buffer") + " is given");
  with_floating_type(values.type(), "values of a sparse matrix", where, [](auto) {});
  if (values.rank() == 3) {
    const std::int64_t block_rows = values.extents()[1], block_columns = values.extents()[2];
    if (block_rows < 1 || block_rows > largest_block || block_columns < 1 || block_columns > largest_block)
      refuse("blocks of 1 x 1 to 8 x 8 are expected, " + std::to_string(block_rows) + " x " +
             std::to_string(block_columns) + " are given");
    block_ = {static_cast<int>(block_rows), static_cast<int>(block_columns)};
  }
  if (rows % block_.rows != 0 || columns % block_.columns != 0)
    refuse(std::to_string(rows) + " x " + std::to_string(columns) + " is no multiple of blocks of " +
           std::to_string(block_.rows) + " x " + std::to_string(block_.columns));
  if (indices.valid() && indices.count() != values.extents()[0])
    refuse("one index for each entry is expected; there are " + std::to_string(indices.count()) + " indices and " +
           std::to_string(values.extents()[0]) + " entries");
  if ((offsets.valid() && offsets.device() != values.device()) ||
      (indices.valid() && indices.device() != values.device()))
    refuse("offsets, indices and values are expected on one device");
  if (rows > 2147483647 || columns > 2147483647) refuse("at most 2147483647 rows and columns are expected");
  pattern_ =
      std::make_shared<detail::SparsePattern>(rows / block_.rows, columns / block_.columns, offsets, indices, where);
}

const detail::SparsePattern &SparseMatrix::pattern(SourceLocation where) const {
  if (!pattern_) throw UserError(where, "an empty sparse matrix is used: assign one first");
  return *pattern_;
}

std::int64_t SparseMatrix::rows() const { return pattern().rows() * block_.rows; }
std::int64_t SparseMatrix::columns() const { return pattern().columns() * block_.columns; }
std::int64_t SparseMatrix::entries() const { return pattern().entries(); }
const Buffer<std::int32_t> &SparseMatrix::offsets() const { return pattern().offsets(); }
const Buffer<std::int32_t> &SparseMatrix::indices() const { return pattern().indices(); }

bool SparseMatrix::same_pattern(const SparseMatrix &other) const {
  if (pattern_ == other.pattern_ && block_ == other.block_) return true;
  if (!pattern_ || !other.pattern_ || block_ != other.block_ || rows() != other.rows() ||
      columns() != other.columns() || entries() != other.entries())
    return false;
  return offsets().to_vector() == other.offsets().to_vector() && indices().to_vector() == other.indices().to_vector();
}

SparseMatrix SparseMatrix::with_values(const AnyBuffer &values, SourceLocation where) const {
  pattern(where);
  if (!values.valid() || values.extents() != values_.extents() || values.type() != values_.type() ||
      values.device() != values_.device() || !values.is_contiguous())
    throw UserError(where, "values like " + values_.to_string() + ", contiguous, are expected for the pattern of a " +
                               "sparse matrix; " + (values.valid() ? values.to_string() : "an empty buffer") +
                               " is given");
  SparseMatrix other = *this;
  other.values_ = values;
  return other;
}

std::string SparseMatrix::to_string() const {
  if (!pattern_) return "an empty SparseMatrix";
  return "SparseMatrix<" + std::string(name(type())) + "> of " + std::to_string(rows()) + " x " +
         std::to_string(columns()) + " with " + std::to_string(entries()) +
         (block_ == BlockExtents{}
              ? " entries"
              : " blocks of " + std::to_string(block_.rows) + " x " + std::to_string(block_.columns)) +
         " on " + device().to_string();
}

void multiply(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y, const std::optional<Stream> &stream,
              SourceLocation where) {
  multiply_either(a, x, y, /*transposed=*/false, stream, where);
}

void multiply_transposed(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y,
                         const std::optional<Stream> &stream, SourceLocation where) {
  multiply_either(a, x, y, /*transposed=*/true, stream, where);
}

void add_outer_product(const SparseMatrix &a, double scale, const AnyBuffer &y, const AnyBuffer &x,
                       const AnyBuffer &gradient, const std::optional<Stream> &stream, SourceLocation where) {
  check_operands(a, x, y, /*transposed=*/false, where);
  a.with_values(gradient, where);
  const AnyBuffer blocks = in_blocks(gradient);
  ops::detail::launch_planned(outer_launch(a, y),
                              {{&blocks},
                               {&y},
                               {&x},
                               {&a.pattern().entry_rows()},
                               {&a.pattern().indices()},
                               ops::detail::number(scale, a.type())},
                              where, stream);
}

SparseMatrix transpose(const SparseMatrix &a, SourceLocation where) {
  const detail::SparsePattern::ByColumn &by_column = a.pattern(where).by_column();
  const BlockExtents block = a.block();
  const Extents extents =
      a.values().rank() == 1 ? Extents{a.entries()} : Extents{a.entries(), block.columns, block.rows};
  const AnyBuffer values(a.device(), a.type(), extents, like(a.values()), where);
  with_floating_type(a.type(), "", where, [&]<class T>(T) {
    gathered_values<T>().launch(LaunchExtents(in_blocks(values).extents(), where), Buffer<T>(in_blocks(values)),
                                Buffer<T>(in_blocks(a.values())), by_column.entries);
  });
  return {a.columns(), a.rows(), by_column.offsets, by_column.rows, values, where};
}

AnyBuffer diagonal(const SparseMatrix &a, SourceLocation where) {
  const BlockExtents block = a.block();
  if (a.rows() != a.columns() || block.rows != block.columns)
    throw UserError(where,
                    "the diagonal of a square matrix of square blocks is expected; " + a.to_string() + " is given");
  const AnyBuffer result(a.device(), a.type(), {a.rows()}, like(a.values()), where);
  with_floating_type(a.type(), "", where, [&]<class T>(T) {
    gathered_diagonal<T>().launch(LaunchExtents({a.rows()}, where), Buffer<T>(result), Buffer<T>(in_blocks(a.values())),
                                  a.pattern().diagonal(), block.rows);
  });
  return result;
}

AnyBuffer to_dense(const SparseMatrix &a, SourceLocation where) {
  a.pattern(where);
  const AnyBuffer result(a.device(), a.type(), {a.rows(), a.columns()}, like(a.values()), where);
  with_floating_type(a.type(), "", where, [&]<class T>(T) {
    scattered_values<T>().launch(LaunchExtents({a.rows()}, where), Buffer<T>(result), Buffer<T>(in_blocks(a.values())),
                                 a.offsets(), a.indices());
  });
  return result;
}

}  // namespace samite::solvers
