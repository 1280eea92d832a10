// Decompositions of 3×3 matrices: their guarantees, compared with matrices built from known factors, and gradients of
// quantities that do not depend on the signs of vectors.

#include "samite/ir/kernel.h"
#include "samite/jit/hessian.h"
#include "tests/lang/algebra_check.h"
#include "tests/runtime/test_device.h"

namespace samite {
namespace {

using test::check_function;
using test::Mat;
using test::Numbers;
using test::Quat;
using test::Vec;

// With host numbers, for references: the projector on unit vector v.
template <class M>
auto projector(const M &vectors, int i) {
  return outer(vectors.column(i), vectors.column(i));
}
template <class Q, class V>
auto composed(const Q &q, const V &values) {
  using M = decltype(to_matrix(q));
  const M r = to_matrix(normalize(q));
  return M(r * M::diagonal(values) * transpose(r));
}
Numbers numbers_of(const Mat<3, 3> &m) { return Numbers(m.begin(), m.end()); }
Mat<3, 3> rotation_of(const Numbers &in, int at) {
  return to_matrix(normalize(Quat(in[at], in[at + 1], in[at + 2], in[at + 3])));
}

template <class M>
M random_matrix(std::mt19937 &generator) {
  using T = typename M::component_type;
  std::uniform_real_distribution<T> distribution(-1, 1);
  return M::generate([&](int, int) { return distribution(generator); });
}

// The operations of only the decomposition.
template <class F>
std::size_t operations_of(const F &function) {
  Kernel kernel{"function", [&](Array<double, 1> out, Array<const double, 2> in) {
                  auto result = function(Mat3d::generate([&](int i, int j) { return Double(in(i, j)); }));
                  int next = 0;
                  auto store = [&](const Double &number) { out(next++) = number; };
                  if constexpr (requires { result.u; }) {
                    test::each_scalar(result.u, store);
                    test::each_scalar(result.values, store);
                    test::each_scalar(result.v, store);
                  } else {
                    auto &[first, second] = result;
                    test::each_scalar(first, store);
                    test::each_scalar(second, store);
                  }
                }};
  return test::operations_in(kernel.ir());
}

// As docs/algebra.md says.
TEST(Decomposition, IsOfModestSize) {
  EXPECT_LE(operations_of([](const Mat3d &m) { return symmetric_eigen(m); }), 631u);
  EXPECT_LE(operations_of([](const Mat3d &m) { return svd(m); }), 1342u);
  EXPECT_LE(operations_of([](const Mat3d &m) { return qr(m); }), 94u);
  EXPECT_LE(operations_of([](const Mat3d &m) { return polar(m); }), 908u);
}

// The matrix is composed from a rotation and three values; it comes apart into the same, and the gradients with respect
// to both are right.
TEST(SymmetricEigen, FindsValues) {
  check_function<Quat, Vec<3>>(
      [](auto q, auto spread) {
        spread[1] += 3;
        spread[2] -= 3;
        return symmetric_eigen(composed(q, spread)).values;
      },
      [](const Numbers &in) { return Numbers{in[6] - 3, in[4], in[5] + 3}; }, {.tolerance = 1e-14});
}

TEST(SymmetricEigen, FindsVectors) {
  check_function<Quat, Vec<3>, Vec<3>>(
      [](auto q, auto spread, auto weights) {
        spread[1] += 3;
        spread[2] -= 3;
        auto vectors = symmetric_eigen(composed(q, spread)).vectors;
        auto sum = projector(vectors, 0) * weights[0] + projector(vectors, 1) * weights[1];
        sum += projector(vectors, 2) * weights[2] * determinant(vectors);
        return sum;
      },
      [](const Numbers &in) {
        Mat<3, 3> r = rotation_of(in, 0);
        return numbers_of(projector(r, 2) * in[7] + projector(r, 0) * in[8] + projector(r, 1) * in[9]);
      },
      {.tolerance = 1e-14});
}

TEST(SymmetricEigen, OnlyTheSymmetricPartCounts) {
  check_function<Mat<3, 3>>(
      [](auto m) {
        for (int i = 0; i < 3; ++i) m(i, i) += 2 * i;
        return symmetric_eigen(m).values - symmetric_eigen(0.5 * (m + transpose(m))).values;
      },
      [](const Numbers &) { return Numbers(3, 0.0); });
}

template <class T>
void check_eigen_of_hard_matrices(double tolerance) {
  using M = Matrix<T, 3, 3>;
  std::mt19937 generator(5);
  for (int trial = 0; trial < 1000; ++trial) {
    M m = random_matrix<M>(generator);
    if (trial % 5 == 1) m = m * T(1e-18);
    if (trial % 5 == 2) m = outer(m.row(0), m.row(0));
    if (trial % 5 == 3) m = M::identity() * T(1e15) + m * T(1e8);
    if (trial % 5 == 4) m = M::identity() + m * std::pow(T(10), -T(trial % 13));
    m += transpose(m);
    auto [values, vectors] = symmetric_eigen(m);
    EXPECT_LE(norm(vectors * M::diagonal(values) * transpose(vectors) - m), tolerance * lang::magnitude(m));
    EXPECT_LE(norm(transpose(vectors) * vectors - M::identity()), tolerance);
    EXPECT_LE(values[0], values[1]);
    EXPECT_LE(values[1], values[2]);
  }
}
TEST(SymmetricEigen, IsAccurateForHardMatrices) {
  check_eigen_of_hard_matrices<double>(40 * 2.3e-16);
  check_eigen_of_hard_matrices<float>(40 * 1.2e-7);
}

TEST(SymmetricEigen, ZeroAndIdentityAreFinite) {
  using M = Mat<3, 3>;
  EXPECT_EQ(norm(symmetric_eigen(M()).vectors - M::identity()), 0);
  EXPECT_EQ(norm(symmetric_eigen(M()).values), 0);
  EXPECT_EQ(norm(symmetric_eigen(M::identity() * 4).values - Vec<3>::filled(4)), 0);
}

// The gradient of the sum of all values is that of the trace, also if all values are equal.
TEST(SymmetricEigen, SumsOfEqualValuesHaveAGradient) {
  Kernel kernel{"equal", [](Array<double, 1> out, Array<const double, 2> in) {
                  Mat3d m = Mat3d::generate([&](int i, int j) { return Double(in(i, j)); });
                  out(0) = sum(symmetric_eigen(m).values);
                }};
  Buffer<double> in{test::device(), {3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2}, Gradient::tracked};
  Buffer<double> out{test::device(), {1}, Gradient::tracked};
  GradientReport report = gradcheck([&] { kernel.launch({1}, out, in); }, {in}, {out});
  EXPECT_TRUE(report.passed) << report;
}

// The differentiated computation matches the exact decomposition to third order in a change of the matrix, so that two
// derivatives are exact.
TEST(SymmetricEigen, DifferentiatedSweepsConvergeToFourthOrder) {
  using M = Mat<3, 3>;
  std::mt19937 generator(11);
  for (int trial = 0; trial < 20; ++trial) {
    M a = random_matrix<M>(generator), b = random_matrix<M>(generator);
    a += transpose(a) + M::diagonal({0, 4, 8});
    b += transpose(b);
    for (double step : {1e-3, 1e-2}) {
      M vectors = symmetric_eigen(a).vectors, changed = a + b * step;
      M m = transpose(vectors) * changed * vectors;
      for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep) lang::jacobi_sweep(m, vectors);
      double error = 0;
      for (int i = 0; i < 3; ++i)
        error = std::max(error, norm(projector(vectors, i) - projector(symmetric_eigen(changed).vectors, i)));
      EXPECT_LE(error, 10 * std::pow(step, 4) + 1e-14);
    }
  }
}

TEST(Svd, FindsValues) {
  check_function<Quat, Quat, Vec<3>>(
      [](auto p, auto q, auto spread) {
        using M = decltype(to_matrix(p));
        M m = to_matrix(normalize(p)) * M::diagonal(spread * 0.5 + decltype(spread){3, 1, 5}) *
              transpose(to_matrix(normalize(q)));
        return svd(m).values;
      },
      [](const Numbers &in) { return Numbers{in[10] / 2 + 5, in[8] / 2 + 3, in[9] / 2 + 1}; }, {.tolerance = 1e-14});
}

// Signs of columns cancel in u_i v_iᵀ; that of determinant(u) shows which matrices are reflections.
TEST(Svd, FindsVectors) {
  check_function<Quat, Quat, Vec<3>>(
      [](auto p, auto q, auto spread) {
        using M = decltype(to_matrix(p));
        M m = to_matrix(normalize(p)) * M::diagonal(spread * 0.5 + decltype(spread){3, -1, 5}) *
              transpose(to_matrix(normalize(q)));
        auto result = svd(m);
        M sum = outer(result.u.column(0), result.v.column(0)) + 2 * outer(result.u.column(1), result.v.column(1));
        return sum + 3 * outer(result.u.column(2), result.v.column(2)) + M::identity() * 10 * determinant(result.u) +
               M::identity() * determinant(result.v);
      },
      [](const Numbers &in) {
        Mat<3, 3> p = rotation_of(in, 0), q = rotation_of(in, 4);
        return numbers_of(outer(p.column(2), q.column(2)) + 2 * outer(p.column(0), q.column(0)) -
                          3 * outer(p.column(1), q.column(1)) - 9 * Mat<3, 3>::identity());
      },
      {.tolerance = 1e-13});
}

template <class T>
void check_svd_of_hard_matrices(double tolerance) {
  using M = Matrix<T, 3, 3>;
  std::mt19937 generator(6);
  for (int trial = 0; trial < 1400; ++trial) {
    M m = random_matrix<M>(generator);
    if (trial % 7 == 1) m = outer(m.row(0), m.row(1));
    if (trial % 7 == 2) m = M::diagonal({1, T(1e-3), T(1e-6)}) * m;
    if (trial % 7 == 3) m = m * M::diagonal({1, T(1e-8), T(2e-8)});
    if (trial % 7 == 4) m = to_matrix(normalize(Quaternion<T>(m.row(0), m(2, 2))));
    if (trial % 7 == 5) m = m * T(1e-18);
    if (trial % 7 == 6) m = outer(m.row(0), Vector<T, 3>(0, 1, 0)) * T(1e18);
    auto [u, values, v] = svd(m);
    EXPECT_LE(norm(u * M::diagonal(values) * transpose(v) - m), tolerance * lang::magnitude(m)) << trial;
    EXPECT_LE(norm(transpose(u) * u - M::identity()), tolerance);
    EXPECT_LE(norm(transpose(v) * v - M::identity()), tolerance);
    EXPECT_GE(values[0], values[1] * (1 - tolerance));
    EXPECT_GE(values[1], values[2] * (1 - tolerance));
    EXPECT_GE(values[2], 0);
  }
  EXPECT_EQ(norm(transpose(svd(M()).u) * svd(M()).u - M::identity()), 0);
}
TEST(Svd, IsAccurateForHardMatrices) {
  check_svd_of_hard_matrices<double>(40 * 2.3e-16);
  check_svd_of_hard_matrices<float>(40 * 1.2e-7);
}

TEST(Svd, SmallValuesHaveTheirOwnAccuracy) {
  Mat<3, 3> m = Mat<3, 3>{1, 1, 0, 1, -1, 0, 0, 0, 1} * Mat<3, 3>::diagonal({1, 1e-9, 1e-15});
  Vec<3> values = svd(m).values;
  test::expect_near({values[0] / std::sqrt(2), values[1] / 1e-9 / std::sqrt(2), values[2] / 1e-15}, {1, 1, 1}, 1e-15,
                    "values");
}

TEST(Svd, DifferentiatedSweepsConvergeToFourthOrder) {
  using M = Mat<3, 3>;
  std::mt19937 generator(12);
  for (int trial = 0; trial < 20; ++trial) {
    M a = random_matrix<M>(generator) * 0.5 + M::diagonal({2, 4, 6}), b = random_matrix<M>(generator);
    for (double step : {1e-3, 1e-2}) {
      auto [u, values, v] = svd(a);
      M changed = a + b * step, m = transpose(u) * changed * v;
      for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep) lang::two_sided_sweep(m, u, v);
      double error = 0;
      for (int i = 0; i < 3; ++i) error = std::max(error, norm(projector(v, i) - projector(svd(changed).v, i)));
      EXPECT_LE(error, 10 * std::pow(step, 4) + 1e-14);
    }
  }
}

