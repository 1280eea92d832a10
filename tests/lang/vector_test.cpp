#include "tests/lang/algebra_check.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

namespace samite {
namespace {

using test::check_function;
using test::Numbers;
using test::Vec;

// Component by component: the reference works on numbers a[0] … a[N - 1], b[0] … b[N - 1].
template <class F>
auto by_component(int n, const F &function) {
  return [=](const Numbers &in) {
    Numbers out;
    for (int i = 0; i < n; ++i) out.push_back(function(in[i], in[n + i]));
    return out;
  };
}
double dot_of(const Numbers &in, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i] * in[n + i];
  return sum;
}

TEST(Vector, OperatorsWorkComponentByComponent) {
  check_function<Vec<2>, Vec<2>>([](auto a, auto b) { return a + b; },
                                 by_component(2, [](double x, double y) { return x + y; }));
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return a - b; },
                                 by_component(3, [](double x, double y) { return x - y; }));
  check_function<Vec<4>, Vec<4>>([](auto a, auto b) { return a * b; },
                                 by_component(4, [](double x, double y) { return x * y; }));
  check_function<Vec<6>, Vec<6>>([](auto a, auto b) { return -a / b; },
                                 by_component(6, [](double x, double y) { return -x / y; }), {.low = 0.5, .high = 2});
}

TEST(Vector, AScalarScales) {
  check_function<Vec<3>, double>([](auto a, auto s) { return 2 * a * s / 3 + s * a / (s + 3); },
                                 [](const Numbers &in) {
                                   double s = in[3];
                                   Numbers out;
                                   for (int i = 0; i < 3; ++i) out.push_back(2 * in[i] * s / 3 + s * in[i] / (s + 3));
                                   return out;
                                 });
  check_function<Vec<2>, double>([](auto a, auto s) { return s / a; },
                                 [](const Numbers &in) { return Numbers{in[2] / in[0], in[2] / in[1]}; },
                                 {.low = 0.5, .high = 2});
}

TEST(Vector, CompoundAndComponentAssignment) {
  check_function<Vec<3>, Vec<3>, double>(
      [](auto a, auto b, auto s) {
        a += b;
        a *= s;
        a -= 2 * b;
        a /= s + 3;
        a *= b;
        a /= b + b + b;
        a[1] = s * a[0];
        a[1] *= a[1];
        a.z() += a.x() + a[1];
        a.x() = a.z();
        return a;
      },
      [](const Numbers &in) {
        Numbers a;
        double s = in[6];
        for (int i = 0; i < 3; ++i) {
          double b = in[3 + i];
          a.push_back(((in[i] + b) * s - 2 * b) / (s + 3) * b / (3 * b));
        }
        a[1] = s * a[0] * s * a[0];
        a[2] += a[0] + a[1];
        a[0] = a[2];
        return a;
      },
      {.low = 0.3, .high = 1.5});
}

TEST(Vector, ProductsAndNorms) {
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return dot(a, b); },
                                 [](const Numbers &in) { return Numbers{dot_of(in, 3)}; });
  check_function<Vec<6>, Vec<6>>([](auto a, auto b) { return dot(a, b); },
                                 [](const Numbers &in) { return Numbers{dot_of(in, 6)}; });
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return cross(a, b); },
                                 [](const Numbers &in) {
                                   double a = in[0], b = in[1], c = in[2], x = in[3], y = in[4], z = in[5];
                                   return Numbers{b * z - c * y, c * x - a * z, a * y - b * x};
                                 });
  check_function<Vec<2>, Vec<2>>([](auto a, auto b) { return cross(a, b); },
                                 [](const Numbers &in) { return Numbers{in[0] * in[3] - in[1] * in[2]}; });
  check_function<Vec<4>>([](auto a) { return norm(a) + 2 * norm_squared(a); },
                         [](const Numbers &in) {
                           double square = in[0] * in[0] + in[1] * in[1] + in[2] * in[2] + in[3] * in[3];
                           return Numbers{std::sqrt(square) + 2 * square};
                         });
  check_function<Vec<2>>([](auto a) { return normalize(a); },
                         [](const Numbers &in) {
                           double length = std::hypot(in[0], in[1]);
                           return Numbers{in[0] / length, in[1] / length};
                         });
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return distance(a, b) * 3 + distance_squared(a, b); },
                                 [](const Numbers &in) {
                                   double x = in[0] - in[3], y = in[1] - in[4], z = in[2] - in[5];
                                   double square = x * x + y * y + z * z;
                                   return Numbers{3 * std::sqrt(square) + square};
                                 });
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return reflect(a, b); },
                                 [](const Numbers &in) {
                                   double d = dot_of(in, 3);
                                   return Numbers{in[0] - 2 * d * in[3], in[1] - 2 * d * in[4], in[2] - 2 * d * in[5]};
                                 });
}

