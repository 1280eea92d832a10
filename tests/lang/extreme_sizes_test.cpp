// Vectors and matrices with elements so small or so large that their products leave the range of the type: values,
// adjoints and tangents are those of the same matrix at size 1, scaled.

#include "samite/lang/algebra.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace samite {
namespace {

using Wide = long double;
template <int N>
using WideMatrix = std::array<std::array<Wide, N>, N>;

template <int N>
WideMatrix<N> product(const WideMatrix<N> &a, const WideMatrix<N> &b) {
  WideMatrix<N> result{};
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      for (int k = 0; k < N; ++k) result[i][j] += a[i][k] * b[k][j];
  return result;
}

// By elimination with row exchanges.
template <int N>
std::pair<WideMatrix<N>, Wide> inverse_and_determinant(WideMatrix<N> m) {
  WideMatrix<N> inverse{};
  Wide determinant = 1;
  for (int i = 0; i < N; ++i) inverse[i][i] = 1;
  for (int k = 0; k < N; ++k) {
    int pivot = k;
    for (int i = k + 1; i < N; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    if (pivot != k) determinant = -determinant;
    std::swap(m[k], m[pivot]);
    std::swap(inverse[k], inverse[pivot]);
    determinant *= m[k][k];
    for (int i = 0; i < N; ++i) {
      if (i == k) continue;
      const Wide factor = m[i][k] / m[k][k];
      for (int j = 0; j < N; ++j) m[i][j] -= factor * m[k][j], inverse[i][j] -= factor * inverse[k][j];
    }
    const Wide own = m[k][k];
    for (int j = 0; j < N; ++j) m[k][j] /= own, inverse[k][j] /= own;
  }
  return {inverse, determinant};
}

template <int N>
WideMatrix<N> transposed(const WideMatrix<N> &m) {
  WideMatrix<N> result;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) result[i][j] = m[j][i];
  return result;
}

template <class T, int N>
std::vector<T> numbers_of(const WideMatrix<N> &m, Wide scale) {
  std::vector<T> numbers;
  for (const auto &row : m)
    for (const Wide number : row) numbers.push_back(static_cast<T>(number * scale));
  return numbers;
}

// Each relative to the largest of them, and within `absolute`.
template <class T, int N>
void expect_near(const std::vector<T> &got, const WideMatrix<N> &matrix, Wide scale, double units, const char *what,
                 Wide absolute = 0) {
  Wide largest = std::numeric_limits<T>::min();
  for (const auto &row : matrix)
    for (const Wide number : row) largest = std::max(largest, std::abs(number * scale));
  for (int i = 0; i < N * N; ++i)
    EXPECT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)] / largest),
                static_cast<double>(matrix[i / N][i % N] * scale / largest),
                units * std::numeric_limits<T>::epsilon() + static_cast<double>(absolute / largest))
        << what << ", element " << i;
}

// inverse(m), determinant(m) and the solution for the first unit vector of a kernel. The matrix is the instance's own,
// so that its gradient is added without atomics: those of a GPU leave zeros in place of denormal floats.
template <class T, int N>
auto inverses() {
  return Kernel{"inverses",
                [](Array<T, 1> inverted, Array<T, 1> solved, Array<T, 1> determinants, Array<const T, 2> in) {
                  using M = Matrix<Traced<T>, N, N>;
                  const Int own = thread_index();
                  const auto m = M::generate([&](int i, int j) { return Traced<T>(in(own, i * N + j)); });
                  const M result = inverse(m);
                  for (int i = 0; i < N * N; ++i) inverted(i) = result.begin()[i];
                  const auto x = solve(m, Vector<Traced<T>, N>::unit(0));
                  for (int i = 0; i < N; ++i) solved(i) = x[i];
                  determinants(0) = determinant(m);
                }};
}

template <int N>
WideMatrix<N> random_matrix(std::mt19937 &random, Wide on_diagonal) {
  std::uniform_real_distribution<double> unit(-1, 1);
  WideMatrix<N> m;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) m[i][j] = static_cast<float>(unit(random)) + (i == j ? on_diagonal : 0);
  return m;
}