// The gradients of smooth symmetric functions of the values are those of the matrix, however close the values are: of
// the sum of squares 2F, and of the sum of fourth powers 4 F transpose(F) F.
TEST(Svd, SymmetricFunctionsOfCloseValuesHaveTheirGradient) {
  Kernel kernel{"powers", [](Array<double, 2> out, Array<const double, 3> in) {
                  Int n = thread_index();
                  auto values = svd(Mat3d::generate([&](int i, int j) { return Double(in(n, i, j)); })).values;
                  Double squares = 0, fourths = 0;
                  for (int i = 0; i < 3; ++i) {
                    squares += values[i] * values[i];
                    fourths += values[i] * values[i] * values[i] * values[i];
                  }
                  out(n, 0) = squares;
                  out(n, 1) = fourths;
                }};
  using M = Mat<3, 3>;
  std::mt19937 generator(17);
  std::normal_distribution<double> normal;
  const auto rotation = [&] {
    return to_matrix(normalize(Quat(normal(generator), normal(generator), normal(generator), normal(generator))));
  };
  std::vector<M> matrices{M{.6, -.8, 0, .8, .6, 0, 0, 0, 2}, M::identity(), -1 * M::identity(), M::diagonal({1, 1, 0}),
                          M::diagonal({1, 0, 0})};
  const double gaps[] = {0, 1e-16, 1e-15, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3};
  const Vec<3> kinds[] = {{1, 1, 2}, {1, 1, 0.5}, {1, 1, 1}, {1, 1, 0}, {0, 0, 1}, {1, 1, -1}};
  const Vec<3> changes[] = {{1, 0, 0}, {1, -1, 0}, {1, 2, 3}};
  for (int trial = 0; trial < 20'000; ++trial) {
    const Vec<3> values = kinds[trial % 6] + changes[trial / 6 % 3] * gaps[trial / 18 % 9];
    matrices.push_back(rotation() * M::diagonal(values) * transpose(rotation()));
  }
  const auto count = static_cast<std::int64_t>(matrices.size());
  std::vector<double> elements;
  for (const M &m : matrices)
    for (const double number : numbers_of(m)) elements.push_back(number);
  Buffer<double> in{test::device(), {count, 3, 3}, elements, Gradient::tracked};
  Buffer<double> out{test::device(), {count, 2}, Gradient::tracked};
  for (const int which : {0, 1}) {
    std::vector<double> seed(static_cast<std::size_t>(2 * count));
    for (std::size_t n = 0; n < matrices.size(); ++n) seed[2 * n + static_cast<std::size_t>(which)] = 1;
    in.zero_gradient();
    out.gradient().copy_from(seed);
    kernel.launch({count}, {.direction = Direction::adjoint}, out, in);
    const auto gradient = in.gradient().to_vector();
    double largest = 0;
    for (std::size_t n = 0; n < matrices.size(); ++n) {
      const M &f = matrices[n];
      const auto expected = numbers_of(which == 0 ? 2 * f : 4 * f * transpose(f) * f);
      for (std::size_t i = 0; i < 9; ++i) largest = std::max(largest, std::abs(gradient[9 * n + i] - expected[i]));
    }
    EXPECT_LE(largest, 1e-12) << which;
  }
}

