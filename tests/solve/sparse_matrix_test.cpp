// Sparse matrices against dense numbers of the host.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using namespace systems;
using solvers::SparseMatrix;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr solvers::BlockExtents every_block[] = {{1, 1}, {2, 3}, {3, 3}};

template <class T>
void expect_near(const Buffer<T> &actual, const Numbers &expected, double tolerance = 1e-13) {
  const std::vector<T> values = actual.to_vector();
  EXPECT_THAT(Numbers(values.begin(), values.end()), Pointwise(DoubleNear(tolerance), expected));
}

TEST(SparseMatrix, Products) {
  for (const solvers::BlockExtents block : every_block) {
    SCOPED_TRACE(testing::Message() << block.rows << " x " << block.columns);
    const Dense dense = random_dense(18, 24, 0.2, 0, 1);
    const SparseMatrix a = sparse(dense, block);
    const Numbers x = random_numbers(24, 2), y = random_numbers(18, 3);
    Buffer<double> ax = on_device(Numbers(18)), ay = on_device(Numbers(24));
    multiply(a, on_device(x), ax);
    multiply_transposed(a, on_device(y), ay);
    expect_near(ax, product(dense, x));
    expect_near(ay, product(transposed(dense), y));
  }
}

TEST(SparseMatrix, ProductsWithMatrices) {
  const Dense dense = random_dense(6, 9, 0.4, 0, 4);
  const SparseMatrix a = sparse<float>(dense, {2, 3});
  const Numbers numbers = random_numbers(9 * 5, 5);
  const Buffer<float> x(device(), {9, 5}, std::vector<float>(numbers.begin(), numbers.end())), y(device(), {6, 5});
  multiply(a, x, y);
  const std::vector<float> actual = y.to_vector();
  for (std::size_t m = 0; m < 5; ++m) {
    Numbers column;
    for (std::size_t j = 0; j < 9; ++j) column.push_back(numbers[j * 5 + m]);
    const Numbers expected = product(dense, column);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(actual[i * 5 + m], expected[i], 1e-5);
  }
}

TEST(SparseMatrix, OtherForms) {
  for (const solvers::BlockExtents block : every_block) {
    SCOPED_TRACE(testing::Message() << block.rows << " x " << block.columns);
    const Dense dense = random_dense(12, 18, 0.15, 0, 6);
    const SparseMatrix a = sparse(dense, block);
    expect_near(Buffer<double>(to_dense(a)), dense.values, 0);
    expect_near(Buffer<double>(to_dense(transpose(a))), transposed(dense).values, 0);
    EXPECT_TRUE(a.same_pattern(transpose(transpose(a))));
    EXPECT_FALSE(a.same_pattern(sparse(random_dense(12, 18, 0.15, 0, 7), block)));
  }
  const Dense square = random_dense(6, 6, 0.3, 0, 8);
  Numbers expected;
  for (std::size_t i = 0; i < 6; ++i) expected.push_back(square.at(i, i));
  expect_near(Buffer<double>(diagonal(sparse(square))), expected, 0);
  expect_near(Buffer<double>(diagonal(sparse(square, {3, 3}))), expected, 0);
}

TEST(SparseMatrix, GradientsOfProducts) {
  for (const solvers::BlockExtents block : every_block)
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(testing::Message() << block.rows << " x " << block.columns << transposed);
      const SparseMatrix a = sparse(random_dense(6, 12, 0.3, 0, 9), block);
      const std::size_t inner = transposed ? 6 : 12, outer = transposed ? 12 : 6;
      Buffer<double> x(device(), {inner, 2}, random_numbers(inner * 2, 10), Gradient::tracked),
          y(device(), {outer, 2}, Gradient::tracked);
      const auto work = [&] {
        if (transposed)
          multiply_transposed(a, x, y);
        else
          multiply(a, x, y);
      };
      const GradientReport report = gradcheck(work, {x, Buffer<double>(a.values())}, {y});
      EXPECT_TRUE(report.passed) << report;
    }
}

