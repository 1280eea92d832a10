// Rigid motions and their logarithms, in kernels (T is Double) and on the host (double).
//
// A twist has three numbers of translation and three of rotation, in the frame that moves; the rotation is the axis
// times the angle. exponential() is the motion along a constant twist, and logarithm() its inverse for angles up to a
// half turn.
//
// Source: J. Solà, J. Deray, D. Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendix D.
#pragma once

#include <samite/samite.h>

namespace pose_graph {

using samite::Matrix, samite::Quaternion, samite::Transform, samite::Vector;

// From the frame of a body to that of the world.
using Pose = Transform<double>;
using Twist = Vector<double, 6>;
using Information = Matrix<double, 6, 6>;

template <class T>
Vector<T, 6> logarithm(const Transform<T> &motion) {
  namespace component = samite::lang::component;
  const Vector<T, 3> rotation = rotation_vector(motion.rotation), &translation = motion.translation;
  // (1 - h cot h) / (2 h)^2 for half the angle h; the difference loses digits if the angle is small, its series does
  // not.
  const T square = dot(rotation, rotation);
  const auto small = square < T(0.01);
  const T safe = component::select(small, T(1), square), half = component::sqrt(safe) * T(0.5);
  const T series = T(1) / T(12) + square * (T(1) / T(720) + square * (T(1) / T(30240) + square * (T(1) / T(1209600))));
  const T factor = component::select(small, series, (T(1) - half * component::cos(half) / component::sin(half)) / safe);
  const Vector<T, 3> turned = cross(rotation, translation);
  const Vector<T, 3> straight = translation - turned * T(0.5) + cross(rotation, turned) * factor;
  return {straight[0], straight[1], straight[2], rotation[0], rotation[1], rotation[2]};
}

// The twist from the measured motion to the one between two poses.
template <class T>
Vector<T, 6> error_of(const Transform<T> &from, const Transform<T> &to, const Transform<T> &measured) {
  return logarithm(inverse(measured) * (inverse(from) * to));
}

// root * error, whose components are independent and of variance 1: `root` is the upper triangular factor of the
// information, transpose(root) * root.
template <class T>
Vector<T, 6> whitened(const Matrix<T, 6, 6> &root, const Vector<T, 6> &error) {
  return Vector<T, 6>::generate([&](int i) {
    T sum = root(i, i) * error[i];
    for (int j = i + 1; j < 6; ++j) sum = sum + root(i, j) * error[j];
    return sum;
  });
}

Pose exponential(const Twist &twist);

// The angle of a rotation, in radians.
double angle_of(const Quaternion<double> &rotation);

// The upper triangular factor, by Cholesky's elimination. Its numbers are not finite, or its diagonal has zeros, if the
// information is not positive definite.
Information root_of(const Information &information);
bool is_regular(const Information &root);

}  // namespace pose_graph