TEST(Qr, TakesApartWhatItIsMadeOf) {
  auto upper = [](auto diagonal, auto above) {
    using V = decltype(diagonal);
    using M = Matrix<typename V::component_type, 3, 3>;
    M r = M::diagonal(diagonal * 0.5 + V{2, 3, -2});
    r(0, 1) = above[0];
    r(0, 2) = above[1];
    r(1, 2) = above[2];
    return r;
  };
  check_function<Quat, Vec<3>, Vec<3>>(
      [&](auto p, auto diagonal, auto above) { return qr(to_matrix(normalize(p)) * upper(diagonal, above)).r; },
      [&](const Numbers &in) { return numbers_of(upper(Vec<3>{in[4], in[5], in[6]}, Vec<3>{in[7], in[8], in[9]})); },
      {.tolerance = 1e-14});
  check_function<Quat, Vec<3>, Vec<3>>(
      [&](auto p, auto diagonal, auto above) { return qr(to_matrix(normalize(p)) * upper(diagonal, above)).q; },
      [&](const Numbers &in) { return numbers_of(rotation_of(in, 0)); }, {.tolerance = 1e-14});
}

TEST(Qr, OfEverySize) {
  auto check = [](auto matrix) {
    using M = decltype(matrix);
    std::mt19937 generator(8);
    for (int trial = 0; trial < 100; ++trial) {
      M m = random_matrix<M>(generator);
      if (trial % 2) m.set_column(0, m.column(1) * (trial % 3));
      auto [q, r] = qr(m);
      EXPECT_LE(norm(q * r - m), 1e-14);
      EXPECT_LE(norm(transpose(q) * q - M::identity()), 1e-14);
      EXPECT_NEAR(determinant(q), 1, 1e-14);
      for (int i = 0; i < M::rows(); ++i)
        for (int j = 0; j < i; ++j) EXPECT_EQ(r(i, j), 0);
    }
  };
  check(Mat<2, 2>());
  check(Mat<3, 3>());
  check(Mat<6, 6>());
}

