// Sparse Jacobians and Hessians of kernels, against dense ones by adjoints and against differences.
#include "samite/solve/sparse_jacobian.h"

#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <set>

namespace samite::test {
namespace {

using namespace systems;
using solvers::sparse_hessian;
using solvers::sparse_jacobian;
using solvers::SparseJacobian;
using solvers::SparseMatrix;
using testing::HasSubstr;

constexpr std::size_t count = 23;

Buffer<std::int32_t> indices_on_device(const std::vector<std::int32_t> &indices) {
  return Buffer<std::int32_t>(device(), {indices.size()}, indices);
}

Numbers dense(const SparseMatrix &a) { return Buffer<double>(to_dense(a)).to_vector(); }

// Entries that are not stored are zero in the dense one, too.
void expect_same(const SparseMatrix &sparse, const Jacobian &expected) {
  ASSERT_EQ(sparse.rows(), expected.rows);
  ASSERT_EQ(sparse.columns(), expected.columns);
  const Numbers actual = dense(sparse);
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected.values[i], 1e-12) << "number " << i;
}

using Stencil = Kernel<void(Array<double, 1>, Array<const double, 1>)>;
const Stencil &stencil() {
  static const Stencil kernel{"stencil", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                                const Int i = thread_index(), n = x.extent(0);
                                y(i) = sin(x(i)) * x(max(i - 1, 0)) + 0.5 * x(min(i + 1, n - 1)) * x(i);
                              }};
  return kernel;
}

TEST(SparseJacobian, OfAStencil) {
  const Buffer<double> x = on_device(random_numbers(count, 1)), y = on_device(Numbers(count, 7));
  SparseJacobian jacobian = sparse_jacobian<1, 0>(stencil(), {count}, y, x);
  EXPECT_EQ(jacobian.colours(), 3);
  EXPECT_EQ(jacobian.matrix().entries(), static_cast<std::int64_t>(3 * count - 2));
  EXPECT_EQ(y.to_vector(), Numbers(count, 7));  // kept
  expect_same(jacobian.matrix(), samite::jacobian<1, 0>(stencil(), {count}, y, x));

  // The same pattern, at another x.
  Buffer<double>(x).copy_from(random_numbers(count, 2));
  expect_same(jacobian.compute(), samite::jacobian<1, 0>(stencil(), {count}, y, x));
}

TEST(SparseJacobian, MatchesDifferences) {
  Buffer<double> x = on_device(random_numbers(count, 3)), y = on_device(Numbers(count));
  const Numbers actual = dense(sparse_jacobian<1, 0>(stencil(), {count}, y, x).matrix());
  constexpr double step = 1e-6;
  for (std::size_t j = 0; j < count; ++j) {
    Numbers sides[2];
    for (const int side : {0, 1}) {
      Numbers moved = random_numbers(count, 3);
      moved[j] += side == 0 ? -step : step;
      x.copy_from(moved);
      stencil().launch({count}, y, x);
      sides[side] = y.to_vector();
    }
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_NEAR(actual[i * count + j], (sides[1][i] - sides[0][i]) / (2 * step), 1e-8);
  }
}

// One row for each edge of a graph, whose ends two arrays of indices have; and sums at its nodes, by atomic steps.
TEST(SparseJacobian, ThroughArraysOfIndices) {
  const Kernel differences{"differences",
                           {"d", "sums", "x", "from", "to"},
                           [](Array<double, 1> d, Array<double, 1> sums, Array<const double, 1> x,
                              Array<const std::int32_t, 1> from, Array<const std::int32_t, 1> to) {
                             const Int e = thread_index();
                             const Double difference = x(from(e)) - x(to(e));
                             d(e) = difference * difference;
                             atomic_add(sums(to(e)), exp(difference));
                           }};
  std::vector<std::int32_t> from, to;
  for (std::int32_t e = 0; e < 40; ++e) from.push_back((e * 7) % 20), to.push_back((e * e + 3) % 20);
  const Buffer<double> x = on_device(random_numbers(20, 4)), d = on_device(Numbers(40)), sums = on_device(Numbers(20));
  const auto a = indices_on_device(from), b = indices_on_device(to);
  const SparseJacobian by_edge = sparse_jacobian<2, 0>(differences, {40}, d, sums, x, a, b);
  expect_same(by_edge.matrix(), samite::jacobian<2, 0>(differences, {40}, d, sums, x, a, b));
  EXPECT_LE(by_edge.matrix().entries(), 80);
  EXPECT_LT(by_edge.colours(), 20);
  const SparseJacobian by_node = sparse_jacobian<2, 1>(differences, {40}, d, sums, x, a, b);
  const auto work = [&] {
    Buffer<double>(sums).fill(0);
    differences.launch({40}, d, sums, x, a, b);
  };
  expect_same(by_node.matrix(), samite::jacobian(work, x, sums));
}

