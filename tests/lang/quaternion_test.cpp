#include "tests/lang/algebra_check.h"
#include "tests/runtime/test_device.h"

namespace samite {
namespace {

using test::check_function;
using test::Mat;
using test::Numbers;
using test::Quat;
using test::Rigid;
using test::Vec;

Numbers unit(Numbers v) {
  double square = 0;
  for (double x : v) square += x * x;
  for (double &x : v) x /= std::sqrt(square);
  return v;
}
Numbers part(const Numbers &in, int begin, int end) { return Numbers(in.begin() + begin, in.begin() + end); }

// The matrix of a rotation by `angle` about a unit axis, by Rodrigues' formula.
Numbers rotation_of_quaternion(const Numbers &axis, double angle) {
  double c = std::cos(angle), s = std::sin(angle), x = axis[0], y = axis[1], z = axis[2];
  return {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
          y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
          z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
}
// The same of a unit quaternion x, y, z, w: axis and angle first.
Numbers rotation_of_quaternion(const Numbers &q) {
  double sine = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  return rotation_of_quaternion({q[0] / sine, q[1] / sine, q[2] / sine}, 2 * std::atan2(sine, q[3]));
}
Numbers turned_by(const Numbers &m, const Numbers &v) {
  Numbers out;
  for (int i = 0; i < 3; ++i) out.push_back(m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2]);
  return out;
}
Numbers moved_by(const Numbers &a, const Numbers &b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

TEST(Quaternion, ProductFollowsFromItsUnits) {
  // i j = k, j k = i, k i = j, i i = -1: the table of products e_a e_b = sign e_c.
  const int place[4][4] = {{3, 2, 1, 0}, {2, 3, 0, 1}, {1, 0, 3, 2}, {0, 1, 2, 3}};
  const int sign[4][4] = {{-1, 1, -1, 1}, {-1, -1, 1, 1}, {1, -1, -1, 1}, {1, 1, 1, 1}};
  check_function<Quat, Quat>([](auto p, auto q) { return p * q; },
                             [&](const Numbers &in) {
                               Numbers out(4, 0.0);
                               for (int a = 0; a < 4; ++a)
                                 for (int b = 0; b < 4; ++b) out[place[a][b]] += sign[a][b] * in[a] * in[4 + b];
                               return out;
                             });
}

TEST(Quaternion, LinearOperations) {
  check_function<Quat, Quat, double>(
      [](auto p, auto q, auto s) {
        p *= s;
        p += q;
        return 2 * p - q / 4 * s - (-q) + conjugate(p);
      },
      [](const Numbers &in) {
        Numbers out;
        for (int i = 0; i < 4; ++i) {
          double s = in[8], q = in[4 + i], p = in[i] * s + q;
          out.push_back(2 * p - q / 4 * s + q + (i == 3 ? p : -p));
        }
        return out;
      });
}

TEST(Quaternion, NormsAndInverse) {
  check_function<Quat>([](auto q) { return normalize(q) * norm(q) * norm_squared(q) + q * inverse(q); },
                       [](const Numbers &in) {
                         double square = 0;
                         for (double x : in) square += x * x;
                         return Numbers{in[0] * square, in[1] * square, in[2] * square, in[3] * square + 1};
                       });
  EXPECT_EQ(norm(normalize(Quaternion<double>(0, 0, 0, 0))), 0);
}

TEST(Quaternion, RotatesAsItsAxisAndAngleSay) {
  check_function<Vec<3>, double, Vec<3>>(
      [](auto axis, auto angle, auto v) {
        using Q = std::conditional_t<std::same_as<decltype(angle), double>, Quat, Quatd>;
        return rotate(Q::from_axis_angle(axis, angle), v);
      },
      [](const Numbers &in) { return turned_by(rotation_of_quaternion(unit(part(in, 0, 3)), in[3]), part(in, 4, 7)); },
      {.low = -3, .high = 3});
}

TEST(Quaternion, ToMatrix) {
  check_function<Quat>([](auto q) { return to_matrix(normalize(q)); },
                       [](const Numbers &in) { return rotation_of_quaternion(unit(in)); });
}

// In 64 random rotations, each of the four components is the largest of some.
TEST(Quaternion, FromMatrix) {
  check_function<Quat>([](auto q) { return decltype(q)::from_matrix(to_matrix(normalize(q))) * q.w(); },
                       [](const Numbers &in) {
                         Numbers q = unit(in);
                         int largest = 0;
                         for (int i = 0; i < 4; ++i)
                           if (std::abs(q[i]) > std::abs(q[largest])) largest = i;
                         double sign = q[largest] < 0 ? -1 : 1;
                         return Numbers{sign * q[0] * in[3], sign * q[1] * in[3], sign * q[2] * in[3],
                                        sign * q[3] * in[3]};
                       },
                       {.instances = 64});
}

TEST(Quaternion, RotationVectors) {
  auto there = [](const auto &v) {
    using Q = Quaternion<typename std::remove_cvref_t<decltype(v)>::component_type>;
    return Q::from_rotation_vector(v);
  };
  auto sine_and_cosine = [](const Numbers &in) {
    double angle = std::sqrt(in[0] * in[0] + in[1] * in[1] + in[2] * in[2]), s = std::sin(angle / 2) / angle;
    return Numbers{in[0] * s, in[1] * s, in[2] * s, std::cos(angle / 2)};
  };
  for (double size : {1.5, 0.02, 0.003, 1e-4}) {
    check_function<Vec<3>>(there, sine_and_cosine, {.low = -size, .high = size});
    check_function<Vec<3>>([&](auto v) { return rotation_vector(there(v)); }, [](const Numbers &in) { return in; },
                           {.low = -size, .high = size});
    check_function<Vec<3>>([&](auto v) { return rotation_vector(-there(v)); }, [](const Numbers &in) { return in; },
                           {.low = -size, .high = size});
  }
}

TEST(Quaternion, TheIdentityHasARotationVectorAndAGradient) {
  Kernel kernel{"identity", [](Array<double, 1> out, Array<const double, 1> in) {
                  Vec3d v = rotation_vector(Quatd::from_rotation_vector(Vec3d{in(0), in(1), in(2)}));
                  for (int i = 0; i < 3; ++i) out(i) = v[i];
                }};
  Buffer<double> in{test::device(), {3}, {0, 0, 0}, Gradient::tracked}, out{test::device(), {3}, Gradient::tracked};
  out.gradient().copy_from({1, 2, 3});
  kernel.launch({1}, out, in);
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
  test::expect_near(in.gradient().to_vector(), {1, 2, 3}, 1e-14, "gradient");
}

// By the definition: the rotation from a to b, taken t times, after a.
TEST(Quaternion, Slerp) {
  auto reference = [](const Numbers &in) {
    Numbers a = unit(part(in, 0, 4)), b = unit(part(in, 4, 8));
    double t = in[8], cosine = 0;
    for (int i = 0; i < 4; ++i) cosine += a[i] * b[i];
    double sign = cosine < 0 ? -1 : 1, angle = std::acos(std::min(1.0, std::abs(cosine))), sine = std::sin(angle);
    Numbers out;
    for (int i = 0; i < 4; ++i)
      out.push_back((std::sin((1 - t) * angle) * a[i] + sign * std::sin(t * angle) * b[i]) / sine);
    return out;
  };
  check_function<Quat, Quat, double>([](auto a, auto b, auto t) { return slerp(normalize(a), normalize(b), t); },
                                     reference, {.low = -1, .high = 1, .instances = 64});
}

// If a and b are close, acos loses its digits; slerp does not, and has a gradient at a = b.
TEST(Quaternion, SlerpOfNearRotations) {
  for (double size : {0.1, 0.01, 1e-3, 1e-6, 0.0})
    check_function<Quat, Vec<3>, double>(
        [&](auto a, auto v, auto t) {
          a = normalize(a);
          return slerp(a, a * decltype(a)::from_rotation_vector(v * size), t);
        },
        [&](const Numbers &in) {
          Quat a(in[0], in[1], in[2], in[3]);
          a = normalize(a);
          a = a * Quat::from_rotation_vector(Vec<3>(in[4], in[5], in[6]) * (size * in[7]));
          return Numbers(a.begin(), a.end());
        },
        {.tolerance = 1e-14});
}

TEST(Transform, MovesPointsAndDirections) {
  check_function<Rigid, Vec<3>>(
      [](auto x, auto v) {
        x = normalize(x);
        return transform_point(x, v) - transform_direction(x, v) * 2;
      },
      [](const Numbers &in) {
        Numbers turned = turned_by(rotation_of_quaternion(unit(part(in, 3, 7))), part(in, 7, 10));
        return Numbers{in[0] - turned[0], in[1] - turned[1], in[2] - turned[2]};
      });
}

TEST(Transform, ComposesAndInverts) {
  check_function<Rigid, Rigid, Vec<3>>(
      [](auto a, auto b, auto v) { return transform_point(normalize(a) * normalize(b), v); },
      [](const Numbers &in) {
        Numbers inner =
            moved_by(turned_by(rotation_of_quaternion(unit(part(in, 10, 14))), part(in, 14, 17)), part(in, 7, 10));
        return moved_by(turned_by(rotation_of_quaternion(unit(part(in, 3, 7))), inner), part(in, 0, 3));
      });
  check_function<Rigid, Vec<3>>(
      [](auto a, auto v) {
        a = normalize(a);
        return transform_point(inverse(a), transform_point(a, v));
      },
      [](const Numbers &in) { return part(in, 7, 10); });
  check_function<Rigid, Rigid>(
      [](auto a, auto b) {
        a = normalize(a);
        b = normalize(b);
        a *= b;
        return to_matrix(a) - to_matrix(a * inverse(b)) * to_matrix(b);
      },
      [](const Numbers &) { return Numbers(16, 0.0); });
}

}  // namespace
}  // namespace samite
