// Decompositions of 2×2 matrices, and Euler angles: put together from known factors, they come apart into the same, and
// their gradients are right.

#include "tests/lang/algebra_check.h"

namespace samite {
namespace {

using test::check_function;
using test::Mat;
using test::Numbers;
using test::Quat;
using test::Vec;

Mat<2, 2> turned_by(double angle) { return {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)}; }
template <class A>
auto outer_of(const A &v) {
  return outer(v, v);
}
Numbers numbers_of(const Mat<2, 2> &m) { return Numbers(m.begin(), m.end()); }

// From an angle and two values, also in a kernel.
template <class A>
auto matrix_turned_by(const A &angle) {
  using std::cos;
  using std::sin;
  const auto c = cos(angle), s = sin(angle);
  return Matrix<std::remove_cvref_t<decltype(c + s)>, 2, 2>(c, -s, s, c);
}

TEST(PlaneEigen, FindsValuesAndVectors) {
  check_function<double, Vec<2>>(
      [](auto angle, auto values) {
        auto r = matrix_turned_by(angle);
        values[1] += 3;
        using M = decltype(r);
        auto [own, vectors] = symmetric_eigen(M(r * M::diagonal(values) * transpose(r)));
        auto result = outer_of(vectors.column(0)) * own[0];
        result += outer_of(vectors.column(1)) * own[1] * 2 * determinant(vectors);
        return result;
      },
      [](const Numbers &in) {
        const Mat<2, 2> r = turned_by(in[0]);
        return numbers_of(outer_of(r.column(0)) * in[1] + outer_of(r.column(1)) * (2 * (in[2] + 3)));
      },
      {.tolerance = 1e-13});
}

TEST(PlaneSvd, FindsValuesAndReproduces) {
  check_function<double, double, Vec<2>>(
      [](auto left, auto right, auto values) {
        auto a = matrix_turned_by(left), b = matrix_turned_by(right);
        using M = decltype(a);
        values[0] += 3;
        values[1] += 1.5;
        auto [u, own, v] = svd(M(a * M::diagonal(values) * transpose(b)));
        auto result = M(u * M::diagonal(own * own) * transpose(v));
        result(0, 0) += determinant(u) * determinant(v);
        return result;
      },
      [](const Numbers &in) {
        const Vec<2> squares((in[2] + 3) * (in[2] + 3), (in[3] + 1.5) * (in[3] + 1.5));
        Mat<2, 2> m = turned_by(in[0]) * Mat<2, 2>::diagonal(squares) * transpose(turned_by(in[1]));
        m(0, 0) += 1;
        return numbers_of(m);
      },
      {.tolerance = 1e-13});
}

TEST(PlanePolar, FindsTheRotation) {
  check_function<double, Vec<3>>(
      [](auto angle, auto stretch) {
        auto r = matrix_turned_by(angle);
        using M = decltype(r);
        const M s(stretch[0] + 3, stretch[1], stretch[1], stretch[2] + 3);
        auto [rotation, own] = polar(M(r * s));
        return rotation + own * 2;
      },
      [](const Numbers &in) {
        const Mat<2, 2> s(in[1] + 3, in[2], in[2], in[3] + 3);
        return numbers_of(turned_by(in[0]) + s * 2);
      },
      {.tolerance = 1e-13});
}

template <class T>
void expect_any_matrix_is_reproduced(double unit) {
  using M = Matrix<T, 2, 2>;
  std::mt19937 random(5);
  std::uniform_real_distribution<T> number(-1, 1);
  for (int trial = 0; trial < 1000; ++trial) {
    M m = M::generate([&](int, int) { return number(random); });
    if (trial % 6 == 1) m = m * T(1e-30);
    if (trial % 6 == 2) m = outer(m.row(0), m.row(1));
    if (trial % 6 == 3) m = M(m(0, 0), m(0, 1), m(0, 1), -m(0, 0));  // a reflection
    if (trial % 6 == 4) m = M::identity() * m(0, 0);
    if (trial == 5) m = M();
    const T most = lang::magnitude(m) * static_cast<T>(unit);
    const auto [u, values, v] = svd(m);
    EXPECT_LE(norm(u * M::diagonal(values) * transpose(v) - m), most);
    EXPECT_LE(norm(transpose(u) * u - M::identity()), unit);
    EXPECT_NEAR(determinant(v), 1, unit);
    EXPECT_GE(values[0], values[1]);
    EXPECT_GE(values[1], 0);
    const auto [rotation, stretch] = polar(m);
    EXPECT_LE(norm(rotation * stretch - m), most);
    EXPECT_LE(norm(transpose(rotation) * rotation - M::identity()), unit);
    EXPECT_GE(determinant(stretch), -most * lang::magnitude(m));
    EXPECT_GE(trace(stretch), -most);
    const M symmetric = m + transpose(m);
    const auto [own, vectors] = symmetric_eigen(symmetric);
    EXPECT_LE(norm(vectors * M::diagonal(own) * transpose(vectors) - symmetric), 2 * most);
    EXPECT_NEAR(determinant(vectors), 1, unit);
    EXPECT_LE(own[0], own[1]);
  }
}
TEST(PlaneDecompositions, ReproduceAnyMatrix) {
  expect_any_matrix_is_reproduced<double>(40 * 2.3e-16);
  expect_any_matrix_is_reproduced<float>(40 * 1.2e-7);
}

TEST(EulerAngles, ComeBackFromTheirRotation) {
  check_function<Vec<3>>([](auto angles) { return euler_angles(euler_rotation(angles)); },
                         [](const Numbers &in) { return in; }, {.low = -1.5, .high = 1.5});
}

TEST(EulerAngles, TurnAboutFixedAxesInOrder) {
  check_function<Vec<3>>([](auto angles) { return to_matrix(euler_rotation(angles)); },
                         [](const Numbers &in) {
                           const auto about = [](int axis, double angle) {
                             const int i = (axis + 1) % 3, j = (axis + 2) % 3;
                             Mat<3, 3> m = Mat<3, 3>::identity();
                             m(i, i) = m(j, j) = std::cos(angle);
                             m(j, i) = std::sin(angle);
                             m(i, j) = -m(j, i);
                             return m;
                           };
                           const Mat<3, 3> m = about(2, in[2]) * about(1, in[1]) * about(0, in[0]);
                           return Numbers(m.begin(), m.end());
                         });
}

TEST(EulerAngles, AreOneOfSeveralWhereTwoAxesAreOne) {
  for (const double pitch : {M_PI / 2, -M_PI / 2}) {
    const Quat q = euler_rotation(Vec<3>(0.3, pitch, 0.5));
    const Vec<3> angles = euler_angles(q);
    EXPECT_EQ(angles[0], 0);
    EXPECT_NEAR(angles[1], pitch, 1e-7);
    EXPECT_LE(norm(to_matrix(euler_rotation(angles)) - to_matrix(q)), 1e-7);
  }
}

}  // namespace
}  // namespace samite
