// Components of vectors and matrices: by traced indices, and single components of array elements.

#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite {
namespace {

using ::testing::HasSubstr;

const Device component_device = test::device();

template <class F>
std::string error_of(const F &function) {
  return message_of<UserError>([&] { test::captured(function); });
}

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

TEST(Component, IsReadByATracedIndex) {
  Kernel kernel{"read", [](Array<double, 1> out, Array<const Vec4d, 1> in, Array<const std::int32_t, 1> at) {
                  Int i = thread_index();
                  Vec4d v = in(0);
                  const Vec4d &same = v;
                  out(i) = 10 * v[at(i)] + same[i - 1];
                }};
  Buffer<double> out{component_device, {6}}, in{component_device, {1, 4}, {1, 2, 3, 4}};
  Buffer<std::int32_t> at{component_device, {6}, {3, 2, 1, 0, -1, 4}};
  kernel.launch({6}, out, in, at);
  // Beyond the components it is zero.
  EXPECT_EQ(out.to_vector(), (std::vector<double>{40 + 0, 30 + 1, 20 + 2, 10 + 3, 0 + 4, 0}));
}

TEST(Component, IsAssignedByATracedIndex) {
  Kernel kernel{"write", [](Array<Vec3d, 1> out) {
                  Int i = thread_index();
                  Vec3d v{1, 2, 3};
                  v[i] = 10;
                  v[i + 1] *= 5;
                  auto reference = v[i];
                  v[0] += 1;
                  reference += reference;
                  out(i) = v;
                }};
  Buffer<double> out{component_device, {4, 3}};
  kernel.launch({4}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{22, 10, 3, 2, 20, 15, 2, 2, 20, 2, 2, 3}));
}

TEST(Component, OfAMatrixByOneTracedIndexOrTwo) {
  Buffer<double> out{component_device, {2, 3}};
  const std::vector<double> given{1, 2, 3, 4, 5, 6};
  Buffer<double> from{component_device, {1, 1, 6}, given};
  Kernel kernel{"matrix", [](Array<double, 2> sums, Array<Matrix<Double, 2, 3>, 2> to,
                             Array<const Matrix<Double, 2, 3>, 2> from) {
                  auto [r, c] = thread_index<2>();
                  Matrix<Double, 2, 3> m = from(0, 0);
                  sums(r, c) = m(r, c) + 10 * m(r, 1) + 100 * m(1, c);
                  m(r, c) = 0;
                  m(r, 0) += 1;
                  m(0, c) *= 2;
                  to(r, c) = m;
                }};
  Buffer<double> to{component_device, {2, 3, 6}};
  kernel.launch({2, 3}, out, to, from);
  std::vector<double> sums, expected;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 3; ++c) {
      std::vector<double> m = given;
      sums.push_back(m[3 * r + c] + 10 * m[3 * r + 1] + 100 * m[3 + c]);
      m[3 * r + c] = 0;
      m[3 * r] += 1;
      m[c] *= 2;
      expected.insert(expected.end(), m.begin(), m.end());
    }
  EXPECT_EQ(out.to_vector(), sums);
  EXPECT_EQ(to.to_vector(), expected);
}

TEST(Component, ByATracedIndexHasDerivatives) {
  Kernel kernel{"derivatives", [](Array<double, 1> y, Array<const Vec3d, 1> x, Array<const std::int32_t, 1> at) {
                  Int i = thread_index();
                  Vec3d v = x(i);
                  v[at(i)] *= v[0];
                  Mat2d m{v[0], v[1], v[2], 1};
                  for (Int k : range(3)) m(k % 2, 1) += v[k] * v[k];
                  y(i) = m(0, 0) * m(at(i) % 2, 1) + m(1, 0);
                }};
  Buffer<double> x{component_device, {3, 3}, {0.3, -1.2, 0.7, 1.1, 0.4, -0.6, 0.9, 0.2, 1.3}, Gradient::tracked};
  Buffer<double> y{component_device, {3}, Gradient::tracked};
  Buffer<std::int32_t> at{component_device, {3}, {1, 0, 2}};
  GradientReport report = gradcheck([&] { kernel.launch({3}, y, x, at); }, {x}, {y});
  EXPECT_TRUE(report.passed) << report;

  // A tangent and an adjoint agree on the product with both directions.
  std::vector<double> direction{1, -2, 3, -4, 5, -6, 7, -8, 9}, weights{2, -3, 5};
  x.zero_gradient();
  y.gradient().copy_from(Buffer<double>(component_device, {3}, weights));
  kernel.launch({3}, {.direction = Direction::adjoint}, y, x, at);
  double by_adjoint = 0, by_tangent = 0;
  for (std::size_t k = 0; k < 9; ++k) by_adjoint += x.gradient().to_vector()[k] * direction[k];
  x.gradient().copy_from(Buffer<double>(component_device, {3, 3}, direction));
  kernel.launch({3}, {.direction = Direction::tangent}, y, x, at);
  for (std::size_t k = 0; k < 3; ++k) by_tangent += y.gradient().to_vector()[k] * weights[k];
  EXPECT_NEAR(by_adjoint, by_tangent, 1e-12 * std::abs(by_adjoint));
}