// Rows of different lengths, which an array of integers has: the product's Jacobian is the matrix.
TEST(SparseJacobian, OfASparseProduct) {
  const SparseMatrix a = sparse(random_dense(15, 18, 0.2, 0, 5));
  const Kernel product{"product",
                       {"y", "values", "x", "offsets", "indices"},
                       [](Array<double, 1> y, Array<const double, 1> values, Array<const double, 1> x,
                          Array<const std::int32_t, 1> offsets, Array<const std::int32_t, 1> indices) {
                         const Int i = thread_index();
                         Double sum = 0;
                         for (Int k : range(offsets(i), offsets(i + 1))) sum += values(k) * x(indices(k));
                         y(i) = sum;
                       }};
  const Buffer<double> x = on_device(random_numbers(18, 6)), y = on_device(Numbers(15));
  const SparseMatrix found =
      sparse_jacobian<2, 0>(product, {15}, y, Buffer<double>(a.values()), x, a.offsets(), a.indices()).matrix();
  EXPECT_TRUE(found.same_pattern(a));
  EXPECT_EQ(dense(found), dense(a));
}

// The pattern has both sides of a branch on numbers, and local arrays keep elements apart.
TEST(SparseJacobian, OfBranchesAndLocalArrays) {
  const Kernel kernel{"branches", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                        const Int i = thread_index(), n = x.extent(0);
                        LocalArray<double, 2> kept{x(i) * x(i), x((i + 5) % n)};
                        Double result = kept(1);
                        if_(x(i) > 0.0, [&] { result *= x((i + 2) % n); }, [&] { result = kept(0); });
                        y(i) = result;
                      }};
  const Buffer<double> x = on_device(random_numbers(count, 7)), y = on_device(Numbers(count));
  SparseJacobian jacobian = sparse_jacobian<1, 0>(kernel, {count}, y, x);
  EXPECT_EQ(jacobian.matrix().entries(), static_cast<std::int64_t>(3 * count));
  expect_same(jacobian.matrix(), samite::jacobian<1, 0>(kernel, {count}, y, x));
  Numbers other = random_numbers(count, 7);
  for (double &number : other) number = -number;  // the other sides
  Buffer<double>(x).copy_from(other);
  expect_same(jacobian.compute(), samite::jacobian<1, 0>(kernel, {count}, y, x));
}

TEST(SparseJacobian, InFloatOfTwoDimensions) {
  const Kernel smooth{"smooth", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                        const auto [i, j] = thread_index<2>();
                        y(i, j) = x(i, j) * x(i, j) + x(max(i - 1, 0), j) * x(i, max(j - 1, 0));
                      }};
  const Numbers numbers = random_numbers(30, 8);
  const Buffer<float> x(device(), {5, 6}, std::vector<float>(numbers.begin(), numbers.end())), y(device(), {5, 6});
  const SparseJacobian jacobian = sparse_jacobian<1, 0>(smooth, {5, 6}, y, x);
  EXPECT_LE(jacobian.colours(), 4);
  const std::vector<float> actual = Buffer<float>(to_dense(jacobian.matrix())).to_vector();
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      const std::size_t up = std::max<std::size_t>(i, 1) - 1, left = std::max<std::size_t>(j, 1) - 1, row = 6 * i + j;
      Numbers expected(30);
      expected[row] += 2 * numbers[row];
      expected[6 * up + j] += numbers[6 * i + left], expected[6 * i + left] += numbers[6 * up + j];
      for (std::size_t k = 0; k < 30; ++k) EXPECT_NEAR(actual[30 * row + k], expected[k], 1e-5);
    }
}

using Energy = Kernel<void(Array<double, 1>, Array<const double, 1>)>;
const Energy &energy() {
  static const Energy kernel{"energy", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                               const Int i = thread_index();
                               const Double bend = x(i + 1) - x(i) * x(i);
                               atomic_add(sum(0), 100.0 * bend * bend + (1.0 - x(i)) * (1.0 - x(i)));
                             }};
  return kernel;
}

