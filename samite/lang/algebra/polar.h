// The polar decomposition of 2×2 and 3×3 matrices: a rotation and a stretch.
//
//   auto [rotation, stretch] = polar(f);             // f = rotation stretch
//
// `stretch` is symmetric and has no negative eigenvalue; `rotation` is the nearest orthogonal matrix to f, a reflection
// if determinant(f) < 0. f may be any matrix. The results are accurate to a few units in the last place of f's largest
// element; if f has rank 1 or 0, the rotation is one of several.
//
// Gradients are right unless the two smallest singular values sum to zero, also if singular values are equal (as for a
// body at rest). The rotation from the singular value decomposition counts as a constant. Two Newton steps for the
// rotation follow, f = (1 + [ω]) rotation stretch to first order, and are differentiated: first and second derivatives
// are exact.
//
// A 2×2 matrix is the sum of a scaled rotation and a scaled reflection; the larger of the two is the nearest orthogonal
// matrix.
//
// Takes 908 operations in the IR for 3×3, 69 for 2×2.
#pragma once

#include "samite/lang/algebra/quaternion.h"
#include "samite/lang/algebra/svd.h"

namespace samite {

template <lang::FloatingComponent T, int N = 3>
struct Polar {
  Matrix<T, N, N> rotation, stretch;
};

namespace lang {

// The rotation by which `near` = transpose(rotation) f differs from a symmetric matrix: near ≈ (1 + [ω]) s means that
// near - transpose(near) = [ω] s + s [ω] = [(trace(s) - s) ω].
template <class T>
Matrix<T, 3, 3> rotation_from_symmetric(const Matrix<T, 3, 3> &near) {
  const T xy = (near(0, 1) + near(1, 0)) * T(0.5), xz = (near(0, 2) + near(2, 0)) * T(0.5),
          yz = (near(1, 2) + near(2, 1)) * T(0.5);
  const Vector<T, 3> axial(near(2, 1) - near(1, 2), near(0, 2) - near(2, 0), near(1, 0) - near(0, 1));
  // trace(s) - s, with sums of two singular values as eigenvalues, and its inverse by cross products.
  const Vector<T, 3> r0(near(1, 1) + near(2, 2), -xy, -xz), r1(-xy, near(0, 0) + near(2, 2), -yz),
      r2(-xz, -yz, near(0, 0) + near(1, 1));
  const Vector<T, 3> c0 = cross(r1, r2), c1 = cross(r2, r0), c2 = cross(r0, r1);
  const T determinant = dot(r0, c0);
  const TruthOf<T> unique = determinant > T(0);
  const T scale = component::select(unique, T(0.5) / component::select(unique, determinant, T(1)), T(0));
  const Vector<T, 3> half = (c0 * axial[0] + c1 * axial[1] + c2 * axial[2]) * scale;
  return to_matrix(normalize(Quaternion<T>(half, T(1))));
}

// The orthogonal matrix nearest to f; the identity if f is zero.
template <class T>
Matrix<T, 2, 2> orthogonal_part(const Matrix<T, 2, 2> &f, SourceLocation where) {
  const Vector<T, 2> turned(f(0, 0) + f(1, 1), f(1, 0) - f(0, 1)), mirrored(f(0, 0) - f(1, 1), f(1, 0) + f(0, 1));
  const TruthOf<T> mirrors = norm_of(mirrored, where) > norm_of(turned, where);
  Vector<T, 2> axis = Vector<T, 2>::generate([&](int i) { return component::select(mirrors, mirrored[i], turned[i]); });
  const T length = norm_of(axis, where);
  axis = over_length(axis, length);
  const T cosine = component::select(length > T(0), axis[0], T(1)), sine = axis[1];
  return Matrix<T, 2, 2>(cosine, component::select(mirrors, sine, T(-sine)), sine,
                         component::select(mirrors, T(-cosine), cosine));
}

}  // namespace lang

template <lang::FloatingMatrix A>
auto polar(const A &a, SourceLocation where = std::source_location::current()) {
  constexpr int N = lang::rows_of<A>;
  static_assert((N == 2 || N == 3) && lang::columns_of<A> == N, "polar is of a 2×2 or a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, N, N> &given) {
    using M = Matrix<T, N, N>;
    const T scale = lang::magnitude(given);
    const M f = lang::over_size(given, scale);
    M rotation;
    if constexpr (N == 2) {
      rotation = lang::orthogonal_part(f, where);
    } else {
      const SingularValues<T> constant = lang::constant_svd(stop_gradient(f), where);
      rotation = constant.u * transpose(constant.v);
      for (int step = 0; step < 2; ++step) rotation = rotation * lang::rotation_from_symmetric(transpose(rotation) * f);
    }
    const M near = transpose(rotation) * f;
    M stretch = M::generate([&](int i, int j) { return T((near(i, j) + near(j, i)) * T(0.5) * scale); });
    return Polar<T, N>{std::move(rotation), std::move(stretch)};
  });
}

}  // namespace samite