TEST(Component, ByAnIndexOfCppOutsideIsAnErrorThatNamesTheLine) {
  const std::string message = error_of([](Mat2f m, Int i) { m(i, 2) = 1; });
  EXPECT_THAT(message, HasSubstr("component_test.cpp:" + std::to_string(__LINE__ - 1) +
                                 ": column 2 is asked for, and there are 2, 0 to 1"));
  EXPECT_THAT(error_of([](Array<Vec3f, 1> a) { a(0)[3] = 1; }), HasSubstr("component 3 is asked for"));
  EXPECT_THAT(error_of([](Array<Mat2f, 1> a, Int i) { a(0)(i, -1) = 1; }), HasSubstr("column -1 is asked for"));
  EXPECT_THAT(error_of([](Int i) {
                Vec3f v;
                atomic_add(v[i], 1);
              }),
              HasSubstr("atomic_add to a component of a vector"));
}

// Stores nothing but the component.
TEST(Component, OfAnElementOfAnArrayIsReadAndAssignedAlone) {
  EXPECT_EQ(test::recorded([](Array<Vec3f, 1> y, Int i) { y(i).x() = 3; }), "store @p0[@p1, 0:i64] = 3.0");
  EXPECT_EQ(test::recorded([](Array<Quatf, 1> q, Int i) { q(i).w() += q(0).z(); }),
            "%0: f32 = load @p0[0:i64, 2:i64]; %1: f32 = load @p0[@p1, 3:i64]; %2: f32 = add %1, %0; "
            "store @p0[@p1, 3:i64] = %2");
  EXPECT_EQ(test::recorded([](Array<Mat2f, 1> m, Int i) { m(i)(1, 0) = m(i)(i, 1); }),
            "%0: i32 = mul @p1, 2; %1: i32 = add %0, 1; %2: f32 = load @p0[@p1, %1]; store @p0[@p1, 2:i64] = %2");
  EXPECT_EQ(test::recorded([](Array<Vec3f, 1> y, Int i) { y(0)[i] = 3; }), "store @p0[0:i64, @p1] = 3.0");
}

TEST(Component, OfAnElementOfAnArrayHasDerivatives) {
  Kernel kernel{"alone", [](Array<Vec3d, 1> y, Array<const Vec3d, 1> x, Array<const Mat2d, 1> m) {
                  Int i = thread_index();
                  y(i).x() = x(i).y() * x(i).z();
                  y(i).y() = sin(x(i)[i]) * m(i)(i, 1);
                  y(i)[2] = m(i)(0, 0) * x(i).x();
                }};
  Buffer<double> x{component_device, {2, 3}, {0.3, -1.2, 0.7, 1.1, 0.4, -0.6}, Gradient::tracked};
  Buffer<double> m{component_device, {2, 4}, {0.9, 0.2, 1.3, 0.5, -0.4, 0.8, 0.1, -0.7}, Gradient::tracked};
  Buffer<double> y{component_device, {2, 3}, Gradient::tracked};
  kernel.launch({2}, y, x, m);
  EXPECT_DOUBLE_EQ(y.at(0, 0), -1.2 * 0.7);
  EXPECT_DOUBLE_EQ(y.at(0, 1), std::sin(0.3) * 0.2);
  EXPECT_DOUBLE_EQ(y.at(1, 1), std::sin(0.4) * -0.7);
  GradientReport report = gradcheck([&] { kernel.launch({2}, y, x, m); }, {x, m}, {y});
  EXPECT_TRUE(report.passed) << report;
}

