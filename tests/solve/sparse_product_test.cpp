// Products of two sparse matrices against dense ones, and their gradients against products with transposes.
#include "samite/solve/sparse_product.h"

#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using namespace systems;
using solvers::BlockExtents;
using solvers::SparseMatrix;
using solvers::SparseProduct;
using testing::HasSubstr;

Dense product_of(const Dense &a, const Dense &b) {
  Dense c(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

void expect_equal(const SparseMatrix &actual, const Dense &expected) {
  ASSERT_EQ(actual.rows(), static_cast<std::int64_t>(expected.rows));
  ASSERT_EQ(actual.columns(), static_cast<std::int64_t>(expected.columns));
  const Numbers numbers = Buffer<double>(to_dense(actual)).to_vector();
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_NEAR(numbers[i], expected.values[i], 1e-12) << i;
}

TEST(SparseProduct, OfRectangularMatrices) {
  const Dense a = random_dense(12, 18, 0.2, 0, 1), b = random_dense(18, 9, 0.2, 0, 2);
  const SparseMatrix c = multiply(sparse(a), sparse(b));
  expect_equal(c, product_of(a, b));
  EXPECT_LT(c.entries(), 12 * 9);
}

TEST(SparseProduct, OfBlocks) {
  const Dense a = random_dense(12, 18, 0.1, 0, 3), b = random_dense(18, 8, 0.1, 0, 4);
  const SparseMatrix c = multiply(sparse(a, {2, 3}), sparse(b, {3, 4}));
  EXPECT_EQ(c.block(), (BlockExtents{2, 4}));
  expect_equal(c, product_of(a, b));
}

TEST(SparseProduct, AgainForOtherValues) {
  const Dense a = random_dense(10, 10, 0.3, 0, 5), b = random_dense(10, 10, 0.3, 0, 6);
  const SparseMatrix left = sparse(a), right = sparse(b);
  const SparseProduct product(left, right);
  Dense twice = a;
  for (double &number : twice.values) number *= 2;
  expect_equal(product.multiply(sparse(twice), right), product_of(twice, b));
  expect_equal(product.multiply(left, right), product_of(a, b));
  EXPECT_GT(product.products(), 0);
}

// For cotangents W of C = A B: those of A are W B^T, those of B are A^T W, each on the entries that are stored.
TEST(SparseProduct, GradientsOnThePatterns) {
  for (const bool in_blocks : {false, true}) {
    SCOPED_TRACE(in_blocks);
    const Dense a = random_dense(8, 12, 0.25, 0, 7), b = random_dense(12, 6, 0.25, 0, 8);
    const SparseMatrix left = sparse(a, in_blocks ? BlockExtents{2, 3} : BlockExtents{}),
                       right = sparse(b, in_blocks ? BlockExtents{3, 2} : BlockExtents{});
    Tape tape;
    SparseMatrix c;
    tape.record([&] { c = multiply(left, right); });
    const Numbers numbers = random_numbers(static_cast<std::size_t>(c.values().count()), 9);
    const Buffer<double> cotangent(device(), c.values().extents(), numbers);
    tape.backward({{c.values(), cotangent}});
    Dense weights(8, 6);
    weights.values = Buffer<double>(to_dense(c.with_values(cotangent))).to_vector();
    const Dense of_a = product_of(weights, transposed(b)), of_b = product_of(transposed(a), weights);
    const auto expect_gradient = [](const SparseMatrix &matrix, const Dense &expected) {
      const Buffer<double> gradient(matrix.values().gradient());
      const Numbers actual = Buffer<double>(to_dense(matrix.with_values(gradient))).to_vector();
      const Buffer<double> ones(device(), matrix.values().extents(),
                                Numbers(static_cast<std::size_t>(matrix.values().count()), 1));
      const Numbers stored = Buffer<double>(to_dense(matrix.with_values(ones))).to_vector();
      for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], stored[i] * expected.values[i], 1e-12);
    };
    expect_gradient(left, of_a);
    expect_gradient(right, of_b);
  }
}

TEST(SparseProduct, GradientOfASquare) {
  const Dense a = random_dense(7, 7, 0.4, 1, 14);
  const SparseMatrix matrix = sparse(a);
  Tape tape;
  SparseMatrix c;
  tape.record([&] { c = multiply(matrix, matrix); });
  const Buffer<double> ones(device(), c.values().extents(), Numbers(static_cast<std::size_t>(c.entries()), 1));
  tape.backward({{c.values(), ones}});
  Dense weights(7, 7);
  weights.values = Buffer<double>(to_dense(c.with_values(ones))).to_vector();
  const Dense left = product_of(weights, transposed(a)), right = product_of(transposed(a), weights);
  const Numbers actual = Buffer<double>(to_dense(matrix.with_values(matrix.values().gradient()))).to_vector();
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (a.values[i] != 0) EXPECT_NEAR(actual[i], left.values[i] + right.values[i], 1e-12);
}

TEST(SparseProduct, RefusesWhatDoesNotFit) {
  const SparseMatrix a = sparse(random_dense(4, 6, 0.5, 0, 10)), b = sparse(random_dense(4, 6, 0.5, 0, 11));
  EXPECT_THAT(message_of<UserError>([&] { multiply(a, b); }),
              HasSubstr("as many columns of the first as rows of the second"));
  const SparseMatrix c = sparse(random_dense(6, 4, 0.5, 0, 12)), other = sparse(random_dense(6, 4, 0.5, 0, 13));
  const SparseProduct product(a, c);
  EXPECT_THAT(message_of<UserError>([&] { product.multiply(a, other); }),
              HasSubstr("was planned for the patterns of SparseMatrix<f64> of 4 x 6"));
}

}  // namespace
}  // namespace samite::test