template <class T, int N>
void expect_inverses_at(std::initializer_list<double> sizes) {
  const auto kernel = inverses<T, N>();
  const Device device = test::device();
  std::mt19937 random(N);
  for (const double size : sizes) {
    SCOPED_TRACE(testing::Message() << N << "x" << N << " of size " << size);
    const WideMatrix<N> m = random_matrix<N>(random, 2), weights = random_matrix<N>(random, 0);
    // The matrix rounded to the type is inverted.
    const std::vector<T> input = numbers_of<T, N>(m, size);
    WideMatrix<N> given;
    for (int i = 0; i < N * N; ++i) given[i / N][i % N] = static_cast<Wide>(input[static_cast<std::size_t>(i)]) / size;
    const auto [exact, determinant] = inverse_and_determinant<N>(given);

    Buffer<T> in(device, {1, N * N}, input, Gradient::tracked), inverted(device, {N * N}, Gradient::tracked);
    // The derivative of a determinant may be infinite although that of the inverse is not.
    Buffer<T> solved(device, {N}), determinants(device, {1});
    kernel.launch({1}, inverted, solved, determinants, in);
    expect_near<T, N>(inverted.to_vector(), exact, 1 / Wide(size), 100, "the inverse");
    for (int i = 0; i < N; ++i)
      EXPECT_NEAR(static_cast<double>(solved.at(i) * Wide(size)), static_cast<double>(exact[i][0]),
                  100 * std::numeric_limits<T>::epsilon());
    const Wide full = determinant * std::pow(Wide(size), N);
    if (const T rounded = static_cast<T>(full); std::isinf(rounded))
      EXPECT_EQ(determinants.at(0), rounded);
    else if (!std::isnormal(rounded))
      EXPECT_NEAR(determinants.at(0), rounded, 100 * std::numeric_limits<T>::denorm_min());
    else
      EXPECT_NEAR(static_cast<double>(determinants.at(0) / full), 1, 100 * std::numeric_limits<T>::epsilon());

    // d(sum of weights inverse(m)) = -inverse(m)ᵀ weights inverse(m)ᵀ; weights of the matrix's size keep it in range.
    const WideMatrix<N> turned = transposed<N>(exact);
    const WideMatrix<N> gradient = product<N>(product<N>(turned, weights), turned);
    inverted.gradient().copy_from(numbers_of<T, N>(weights, size));
    kernel.launch({1}, {.direction = Direction::adjoint}, inverted, solved, determinants, in);
    // Atomic additions of f32 on a GPU flush subnormal numbers to zero (PTX ISA, `atom`).
    const Wide flushed = device.kind() == DeviceKind::cpu ? 0 : Wide(std::numeric_limits<float>::min());
    expect_near<T, N>(in.gradient().to_vector(), gradient, -1 / Wide(size), 1000, "the adjoint of the inverse",
                      flushed);

    const WideMatrix<N> change = product<N>(product<N>(exact, weights), exact);
    in.gradient().copy_from(numbers_of<T, N>(weights, size));
    kernel.launch({1}, {.direction = Direction::tangent}, inverted, solved, determinants, in);
    expect_near<T, N>(inverted.gradient().to_vector(), change, -1 / Wide(size), 1000, "the tangent of the inverse");
  }
}

TEST(ExtremeSizes, InversesOfFloats) {
  expect_inverses_at<float, 2>({1, 1e20, 1e-20, 1e-30, 1e37});
  expect_inverses_at<float, 3>({1, 1e-14, 1e13, 1e-30, 1e37});
  expect_inverses_at<float, 4>({1, 1e10, 1e-12, 1e-30, 1e37});
  expect_inverses_at<float, 5>({1, 1e-14, 1e37});
}
TEST(ExtremeSizes, InversesOfDoubles) {
  expect_inverses_at<double, 2>({1, 1e200, 1e-200});
  expect_inverses_at<double, 3>({1, 1e-120, 1e110});
  expect_inverses_at<double, 4>({1, 1e80, 1e-80, 1e-290});
  expect_inverses_at<double, 6>({1, 1e-80});
}