TEST(Vector, FunctionsByComponent) {
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return min(a, b); },
                                 by_component(3, [](double x, double y) { return std::min(x, y); }));
  check_function<Vec<3>, Vec<3>>([](auto a, auto b) { return max(a, b); },
                                 by_component(3, [](double x, double y) { return std::max(x, y); }));
  check_function<Vec<5>, Vec<5>>(
      [](auto a, auto b) { return abs(a) * b + floor(a + b); },
      by_component(5, [](double x, double y) { return std::abs(x) * y + std::floor(x + y); }));
  check_function<Vec<3>, Vec<3>>(
      [](auto a, auto b) { return clamp(a, -0.5, 0.25) + clamp(a, -b * b, b * b); },
      by_component(3, [](double x, double y) { return std::clamp(x, -0.5, 0.25) + std::clamp(x, -y * y, y * y); }));
  check_function<Vec<3>, Vec<3>, double>([](auto a, auto b, auto t) { return lerp(a, b, t) + lerp(a, b, 0.25); },
                                         [](const Numbers &in) {
                                           Numbers out;
                                           for (int i = 0; i < 3; ++i) {
                                             double a = in[i], b = in[3 + i], t = in[6];
                                             out.push_back((1 - t) * a + t * b + 0.75 * a + 0.25 * b);
                                           }
                                           return out;
                                         });
  check_function<Vec<3>>(
      [](auto a) { return map(a, [](const auto &x) { return x * x * x; }); },
      [](const Numbers &in) { return Numbers{in[0] * in[0] * in[0], in[1] * in[1] * in[1], in[2] * in[2] * in[2]}; });
}

TEST(Vector, Reductions) {
  check_function<Vec<3>>([](auto a) { return sum(a) + 10 * product(a) + 100 * minimum(a) + 1000 * maximum(a); },
                         [](const Numbers &in) {
                           return Numbers{in[0] + in[1] + in[2] + 10 * in[0] * in[1] * in[2] +
                                          100 * *std::min_element(in.begin(), in.end()) +
                                          1000 * *std::max_element(in.begin(), in.end())};
                         },
                         {.gradient_tolerance = 1e-5});
}

TEST(Vector, SelectAndEqualityAreOfTheWhole) {
  check_function<Vec<3>, Vec<3>>(
      [](auto a, auto b) { return select(a[0] < b[0], a, b) + select(a == a && a != b, a, b); },
      [](const Numbers &in) {
        Numbers out;
        for (int i = 0; i < 3; ++i) out.push_back((in[0] < in[3] ? in[i] : in[3 + i]) + in[i]);
        return out;
      });
}

// Norm and normalize of zero, and their gradients, are zero rather than not a number.
TEST(Vector, ZeroHasANormAndADirection) {
  Kernel kernel{"zero", [](Array<double, 1> out, Array<const double, 1> in) {
                  Vec3d v{in(0), in(1), in(2)};
                  Vec3d direction = normalize(v);
                  out(0) = norm(v) + direction[0] + 2 * direction[1] + distance(v, v);
                }};
  Device device = test::device();
  Buffer<double> in{device, {3}, {0, 0, 0}, Gradient::tracked}, out{device, {1}, Gradient::tracked};
  kernel.launch({1}, out, in);
  EXPECT_EQ(out.at(0), 0);
  out.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().to_vector(), Numbers(3, 0.0));
}