TEST(Polar, FindsRotationAndStretch) {
  auto both = [](auto p, auto q, auto spread) {
    using M = decltype(to_matrix(p));
    return M(to_matrix(normalize(p)) * composed(q, spread * 0.9 + decltype(spread){1, 1, 1}));
  };
  check_function<Quat, Quat, Vec<3>>([&](auto p, auto q, auto spread) { return polar(both(p, q, spread)).rotation; },
                                     [](const Numbers &in) { return numbers_of(rotation_of(in, 0)); },
                                     {.tolerance = 1e-13});
  check_function<Quat, Quat, Vec<3>>(
      [&](auto p, auto q, auto spread) { return polar(both(p, q, spread)).stretch; },
      [&](const Numbers &in) {
        return numbers_of(
            composed(Quat(in[4], in[5], in[6], in[7]), Vec<3>(in[8], in[9], in[10]) * 0.9 + Vec<3>{1, 1, 1}));
      },
      {.tolerance = 1e-13});
}

// At rest all singular values are 1, and the gradient of the rotation keeps a body together.
TEST(Polar, HasAGradientAtARotationAndAtAReflection) {
  Kernel kernel{"rest", [](Array<double, 2> out, Array<const double, 2> in) {
                  auto [rotation, stretch] = polar(Mat3d::generate([&](int i, int j) { return Double(in(i, j)); }));
                  for (int i = 0; i < 9; ++i) {
                    out(0, i) = rotation(i / 3, i % 3);
                    out(1, i) = stretch(i / 3, i % 3);
                  }
                }};
  Mat<3, 3> turned = to_matrix(normalize(Quat(0.1, -0.7, 0.3, 0.4)));
  for (const Mat<3, 3> &f : {Mat<3, 3>::identity(), turned, -2 * turned}) {
    Buffer<double> in{test::device(), {3, 3}, numbers_of(f), Gradient::tracked};
    Buffer<double> out{test::device(), {2, 9}, Gradient::tracked};
    GradientReport report = gradcheck([&] { kernel.launch({1}, out, in); }, {in}, {out});
    EXPECT_TRUE(report.passed) << report;
  }
}