// Rows and columns of different sizes.
template <class T, int N>
void expect_determinants_of_mixed_sizes(int exponents) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> exponent(-exponents, exponents);
  int in_range = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const WideMatrix<N> m = random_matrix<N>(random, 2);
    std::array<int, N> rows, columns;
    for (int i = 0; i < N; ++i) rows[i] = exponent(random), columns[i] = exponent(random);
    Wide factor = 1;
    for (int i = 0; i < N; ++i) factor *= std::ldexp(Wide(1), rows[i] + columns[i]);
    const Wide exact = inverse_and_determinant<N>(m).second * factor;
    if (!std::isnormal(static_cast<T>(exact))) continue;
    ++in_range;
    const auto scaled = Matrix<T, N, N>::generate(
        [&](int i, int j) { return static_cast<T>(std::ldexp(m[i][j], rows[i] + columns[j])); });
    EXPECT_NEAR(static_cast<double>(determinant(scaled) / exact), 1, 200 * std::numeric_limits<T>::epsilon());
  }
  EXPECT_GT(in_range, 50);
}
TEST(ExtremeSizes, DeterminantsOfMixedSizes) {
  expect_determinants_of_mixed_sizes<float, 2>(40);
  expect_determinants_of_mixed_sizes<float, 3>(40);
  expect_determinants_of_mixed_sizes<float, 4>(40);
  expect_determinants_of_mixed_sizes<float, 6>(30);
  expect_determinants_of_mixed_sizes<double, 3>(400);
  expect_determinants_of_mixed_sizes<double, 4>(400);
}

TEST(ExtremeSizes, DeterminantsOfSingularMatricesHaveTheirGradient) {
  const auto kernel = inverses<float, 3>();
  const Device device = test::device();
  for (const float size : {1.0f, 1e-18f, 1e10f}) {
    Buffer<float> in(device, {1, 9}, {size, 0, 0, 0, 0, size, 0, 0, size}, Gradient::tracked);
    Buffer<float> inverted(device, {9}), solved(device, {3}), determinants(device, {1}, {0}, Gradient::tracked);
    determinants.gradient().fill(1);
    kernel.launch({1}, {.direction = Direction::adjoint}, inverted, solved, determinants, in);
    const std::vector<float> expected{0, 0, 0, 0, size * size, 0, 0, -size * size, 0};
    for (std::size_t i = 0; i < 9; ++i) EXPECT_FLOAT_EQ(in.gradient().to_vector()[i], expected[i]) << i << ' ' << size;
  }
}

template <class T>
void expect_decompositions_at(std::initializer_list<double> sizes) {
  using M = Matrix<T, 3, 3>;
  std::mt19937 random(3);
  for (const double size : sizes) {
    SCOPED_TRACE(testing::Message() << "size " << size);
    const WideMatrix<3> drawn = random_matrix<3>(random, 1);
    const M m = M::generate([&](int i, int j) { return static_cast<T>(drawn[i][j] * size); });
    const Wide unit =
        std::max<Wide>(110 * std::numeric_limits<T>::epsilon() * size, 6 * Wide(std::numeric_limits<T>::denorm_min()));
    const auto expect_product = [&](const M &left, const Vector<T, 3> &values, const M &right, const M &of) {
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          Wide sum = 0;
          for (int k = 0; k < 3; ++k) sum += Wide(left(i, k)) * values[k] * right(j, k);
          EXPECT_LE(std::abs(sum - Wide(of(i, j))), unit) << i << ' ' << j;
        }
    };
    const auto [u, values, v] = svd(m);
    expect_product(u, values, v, m);
    const M symmetric = m + transpose(m);
    const auto [own, vectors] = symmetric_eigen(symmetric);
    expect_product(vectors, own, vectors, symmetric);
    const auto [rotation, stretch] = polar(m);
    expect_product(rotation * stretch, Vector<T, 3>(1, 1, 1), M::identity(), m);
    const auto [q, r] = qr(m);
    expect_product(q * r, Vector<T, 3>(1, 1, 1), M::identity(), m);
  }
}
TEST(ExtremeSizes, DecompositionsOfFloats) { expect_decompositions_at<float>({1, 1e-40, 1e-44, 1e-30, 1e37}); }
TEST(ExtremeSizes, DecompositionsOfDoubles) { expect_decompositions_at<double>({1, 3e-310, 2e-322, 1e-200, 1e307}); }