TEST(Vector, IntegersAndConversions) {
  Kernel kernel{"integers", [](Array<std::int32_t, 1> out, Array<const float, 1> in) {
                  Vec3f v{in(0), in(1), 2.75};
                  Vec3i whole(v);
                  whole = whole * 2 + Vec3i{1, 2, 3};
                  whole -= Vec3i::filled(1);
                  Vec3d wide(whole);
                  for (int i = 0; i < 3; ++i) out(i) = cast<Int>(wide[i]);
                }};
  Buffer<float> in{test::device(), {2}, {5.5f, -1.5f}};
  Buffer<std::int32_t> out{test::device(), {3}};
  kernel.launch({1}, out, in);
  EXPECT_EQ(out.to_vector(), (std::vector<std::int32_t>{10, -1, 6}));
}

// A local that is a vector carries its value through loops and branches, component by component.
TEST(Vector, CarriesThroughControlFlow) {
  check_function<Vec<2>, double>(
      [](auto v, auto s) {
        if constexpr (std::same_as<decltype(s), double>) {
          for (int k = 0; k < 5; ++k) {
            v += Vec<2>{s, v.x()} * 0.1;
            if (v.x() > 0) v[1] = v[1] * s;
          }
        } else {
          for ([[maybe_unused]] Int k : range(5)) {
            v += Vec2d{s, v.x()} * 0.1;
            if_(v.x() > 0, [&] { v[1] = v[1] * s; });
          }
        }
        return v;
      },
      [](const Numbers &in) {
        double x = in[0], y = in[1], s = in[2];
        for (int k = 0; k < 5; ++k) {
          double next = x + s * 0.1;
          y += x * 0.1;
          x = next;
          if (x > 0) y *= s;
        }
        return Numbers{x, y};
      });
}

TEST(Vector, ACopyIsACopy) {
  Kernel kernel{"copy", [](Array<float, 1> out) {
                  Vec2f a{1, 2};
                  Vec2f b = a;
                  b[0] = 5;
                  a = Vec2f{a.y(), a.x()};
                  out(0) = a[0];
                  out(1) = a[1];
                  out(2) = b[0];
                  out(3) = b[1];
                }};
  Buffer<float> out{test::device(), {4}};
  kernel.launch({1}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{2, 1, 5, 2}));
}

TEST(Vector, OperationsCountAsWrittenOnTheUsersLine) {
  unsigned first = __LINE__ + 2;
  Kernel kernel{"lines", [](Array<double, 1> out, Array<const double, 1> in) {
                  Vec3d a{in(0), in(1), in(2)};
                  Vec3d b = a + a;
                  b *= dot(a, b);
                  out(0) = norm(b);
                }};
  for (const ir::Stmt &stmt : kernel.ir().body) {
    EXPECT_THAT(stmt.where().file, testing::EndsWith("vector_test.cpp"));
    EXPECT_GE(stmt.where().line, first);
    EXPECT_LE(stmt.where().line, first + 3);
  }
}

TEST(Vector, AComponentOutsideIsAnErrorOfTheCapture) {
  unsigned line = 0;
  std::string message = message_of<UserError>([&] {
    Kernel kernel{"outside", [&](Array<float, 1> out) {
                    Vec3f a;
                    for (int i = 0; i < 4; ++i) {
                      line = __LINE__ + 1;
                      out(0) += a[i];
                    }
                  }};
  });
  EXPECT_THAT(message, testing::HasSubstr("vector_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, testing::HasSubstr("component 3 is asked for, and there are 3, 0 to 2"));
}

}  // namespace
}  // namespace samite