TEST(SparseMatrix, GradientsOfOtherForms) {
  const SparseMatrix a = sparse(random_dense(4, 4, 0.5, 0, 11), {2, 2});
  const Kernel square_sum{"square_sum", [](Array<double, 1> sum, Array<const double, 2> x) {
                            auto [i, j] = thread_index<2>();
                            atomic_add(sum(0), x(i, j) * x(i, j) * (i + 2 * j + 1));
                          }};
  Buffer<double> sum = on_device({0});
  const auto work = [&] {
    sum.fill(0);
    square_sum.launch({4, 4}, sum, Buffer<double>(to_dense(transpose(a))));
    square_sum.launch({1, 4}, sum, Buffer<double>(diagonal(a)).reshape({1, 4}));
  };
  const GradientReport report = gradcheck(work, {Buffer<double>(a.values())}, {sum});
  EXPECT_TRUE(report.passed) << report;
}

TEST(SparseMatrix, OneTapeEntryForAProduct) {
  const SparseMatrix a = sparse(tridiagonal(5, 2));
  Buffer<double> x = on_device(Numbers(5, 1)), y = on_device(Numbers(5));
  Tape tape;
  tape.record([&] { multiply(a, x, y); });
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_THAT(tape.to_string(), HasSubstr("sparse_multiply"));
}

TEST(SparseMatrix, WithoutEntriesRowsOrColumns) {
  const Buffer<std::int32_t> none(device(), {0});
  const SparseMatrix empty(3, 2, Buffer<std::int32_t>(device(), {4}), none, Buffer<double>(device(), {0}));
  Buffer<double> y = on_device({7, 7, 7});
  multiply(empty, on_device({1, 2}), y);
  EXPECT_THAT(y.to_vector(), ElementsAre(0, 0, 0));
  const SparseMatrix nothing(0, 0, Buffer<std::int32_t>(device(), {1}), none, Buffer<double>(device(), {0}));
  multiply(nothing, on_device({}), on_device({}));
  EXPECT_EQ(transpose(empty).rows(), 2);
}

TEST(SparseMatrix, RefusesWhatIsNoMatrix) {
  const auto message = [](std::vector<std::int32_t> offsets, std::vector<std::int32_t> indices, std::int64_t rows = 2,
                          std::int64_t columns = 3) {
    const Buffer<double> values(device(), {indices.size()});
    return message_of<UserError>([&] {
      SparseMatrix(rows, columns, Buffer<std::int32_t>(device(), {offsets.size()}, offsets),
                   Buffer<std::int32_t>(device(), {indices.size()}, indices), values);
    });
  };
  EXPECT_THAT(message({0, 1}, {0}), HasSubstr("one offset for each of 2 rows and one more"));
  EXPECT_THAT(message({0, 2, 1}, {0}), HasSubstr("offsets decrease after row 1, from 2 to 1"));
  EXPECT_THAT(message({0, 1, 3}, {0, 1}), HasSubstr("they go from 0 to 3"));
  EXPECT_THAT(message({0, 1, 2}, {0, 3}), HasSubstr("row 1 has an entry in column 3, outside of 0 to 2"));
  EXPECT_THAT(message({0, 1, 2}, {-1, 0}), HasSubstr("row 0 has an entry in column -1"));
  EXPECT_THAT(message({0, 2, 2}, {1, 1}), HasSubstr("columns of row 0 do not increase: 1 comes after 1"));
  EXPECT_THAT(message({0, 0, 0}, {}, 2, std::int64_t{1} << 33), HasSubstr("at most 2147483647"));
}

TEST(SparseMatrix, RefusesOperandsThatDoNotFit) {
  const SparseMatrix a = sparse(tridiagonal(5, 2));
  Buffer<double> x = on_device(Numbers(4)), y = on_device(Numbers(5));
  EXPECT_THAT(message_of<UserError>([&] { multiply(a, x, y); }), HasSubstr("x is Buffer<f64>(4)"));
  EXPECT_THAT(message_of<UserError>([&] { multiply(a, Buffer<float>(device(), {5}), y); }),
              HasSubstr("Buffer<f32>(5)"));
  EXPECT_THAT(message_of<UserError>([&] { multiply(SparseMatrix(), x, y); }), HasSubstr("empty sparse matrix"));
  EXPECT_THAT(message_of<UserError>([&] { a.with_values(x); }), HasSubstr("contiguous, are expected"));
  EXPECT_THAT(message_of<UserError>([&] { diagonal(sparse(random_dense(2, 4, 1, 0, 1))); }), HasSubstr("square"));
  EXPECT_THAT(message_of<UserError>([&] { multiply(a, y, y); }), HasSubstr("share"));
}

}  // namespace
}  // namespace samite::test