TEST(SparseHessian, OfRosenbrocksChain) {
  const Buffer<double> x = on_device(random_numbers(count, 9)), sum = on_device({5});
  SparseJacobian hessian = sparse_hessian<1, 0>(energy(), {count - 1}, sum, x);
  EXPECT_EQ(hessian.matrix().entries(), static_cast<std::int64_t>(3 * count - 2));
  EXPECT_EQ(hessian.colours(), 3);
  EXPECT_EQ(sum.at(0), 5);
  for (const unsigned seed : {9u, 10u}) {
    const Numbers at = random_numbers(count, seed);
    Buffer<double>(x).copy_from(at);
    const Numbers actual = dense(hessian.compute());
    Numbers expected(count * count);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      expected[i * count + i] += 1200 * at[i] * at[i] - 400 * at[i + 1] + 2;
      expected[(i + 1) * count + i + 1] += 200;
      expected[i * count + i + 1] -= 400 * at[i], expected[(i + 1) * count + i] -= 400 * at[i];
    }
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-9) << "number " << i;
  }
}

TEST(SparseHessian, MatchesProductsOnAGraph) {
  const Kernel springs{"springs",
                       {"sum", "x", "from", "to"},
                       [](Array<double, 1> sum, Array<const double, 1> x, Array<const std::int32_t, 1> from,
                          Array<const std::int32_t, 1> to) {
                         const Int e = thread_index();
                         atomic_add(sum(0), exp(sin(x(from(e))) * x(to(e))));
                       }};
  std::vector<std::int32_t> from, to;
  for (std::int32_t e = 0; e < 30; ++e) from.push_back((e * 11) % 16), to.push_back((e * e + 5) % 16);
  const auto a = indices_on_device(from), b = indices_on_device(to);
  const Buffer<double> x = on_device(random_numbers(16, 11)), sum = on_device({0});
  const Numbers actual = dense(sparse_hessian<1, 0>(springs, {30}, sum, x, a, b).matrix());
  for (std::size_t j = 0; j < 16; ++j) {
    Numbers direction(16);
    direction[j] = 1;
    const Numbers column = hessian_vector_product<0>(springs, {30}, {direction}, sum, x, a, b).product[0];
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(actual[i * 16 + j], column[i], 1e-12);
  }
}

TEST(SparseJacobian, RefusesWhatItCannotFollow) {
  const Buffer<double> x = on_device(random_numbers(4, 12)), y = on_device(Numbers(4));
  const Kernel by_value{"by_value", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                          const Int i = thread_index();
                          y(i) = x(cast<Int>(x(i)) % 4);
                        }};
  const auto message = [](const auto &call) { return message_of<UserError>(call); };
  EXPECT_THAT(message([&] { sparse_jacobian<1, 0>(by_value, {4}, y, x); }),
              HasSubstr("an index depends on floating-point numbers, or on integers that the kernel writes"));
  const Kernel until{"until", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                       const Int i = thread_index();
                       Double sum = x(i);
                       while_([&] { return sum < 3.0; }, [&] { sum += x(i) * x(i) + 1.0; });
                       y(i) = sum;
                     }};
  EXPECT_THAT(message([&] { sparse_jacobian<1, 0>(until, {4}, y, x); }),
              HasSubstr("the condition of a loop depends on floating-point numbers"));
  const Kernel in_place{"in_place", {"y", "x"}, [](Array<double, 1> y, Array<double, 1> x) {
                          const Int i = thread_index();
                          x(i) = 2.0 * x(i);
                          y(i) = x(i);
                        }};
  EXPECT_THAT(message([&] { sparse_jacobian<1, 0>(in_place, {4}, y, x); }), HasSubstr("it writes to argument 1 ('x')"));
  EXPECT_THAT(message([&] { sparse_jacobian<0, 1>(stencil(), {4}, y, x); }),
              HasSubstr("it does not write to argument 1 ('x')"));
  EXPECT_THAT(message([&] { sparse_hessian<1, 0>(stencil(), {4}, y, x); }),
              HasSubstr("an objective of one element is expected"));
  Tape tape;
  EXPECT_THAT(message([&] { tape.record([&] { sparse_jacobian<1, 0>(stencil(), {4}, y, x); }); }),
              HasSubstr("its values have no gradient, and a tape records"));
}

}  // namespace
}  // namespace samite::test