// For an objective that depends on all results of `function`, at a matrix with distinct values.
template <class F>
void check_second_derivatives(const F &function) {
  Kernel kernel{"objective", [&](Array<double, 1> out, Array<const double, 2> in) {
                  Double sum = 0;
                  int weight = 0;
                  function(Mat3d::generate([&](int i, int j) { return Double(in(i, j)); }), [&](const Double &number) {
                    ++weight;
                    sum += sin(number * weight);
                  });
                  out(0) = sum;
                }};
  Buffer<double> in{test::device(), {3, 3}, {1.1, 0.3, -0.4, 0.2, -2, 0.5, 0.7, -0.1, 3}, Gradient::tracked};
  Buffer<double> out{test::device(), {1}, Gradient::tracked};
  GradientReport report = hessian_check([&] { kernel.launch({1}, out, in); }, {in}, out, {.tolerance = 1e-5});
  EXPECT_TRUE(report.passed) << report;
}

TEST(Decomposition, HasSecondDerivatives) {
  check_second_derivatives([](const Mat3d &m, const auto &put) {
    auto [values, vectors] = symmetric_eigen(m);
    test::each_scalar(values, put);
    test::each_scalar(vectors, put);
  });
  check_second_derivatives([](const Mat3d &m, const auto &put) {
    auto [u, values, v] = svd(m);
    test::each_scalar(u, put);
    test::each_scalar(values, put);
    test::each_scalar(v, put);
  });
  check_second_derivatives([](const Mat3d &m, const auto &put) {
    auto [q, r] = qr(m);
    test::each_scalar(q, put);
    test::each_scalar(r, put);
  });
  check_second_derivatives([](const Mat3d &m, const auto &put) {
    auto [rotation, stretch] = polar(m);
    test::each_scalar(rotation, put);
    test::each_scalar(stretch, put);
  });
}