// The gradient of a singular value does not depend on the size of the matrix.
TEST(ExtremeSizes, SingularValuesOfDenormalMatricesHaveGradients) {
  Kernel kernel{"values", [](Array<double, 1> out, Array<const double, 2> in) {
                  const Mat3d m = Mat3d::generate([&](int i, int j) { return Double(in(i, j)); });
                  const auto [u, values, v] = svd(m);
                  out(0) = values[0] + 2 * values[1] + symmetric_eigen(m).values[2] + polar(m).stretch(0, 0);
                }};
  const std::vector<double> at_one{2, 0.5, 0.25, 0.125, 1, 0.5, -0.25, 0.5, 0.75};
  std::vector<double> expected;
  for (const double size : {1.0, 0x1p-1030, 0x1p1000}) {
    std::vector<double> numbers = at_one;
    for (double &number : numbers) number *= size;
    Buffer<double> in{test::device(), {3, 3}, numbers, Gradient::tracked}, out{test::device(), {1}, Gradient::tracked};
    out.gradient().fill(1);
    kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
    const std::vector<double> gradient = in.gradient().to_vector();
    if (expected.empty()) expected = gradient;
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-11) << size << ' ' << i;
  }
}

template <class T>
void expect_norms_at(std::initializer_list<double> sizes) {
  Kernel kernel{"norms", [](Array<T, 1> out, Array<const T, 1> in) {
                  using V = Vector<Traced<T>, 3>;
                  const V v(in(0), in(1), 0);
                  out(0) = norm(v);
                  out(1) = distance(v, V());
                  out(2) = norm(Quaternion<Traced<T>>(in(0), 0, 0, in(1)));
                  out(3) = norm(Matrix<Traced<T>, 2, 2>(in(0), 0, 0, in(1)));
                  for (int i = 0; i < 2; ++i) out(4 + i) = normalize(v)[i];
                }};
  for (const double size : sizes) {
    SCOPED_TRACE(testing::Message() << "size " << size);
    const T x = static_cast<T>(size);
    const double unit = 4 * std::numeric_limits<T>::epsilon();
    Buffer<T> in{test::device(), {2}, {x, x}, Gradient::tracked}, out{test::device(), {6}, Gradient::tracked};
    kernel.launch({1}, out, in);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(out.at(i) / Wide(x)), std::sqrt(2.0), unit);
    for (int i = 4; i < 6; ++i) EXPECT_NEAR(out.at(i), std::sqrt(0.5), unit);
    EXPECT_NEAR(static_cast<double>(norm(Vector<T, 2>(x, x)) / Wide(x)), std::sqrt(2.0), unit) << "on the host";
    out.gradient().copy_from({1, 1, 1, 1, 0, 0});
    kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(in.gradient().at(i), 4 * std::sqrt(0.5), 4 * unit);
    // The gradient of the unit vector's first component: 1 / (2 √2 x), with signs.
    in.zero_gradient();
    out.gradient().copy_from({0, 0, 0, 0, x, 0});
    kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(in.gradient().at(i), (i == 0 ? 1 : -1) * std::sqrt(0.125), 4 * unit);
  }
}
TEST(ExtremeSizes, NormsOfFloats) { expect_norms_at<float>({1, 1e25, 1e-25, 1e38, 1e-37}); }
TEST(ExtremeSizes, NormsOfDoubles) { expect_norms_at<double>({1, 1e200, 1e-200, 1e307, 1e-307}); }

}  // namespace
}  // namespace samite
