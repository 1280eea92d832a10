#include "se3.h"

#include <cmath>

namespace pose_graph {

Pose exponential(const Twist &twist) {
  const Vector<double, 3> straight{twist[0], twist[1], twist[2]}, rotation{twist[3], twist[4], twist[5]};
  const double square = dot(rotation, rotation), angle = std::sqrt(square);
  const bool small = square < 1e-6;
  const double first = small ? 0.5 - square / 24 : (1 - std::cos(angle)) / square;
  const double second = small ? 1.0 / 6 - square / 120 : (angle - std::sin(angle)) / (square * angle);
  const Vector<double, 3> turned = cross(rotation, straight);
  return {straight + turned * first + cross(rotation, turned) * second,
          Quaternion<double>::from_rotation_vector(rotation)};
}

double angle_of(const Quaternion<double> &rotation) { return norm(rotation_vector(rotation)); }

Information root_of(const Information &information) {
  Information root;
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j) {
      double rest = information(i, j);
      for (int k = 0; k < i; ++k) rest -= root(k, i) * root(k, j);
      root(i, j) = i == j ? std::sqrt(rest) : rest / root(i, i);
    }
  return root;
}

bool is_regular(const Information &root) {
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j)
      if (!std::isfinite(root(i, j)) || (i == j && root(i, j) <= 0)) return false;
  return true;
}

}  // namespace pose_graph