TEST(Polar, OfASingularMatrixIsFinite) {
  using M = Mat<3, 3>;
  for (const M &m : {M(), M{1, 2, 3, 2, 4, 6, 3, 6, 9}, M{0, 1, 0, 0, 0, 0, 0, 0, 0}, M{1, 0, 0, 0, 2, 0, 0, 0, 0}}) {
    auto [rotation, stretch] = polar(m);
    EXPECT_LE(norm(rotation * stretch - m), 1e-14);
    EXPECT_LE(norm(transpose(rotation) * rotation - M::identity()), 1e-14);
  }
}

TEST(Polar, DifferentiatedStepsConvergeToFourthOrder) {
  using M = Mat<3, 3>;
  std::mt19937 generator(13);
  for (int trial = 0; trial < 20; ++trial) {
    M a = random_matrix<M>(generator) * 0.3 + M::identity(), b = random_matrix<M>(generator);
    for (double step : {1e-3, 1e-2}) {
      M rotation = polar(a).rotation, changed = a + b * step;
      for (int k = 0; k < 2; ++k) rotation = rotation * lang::rotation_from_symmetric(transpose(rotation) * changed);
      EXPECT_LE(norm(rotation - polar(changed).rotation), 100 * std::pow(step, 4) + 1e-14);
    }
  }
}

}  // namespace
}  // namespace samite
