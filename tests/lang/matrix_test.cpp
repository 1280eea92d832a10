#include "tests/lang/algebra_check.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <numeric>

namespace samite {
namespace {

using test::check_function;
using test::Mat;
using test::Numbers;
using test::Vec;

// a (r × k) times b (k × c), row-major.
Numbers product_of(const double *a, const double *b, int r, int k, int c) {
  Numbers out(static_cast<std::size_t>(r * c), 0.0);
  for (int i = 0; i < r; ++i)
    for (int j = 0; j < c; ++j)
      for (int l = 0; l < k; ++l) out[i * c + j] += a[i * k + l] * b[l * c + j];
  return out;
}

// By Leibniz' sum over permutations.
double determinant_of(const double *m, int n) {
  std::vector<int> columns(static_cast<std::size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  double sum = 0;
  do {
    double term = 1;
    for (int i = 0; i < n; ++i) {
      term *= m[i * n + columns[i]];
      for (int j = 0; j < i; ++j)
        if (columns[j] > columns[i]) term = -term;
    }
    sum += term;
  } while (std::next_permutation(columns.begin(), columns.end()));
  return sum;
}

// By Cramer's rule.
Numbers inverse_of(const Numbers &m, int n) {
  Numbers out;
  double whole = determinant_of(m.data(), n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      Numbers replaced = m;
      for (int k = 0; k < n; ++k) replaced[k * n + i] = k == j ? 1 : 0;
      out.push_back(determinant_of(replaced.data(), n) / whole);
    }
  return out;
}

TEST(Matrix, SumsAndScales) {
  check_function<Mat<2, 3>, Mat<2, 3>, double>(
      [](auto a, auto b, auto s) {
        a += b * s;
        a -= b / 2;
        a *= 3;
        a /= s + 4;
        return -a + 2 * b - hadamard(a, b);
      },
      [](const Numbers &in) {
        Numbers out;
        double s = in[12];
        for (int i = 0; i < 6; ++i) {
          double b = in[6 + i], a = (in[i] + b * s - b / 2) * 3 / (s + 4);
          out.push_back(-a + 2 * b - a * b);
        }
        return out;
      });
}

TEST(Matrix, Products) {
  check_function<Mat<3, 3>, Mat<3, 3>>([](auto a, auto b) { return a * b; },
                                       [](const Numbers &in) { return product_of(&in[0], &in[9], 3, 3, 3); });
  check_function<Mat<2, 3>, Mat<3, 4>>([](auto a, auto b) { return a * b; },
                                       [](const Numbers &in) { return product_of(&in[0], &in[6], 2, 3, 4); });
  check_function<Mat<6, 6>, Vec<6>>([](auto a, auto v) { return a * v; },
                                    [](const Numbers &in) { return product_of(&in[0], &in[36], 6, 6, 1); });
  check_function<Mat<2, 2>, Mat<2, 2>>([](auto a, auto b) { return a *= b; },
                                       [](const Numbers &in) { return product_of(&in[0], &in[4], 2, 2, 2); });
  check_function<Vec<2>, Vec<3>>([](auto a, auto b) { return outer(a, b); },
                                 [](const Numbers &in) { return product_of(&in[0], &in[2], 2, 1, 3); });
}

TEST(Matrix, ElementsRowsAndColumns) {
  check_function<Mat<3, 2>, Vec<2>, Vec<3>>(
      [](auto m, auto row, auto column) {
        m.set_row(1, row * m.row(0));
        m(1, 0) += 2;
        m(2, 1) = m(1, 0) * m(0, 0);
        m.set_column(0, m.column(1) + column);
        return m;
      },
      [](const Numbers &in) {
        Numbers m(in.begin(), in.begin() + 6);
        m[2] = in[6] * m[0] + 2;
        m[3] = in[7] * m[1];
        m[5] = m[2] * m[0];
        for (int i = 0; i < 3; ++i) m[2 * i] = m[2 * i + 1] + in[8 + i];
        return m;
      });
}

TEST(Matrix, Functions) {
  check_function<Mat<3, 3>>([](auto m) { return transpose(m) * trace(m); },
                            [](const Numbers &in) {
                              Numbers out;
                              for (int i = 0; i < 9; ++i)
                                out.push_back(in[i % 3 * 3 + i / 3] * (in[0] + in[4] + in[8]));
                              return out;
                            });
  check_function<Mat<3, 3>, Mat<3, 3>>(
      [](auto a, auto b) { return dot(a, b) + norm(a) + 2 * norm_squared(b) + sum(diagonal(a)); },
      [](const Numbers &in) {
        double dot = 0, a2 = 0, b2 = 0;
        for (int i = 0; i < 9; ++i) dot += in[i] * in[9 + i], a2 += in[i] * in[i], b2 += in[9 + i] * in[9 + i];
        return Numbers{dot + std::sqrt(a2) + 2 * b2 + in[0] + in[4] + in[8]};
      });
  check_function<Vec<3>, Vec<3>>([](auto v, auto w) { return skew(v) * w - 2 * cross(v, w); },
                                 [](const Numbers &in) {
                                   double a = in[0], b = in[1], c = in[2], x = in[3], y = in[4], z = in[5];
                                   return Numbers{c * y - b * z, a * z - c * x, b * x - a * y};
                                 });
  check_function<Mat<2, 2>, Vec<2>>(
      [](auto m, auto v) {
        using M = decltype(m);
        return M::identity() + M::diagonal(v) * 2 + M::from_rows({v, m.row(1)}) + M::from_columns({v, m.column(1)}) +
               select(m(0, 0) < m(1, 1), m, -m);
      },
      [](const Numbers &in) {
        double s = in[0] < in[3] ? 1 : -1;
        return Numbers{1 + 2 * in[4] + in[4] + in[4] + s * in[0], in[5] + in[1] + s * in[1], in[2] + in[5] + s * in[2],
                       1 + 2 * in[5] + in[3] + in[3] + s * in[3]};
      });
}

template <int N>
void check_determinant(std::size_t operations) {
  std::size_t computed =
      check_function<Mat<N, N>>([](auto m) { return determinant(m); },
                                [](const Numbers &in) { return Numbers{determinant_of(in.data(), N)}; }, {.low = -2});
  EXPECT_LE(computed, operations);
}

TEST(Matrix, Determinants) {
  check_determinant<1>(0);
  check_determinant<2>(124);
  check_determinant<3>(243);
  check_determinant<4>(452);
  check_determinant<5>(841);
  check_determinant<6>(1614);
}

// Diagonally dominant, but with its rows in another order, so that elimination has to exchange some.
template <int N>
void check_inverse(std::size_t operations) {
  constexpr int turn = N < 3 ? 0 : 2;
  std::size_t computed = check_function<Mat<N, N>>(
      [](auto m) {
        for (int i = 0; i < N; ++i) m(i, (i + turn) % N) += 2;
        return inverse(m);
      },
      [](Numbers in) {
        for (int i = 0; i < N; ++i) in[i * N + (i + turn) % N] += 2;
        return inverse_of(in, N);
      },
      {.low = -0.6, .high = 0.6, .tolerance = 1e-11, .gradient_tolerance = 1e-5});
  EXPECT_LE(computed, operations + N);  // N for the sums above
}

TEST(Matrix, Inverses) {
  check_inverse<1>(1);
  check_inverse<2>(78);
  check_inverse<3>(228);
  check_inverse<4>(563);
  check_inverse<5>(612);
  check_inverse<6>(1024);
}

// A zero in the first place needs an exchange of rows, whatever the size.
TEST(Matrix, TheInverseOfAPermutationIsItsTranspose) {
  auto m = Matrix<double, 6, 6>::generate([](int i, int j) { return (i + 2) % 6 == j ? 1.0 : 0.0; });
  EXPECT_EQ(norm(inverse(m) - transpose(m)), 0);
}

// Its determinant has the right gradient although its inverse has none.
TEST(Matrix, ASingularMatrixHasAGradientOfItsDeterminant) {
  Kernel kernel{"singular", [](Array<double, 1> out, Array<const double, 2> in) {
                  out(0) = determinant(Mat3d::generate([&](int i, int j) { return Double(in(i, j)); }));
                }};
  Buffer<double> in{test::device(), {3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 5}, Gradient::tracked};
  Buffer<double> out{test::device(), {1}, Gradient::tracked};
  GradientReport report = gradcheck([&] { kernel.launch({1}, out, in); }, {in}, {out});
  EXPECT_TRUE(report.passed) << report;
}

TEST(Matrix, FloatInverseIsAccurate) {
  Kernel kernel{"inverse6", [](Array<float, 2> out, Array<const float, 2> in) {
                  Mat6f m = Mat6f::generate([&](int i, int j) { return Float(in(i, j)); });
                  Mat6f n = inverse(m) * m - Mat6f::identity();
                  for (int i = 0; i < 36; ++i) out(i / 6, i % 6) = n(i / 6, i % 6);
                }};
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(36);
  for (float &value : values) value = distribution(generator);
  Buffer<float> in{test::device(), {6, 6}, values}, out{test::device(), {6, 6}};
  kernel.launch({1}, out, in);
  for (float value : out.to_vector()) EXPECT_NEAR(value, 0, 2e-5);
}

// From 9×9 on, elimination is in loops of the kernel.
template <class T, int N>
Kernel<void(Array<T, 3>, Array<const T, 3>)> kernel_of_inverses() {
  return {"inverses", [](Array<T, 3> out, Array<const T, 3> in) {
            const Int own = thread_index();
            const auto m = Matrix<Traced<T>, N, N>::generate([&](int i, int j) { return Traced<T>(in(own, i, j)); });
            const auto inverted = inverse(m);
            for (int i = 0; i < N; ++i)
              for (int j = 0; j < N; ++j) out(own, i, j) = inverted(i, j);
          }};
}

// More matrices than lanes, each with its own exchanges of rows, of sizes up to 1e12 and down to 1e-12.
template <class T, int N>
void check_large_inverses(double tolerance) {
  constexpr int count = 37;
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<T> values;
  for (int k = 0; k < count; ++k) {
    const double size = std::same_as<T, half> ? 1 : std::pow(10, k % 25 - 12);
    for (int at = 0; at < N * N; ++at) {
      const double value = (at + k) % 5 == 0 ? 0 : distribution(generator) + (at % N == (at / N + k) % N ? 3 : 0);
      values.push_back(static_cast<T>(static_cast<float>(size * value)));
    }
  }
  Buffer<T> in{test::device(), {count, N, N}, values}, out{test::device(), {count, N, N}};
  kernel_of_inverses<T, N>().launch({count}, out, in);
  const std::vector<T> inverted = out.to_vector();
  for (int at = 0; at < count * N * N; ++at) {
    const int k = at / (N * N), i = at / N % N, j = at % N;
    double sum = i == j ? -1 : 0;
    for (int l = 0; l < N; ++l)
      sum +=
          static_cast<double>(static_cast<float>(values[(k * N + i) * N + l])) * double(inverted[(k * N + l) * N + j]);
    EXPECT_NEAR(sum, 0, tolerance) << "matrix " << k << ", element " << i << ", " << j;
  }
}

TEST(Matrix, LargeInversesAreAccurate) {
  check_large_inverses<float, 9>(1e-4);
  check_large_inverses<float, 12>(1e-4);
  check_large_inverses<double, 12>(1e-12);
}

TEST(Matrix, TheLargeInverseOfAPermutationIsItsTranspose) {
  constexpr int size = 9;
  std::vector<double> values(2 * size * size);
  for (int i = 0; i < size; ++i) values[i * size + (i * 2 + 5) % size] = 1;  // the second matrix is singular
  Buffer<double> in{test::device(), {2, size, size}, values}, out{test::device(), {2, size, size}};
  kernel_of_inverses<double, size>().launch({2}, out, in);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) EXPECT_EQ(out.at(0, j, i), values[i * size + j]);
  EXPECT_FALSE(std::isfinite(out.at(1, 0, 0)));
}

TEST(Matrix, LargeInversesHaveFirstAndSecondDerivatives) {
  Kernel kernel{"large_inverse", [](Array<double, 1> out, Array<const double, 1> in) {
                  const auto m = Matrix<Double, 9, 9>::generate([&](int i, int j) {
                    const Double element = 0.3 * in((i + 2 * j) % 3) + (i * j % 7 - 3) * 0.1;
                    return Double((i + 2) % 9 == j ? 3 + element * element : element);
                  });
                  Double sum = 0, weight = 0.3;
                  for (const Double &element : inverse(m)) sum += sin(3 * element * weight), weight += 0.2;
                  out(0) = sum;
                }};
  Buffer<double> in{test::device(), {3}, {0.7, -0.4, 1.2}, Gradient::tracked};
  Buffer<double> out{test::device(), {1}, Gradient::tracked};
  const GradientReport first = gradcheck([&] { kernel.launch({1}, out, in); }, {in}, {out});
  EXPECT_TRUE(first.passed) << first;
  const GradientReport second = hessian_check([&] { kernel.launch({1}, out, in); }, {in}, out, {.tolerance = 1e-5});
  EXPECT_TRUE(second.passed) << second;
}

TEST(Matrix, AnElementOutsideIsAnErrorOfTheCapture) {
  std::string message = message_of<UserError>([&] {
    Matrix<float, 2, 3> m;
    m(2, 0) = 1;
  });
  EXPECT_THAT(message, testing::HasSubstr("matrix_test.cpp:"));
  EXPECT_THAT(message, testing::HasSubstr("row 2 is asked for, and there are 2, 0 to 1"));
}

}  // namespace
}  // namespace samite
