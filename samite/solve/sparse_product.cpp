#include "samite/solve/sparse_product.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/jit/operation.h"
#include "samite/lang/control.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/host_operation.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace samite::solvers {
namespace {

using detail::with_floating_type;
using Numbers = std::vector<std::int32_t>;
using Indices = Array<const std::int32_t, 1>;

// Groups of products: those of group i are starts[i] to starts[i + 1] - 1, and have an entry of each of two matrices.
struct Groups {
  Buffer<std::int32_t> starts, first, second;
};

// Products of an entry of A with one of B, which belong to an entry of the result: by that, by A's and by B's.
struct Products {
  Numbers of, left, right;
};

Groups grouped(Device device, std::int64_t count, const Numbers &by, const Numbers &first, const Numbers &second) {
  Numbers starts(static_cast<std::size_t>(count) + 1), ordered_first(by.size()), ordered_second(by.size());
  for (const std::int32_t group : by) ++starts[static_cast<std::size_t>(group) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  Numbers next(starts.begin(), starts.end() - 1);
  for (std::size_t p = 0; p < by.size(); ++p) {
    const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(by[p])]++);
    ordered_first[to] = first[p], ordered_second[to] = second[p];
  }
  // At once, whatever the thread records or captures.
  const PlainHostOperations now;
  return {Buffer<std::int32_t>(device, {starts.size()}, starts),
          Buffer<std::int32_t>(device, {ordered_first.size()}, ordered_first),
          Buffer<std::int32_t>(device, {ordered_second.size()}, ordered_second)};
}

template <class T>
using SumKernel = Kernel<void(Array<T, 3>, Array<const T, 3>, Array<const T, 3>, Indices, Indices, Indices)>;

// C[i, j] = the sum of A[i, k] B[k, j].
template <class T>
const SumKernel<T> &sums_of_products() {
  static const SumKernel<T> kernel{
      "sparse_product",
      {"c", "a", "b", "starts", "left", "right"},
      [](Array<T, 3> c, Array<const T, 3> a, Array<const T, 3> b, Indices starts, Indices left, Indices right) {
        const auto [entry, i, j] = thread_index<3>();
        Traced<T> sum = 0;
        for (Int p : range(starts(entry), starts(entry + 1)))
          for (Int k : range(a.extent(2))) sum += a(left(p), i, k) * b(right(p), k, j);
        c(entry, i, j) = sum;
      }};
  return kernel;
}

// The gradient of A[i, k] is the sum of that of C[i, j] times B[k, j]; groups are A's entries.
template <class T>
const SumKernel<T> &gradient_of_left() {
  static const SumKernel<T> kernel{"sparse_product_left",
                                   {"gradient", "c", "b", "starts", "entries", "right"},
                                   [](Array<T, 3> gradient, Array<const T, 3> c, Array<const T, 3> b, Indices starts,
                                      Indices entries, Indices right) {
                                     const auto [entry, i, k] = thread_index<3>();
                                     Traced<T> sum = 0;
                                     for (Int p : range(starts(entry), starts(entry + 1)))
                                       for (Int j : range(b.extent(2))) sum += c(entries(p), i, j) * b(right(p), k, j);
                                     gradient(entry, i, k) += sum;
                                   }};
  return kernel;
}

// And that of B[k, j] the sum of A[i, k] times that of C[i, j]; groups are B's entries.
template <class T>
const SumKernel<T> &gradient_of_right() {
  static const SumKernel<T> kernel{"sparse_product_right",
                                   {"gradient", "a", "c", "starts", "left", "entries"},
                                   [](Array<T, 3> gradient, Array<const T, 3> a, Array<const T, 3> c, Indices starts,
                                      Indices left, Indices entries) {
                                     const auto [entry, k, j] = thread_index<3>();
                                     Traced<T> sum = 0;
                                     for (Int p : range(starts(entry), starts(entry + 1)))
                                       for (Int i : range(a.extent(1))) sum += a(left(p), i, k) * c(entries(p), i, j);
                                     gradient(entry, k, j) += sum;
                                   }};
  return kernel;
}

AnyBuffer blocks_of(const AnyBuffer &values) {
  return values.rank() == 1 ? values.reshape({values.count(), 1, 1}) : values;
}

void check_fit(const SparseMatrix &a, const SparseMatrix &b, SourceLocation where) {
  a.pattern(where), b.pattern(where);
  if (a.columns() == b.rows() && a.block().columns == b.block().rows && a.type() == b.type() &&
      a.device() == b.device())
    return;
  throw UserError(where,
                  "the product of two sparse matrices: as many columns of the first as rows of the second, in "
                  "blocks alike, of one type and on one device are expected; " +
                      a.to_string() + " and " + b.to_string() + " are given");
}

}  // namespace

struct SparseProduct::Terms {
  SparseMatrix a, b, c;  // for their patterns
  Products products;
  Groups by_result;

  const Groups &by_left() const {
    const std::lock_guard lock(mutex_);
    if (!by_left_) by_left_ = grouped(a.device(), a.entries(), products.left, products.of, products.right);
    return *by_left_;
  }
  const Groups &by_right() const {
    const std::lock_guard lock(mutex_);
    if (!by_right_) by_right_ = grouped(a.device(), b.entries(), products.right, products.left, products.of);
    return *by_right_;
  }

 private:
  mutable std::mutex mutex_;  // protects the following
  mutable std::optional<Groups> by_left_, by_right_;
};