// Each scalar separately, as if one after another.
TEST(Component, AtomicUpdatesOfVectorsAreThoseOfTheirComponents) {
  Kernel kernel{"atomics", [](Array<Vec2d, 1> out, Array<const Vec2d, 1> in) {
                  Int i = thread_index();
                  atomic_sub(out(0), in(i));
                  atomic_min(out(1), in(i));
                  atomic_max(out(2), in(i));
                  atomic_max(out(3).y(), in(i).x());
                }};
  Buffer<double> out{component_device, {4, 2}, {100, 100, 3, 3, 3, 3, 0, 0}};
  Buffer<double> in{component_device, {4, 2}, counted(8)};
  kernel.launch({4}, out, in);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{100 - 16, 100 - 20, 1, 2, 7, 8, 0, 7}));
}

TEST(Component, AtomicSubtractionOfVectorsHasAGradient) {
  Kernel kernel{"subtract", [](Array<Vec2d, 1> out, Array<const Vec2d, 1> in) {
                  Int i = thread_index();
                  atomic_sub(out(0), in(i)*in(i));
                }};
  Buffer<double> out{component_device, {1, 2}, Gradient::tracked},
      in{component_device, {3, 2}, counted(6), Gradient::tracked};
  kernel.launch({3}, out, in);
  out.gradient().fill(1);
  kernel.launch({3}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().to_vector(), (std::vector<double>{-2, -4, -6, -8, -10, -12}));
}

// 16 components and 12 rows are the largest.
TEST(Component, LargeVectorsAndMatrices) {
  using Wide = Vector<Double, 16>;
  using Large = Matrix<Double, 12, 12>;
  Kernel kernel{"large", [](Array<Vector<Double, 12>, 1> y, Array<const Large, 1> m,
                            Array<const Vector<Double, 12>, 1> x, Array<double, 1> sums, Array<const Wide, 1> w) {
                  Int i = thread_index();
                  y(i) = transpose(m(0)) * x(0);
                  sums(i) = dot(w(0), w(0)) + w(0)[i];
                }};
  Buffer<double> y{component_device, {1, 12}, Gradient::tracked}, m{component_device, {1, 144}, counted(144)},
      x{component_device, {1, 12}, counted(12), Gradient::tracked}, sums{component_device, {1}},
      w{component_device, {1, 16}, counted(16)};
  kernel.launch({1}, y, m, x, sums, w);
  for (int c = 0; c < 12; ++c) {
    double sum = 0;
    for (int r = 0; r < 12; ++r) sum += (12 * r + c + 1) * (r + 1);
    EXPECT_EQ(y.at(0, c), sum) << c;
  }
  EXPECT_EQ(sums.at(0), 16 * 17 * 33 / 6 + 1);
  y.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, y, m, x, sums, w);
  EXPECT_EQ(x.gradient().at(0, 1), 12 * 12 + 78);
}

// A matrix whose elimination must exchange rows; its determinant follows from that of its blocks.
TEST(Component, DeterminantAndInverseOfALargeMatrix) {
  constexpr int n = 8;
  using Large = Matrix<Double, n, n>;
  // The blocks on the diagonal are [0 a; b c], each of determinant -a b, under rows that are shifted by two.
  Matrix<double, n, n> host;
  double expected = 1;
  for (int k = 0; k < n; k += 2) {
    const double a = 2 + k, b = 0.5 - k;
    host(k, k + 1) = a;
    host(k + 1, k) = b;
    host(k + 1, k + 1) = 1.5;
    if (k + 2 < n) host(k, k + 2) = 7;
    expected *= -a * b;
  }
  EXPECT_NEAR(determinant(host), expected, 1e-12 * std::abs(expected));
  Kernel kernel{"determinant", [](Array<double, 1> d, Array<Large, 1> product, Array<const Large, 1> m) {
                  d(0) = determinant(m(0));
                  product(0) = inverse(m(0)) * m(0);
                }};
  Buffer<double> d{component_device, {1}, Gradient::tracked}, product{component_device, {1, n * n}};
  Buffer<double> m{component_device, {1, n * n}, std::vector<double>(host.begin(), host.end()), Gradient::tracked};
  kernel.launch({1}, d, product, m);
  EXPECT_NEAR(d.at(0), expected, 1e-12 * std::abs(expected));
  for (int k = 0; k < n * n; ++k) EXPECT_NEAR(product.at(0, k), k % (n + 1) == 0 ? 1 : 0, 1e-12) << k;
  // The determinant is linear in each element: its gradient is the cofactor, d / dm = det(m) inverse(m) transposed.
  d.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, d, product, m);
  const Matrix<double, n, n> inverted = inverse(host);
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c)
      EXPECT_NEAR(m.gradient().at(0, n * r + c), expected * inverted(c, r), 1e-10 * std::abs(expected)) << r << c;
}

}  // namespace
}  // namespace samite
