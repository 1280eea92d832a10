// The manifolds that parameters of a least squares problem lie on: how a step changes a block of numbers.
//
//   Manifold pose = Manifold::se3();                              // 7 numbers, steps of 6
//   Manifold camera({Manifold::se3(), Manifold::constant(1), Manifold::euclidean(2)});   // parts, one after another
//
//   manifold      numbers                        tangent   a step d
//   euclidean(n)  n                              n         x + d
//   constant(n)   n                              0         x
//   so2           cos, sin                       1         the angle grows by d
//   so3           quaternion x, y, z, w          3         q exp(d / 2)
//   se2           x, y, cos, sin                 3         translation + R d[0..1], then the angle
//   se3           translation, quaternion        6         translation + R d[0..2], then q exp(d[3..5] / 2)
//   sphere(n)     a unit vector                  n - 1     along a great circle
//
// Steps of rotations are in the frame of the body. On a sphere, the first n - 1 columns of a Householder reflection
// that takes x to an axis span the tangent space (Hertzberg et al., Integrating generic sensor fusion algorithms with
// sound state representations through encapsulation of manifolds, 2013). Values in a problem must lie on their
// manifold; steps keep them there up to rounding, which each step removes.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace samite::solvers {

class Manifold {
 public:
  enum class Kind { euclidean, constant, so2, so3, se2, se3, sphere };
  struct Part {
    Kind kind;
    int size, tangent;
  };

  Manifold() = default;  // of no numbers
  // UserError for fewer numbers than 1, or than 2 on a sphere.
  static Manifold euclidean(int size);
  static Manifold constant(int size);
  static Manifold so2() { return {Kind::so2, 2, 1}; }
  static Manifold so3() { return {Kind::so3, 4, 3}; }
  static Manifold se2() { return {Kind::se2, 4, 3}; }
  static Manifold se3() { return {Kind::se3, 7, 6}; }
  static Manifold sphere(int size);
  Manifold(std::initializer_list<Manifold> parts);

  const std::vector<Part> &parts() const { return parts_; }
  int size() const;     // numbers of a block
  int tangent() const;  // numbers of a step
  bool is_euclidean() const;
  std::string to_string() const;  // "se3 + constant(1)"

 private:
  Manifold(Kind kind, int size, int tangent) : parts_{{kind, size, tangent}} {}

  std::vector<Part> parts_;
};

}  // namespace samite::solvers