SparseProduct::SparseProduct(const SparseMatrix &a, const SparseMatrix &b, SourceLocation where) {
  check_fit(a, b, where);
  const Numbers a_offsets = a.offsets().to_vector(), a_indices = a.indices().to_vector(),
                b_offsets = b.offsets().to_vector(), b_indices = b.indices().to_vector();
  struct Term {
    std::int32_t column, left, right;
  };
  auto terms = std::make_shared<Terms>();
  Numbers offsets{0}, indices;
  std::vector<Term> row;
  for (std::size_t i = 0; i + 1 < a_offsets.size(); ++i) {
    row.clear();
    for (std::int32_t k = a_offsets[i]; k < a_offsets[i + 1]; ++k) {
      const auto inner = static_cast<std::size_t>(a_indices[static_cast<std::size_t>(k)]);
      for (std::int32_t l = b_offsets[inner]; l < b_offsets[inner + 1]; ++l)
        row.push_back({b_indices[static_cast<std::size_t>(l)], k, l});
    }
    std::ranges::stable_sort(row, {}, &Term::column);
    for (std::size_t t = 0; t < row.size(); ++t) {
      if (t == 0 || row[t].column != row[t - 1].column) indices.push_back(row[t].column);
      terms->products.of.push_back(static_cast<std::int32_t>(indices.size()) - 1);
      terms->products.left.push_back(row[t].left), terms->products.right.push_back(row[t].right);
    }
    if (terms->products.of.size() > 2147483647)
      throw UserError(where, "the product of " + a.to_string() + " and " + b.to_string() +
                                 " has more than 2147483647 products of entries");
    offsets.push_back(static_cast<std::int32_t>(indices.size()));
  }
  const Device device = a.device();
  const auto entries = static_cast<std::int64_t>(indices.size());
  const bool in_blocks = a.values().rank() == 3 || b.values().rank() == 3;
  const Extents extents = in_blocks ? Extents{entries, a.block().rows, b.block().columns} : Extents{entries};
  terms->a = a, terms->b = b;
  terms->c = SparseMatrix(a.rows(), b.columns(), Buffer<std::int32_t>(device, {offsets.size()}, offsets),
                          Buffer<std::int32_t>(device, {indices.size()}, indices), AnyBuffer(device, a.type(), extents),
                          where);
  const Products &products = terms->products;
  terms->by_result = grouped(device, entries, products.of, products.left, products.right);
  terms_ = std::move(terms);
}

std::int64_t SparseProduct::products() const { return static_cast<std::int64_t>(terms_->products.of.size()); }

SparseMatrix SparseProduct::multiply(const SparseMatrix &a, const SparseMatrix &b, SourceLocation where) const {
  check_fit(a, b, where);
  if (!a.same_pattern(terms_->a) || !b.same_pattern(terms_->b) || a.type() != terms_->a.type())
    throw UserError(where, "a product of sparse matrices was planned for the patterns of " + terms_->a.to_string() +
                               " and " + terms_->b.to_string() + "; others are given: " + a.to_string() + " and " +
                               b.to_string());
  const bool tracks = a.values().tracks_gradient() || b.values().tracks_gradient();
  const AnyBuffer values(a.device(), a.type(), terms_->c.values().extents(),
                         tracks ? Gradient::tracked : Gradient::untracked, where);
  with_floating_type(a.type(), "", where, [&]<class T>(T) {
    const auto adjoint = [terms = terms_, a, b, values](std::span<const AnyBuffer> kept) {
      std::vector<jit::AdjointLaunch> launches;
      const AnyBuffer cotangent = blocks_of(values.gradient()), left = blocks_of(kept[1]), right = blocks_of(kept[2]);
      if (a.values().tracks_gradient()) {
        const AnyBuffer gradient = blocks_of(a.values().gradient());
        const Groups &groups = terms->by_left();
        launches.push_back(ops::detail::adjoint_launch(
            {gradient_of_left<T>().definition(), gradient.extents()},
            {{&gradient}, {&cotangent}, {&right}, {&groups.starts}, {&groups.first}, {&groups.second}}));
      }
      if (b.values().tracks_gradient()) {
        const AnyBuffer gradient = blocks_of(b.values().gradient());
        const Groups &groups = terms->by_right();
        launches.push_back(ops::detail::adjoint_launch(
            {gradient_of_right<T>().definition(), gradient.extents()},
            {{&gradient}, {&left}, {&cotangent}, {&groups.starts}, {&groups.first}, {&groups.second}}));
      }
      return launches;
    };
    jit::perform(
        {.name = "sparse_product",
         .arrays = {{.buffer = values, .name = "values", .written = true},
                    {.buffer = a.values(), .name = "a", .needed = true},
                    {.buffer = b.values(), .name = "b", .needed = true}},
         .stream = {},
         .adjoint = adjoint},
        [&](bool) {
          const AnyBuffer result = blocks_of(values), left = blocks_of(a.values()), right = blocks_of(b.values());
          const Groups &groups = terms_->by_result;
          ops::detail::launch_planned(
              {sums_of_products<T>().definition(), result.extents()},
              {{&result}, {&left}, {&right}, {&groups.starts}, {&groups.first}, {&groups.second}}, where, {});
        },
        where);
  });
  return terms_->c.with_values(values, where);
}

SparseMatrix multiply(const SparseMatrix &a, const SparseMatrix &b, SourceLocation where) {
  return SparseProduct(a, b, where).multiply(a, b, where);
}

}  // namespace samite::solvers
