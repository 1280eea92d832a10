// The user's structs of traced values: as locals, parameters and elements of arrays.

#include "samite/ir/kernel.h"
#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

namespace samite {
namespace {

struct Particle {
  Vec3f position;
  Float mass;
};
struct Spring {
  std::array<Vec2d, 2> ends;
  Double stiffness;
};
struct Labelled {
  Vec2f place;
  Int label;
};
struct Settings {
  Float dt;
  Particle other;
  Int steps;
  Bool on;
};
struct HostParticle {
  Vector<float, 3> position;
  float mass;
};
struct HostSettings {
  float dt;
  HostParticle other;
  std::int32_t steps;
  bool on;
};

const Device device = test::device();

TEST(Fields, AreCountedAndTakenApart) {
  EXPECT_EQ(lang::field_count<Particle>(), 2u);
  EXPECT_EQ(lang::field_count<Settings>(), 4u);
  EXPECT_EQ(lang::leaf_count<Particle>, 4u);
  EXPECT_EQ(lang::leaf_count<Spring>, 5u);
  EXPECT_EQ(lang::leaf_count<Settings>, 7u);
  EXPECT_EQ(lang::leaf_count<Transformf>, 7u);
  EXPECT_EQ((lang::leaf_count<Matrix<Float, 2, 3>>), 6u);
  EXPECT_TRUE(lang::UserStruct<Particle>);
  EXPECT_FALSE(lang::UserStruct<Vec3f>);
  EXPECT_FALSE(lang::StructValue<HostParticle>);
  EXPECT_FALSE(lang::StructValue<Float>);
  EXPECT_FALSE(lang::StructValue<std::string>);

  HostSettings settings{1, {{2, 3, 4}, 5}, 6, true};
  std::vector<double> leaves;
  lang::each_leaf(settings, [&](auto leaf) { leaves.push_back(static_cast<double>(leaf)); });
  EXPECT_EQ(leaves, (std::vector<double>{1, 2, 3, 4, 5, 6, 1}));
}

TEST(Struct, IsAnElementOfAnArray) {
  Kernel kernel{"particles", [](Array<Particle, 1> particles, Array<const Vec3f, 1> forces) {
                  Int i = thread_index();
                  Particle p = particles(i);
                  p.position += forces(i) / p.mass;
                  p.mass += 1;
                  particles(i) = p;
                  particles(i)[3] *= 10;
                }};
  Buffer<float> particles{device, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};
  Buffer<float> forces{device, {2, 3}, {4, 8, 12, 8, 16, 24}};
  kernel.launch({2}, particles, forces);
  EXPECT_EQ(particles.to_vector(), (std::vector<float>{2, 4, 6, 50, 6, 8, 10, 90}));
}

TEST(Struct, ElementsOfVectorsAreOperands) {
  Kernel kernel{"operands", [](Array<Vec2f, 1> out, Array<const Vec2f, 1> in, Array<const Mat2f, 2> matrices) {
                  Int i = thread_index();
                  out(i) = 2 * in(i) + in(i)*in(i)-in(i) / 2;
                  out(i) += matrices(0, i) * in(i);
                  out(i) -= normalize(in(i)) * norm(in(i));
                  out(i) *= dot(in(i), in(i)) + determinant(matrices(0, i));
                  out(i) /= Vec2f{1, 2};
                }};
  Buffer<float> in{device, {1, 2}, {2, 4}}, matrices{device, {1, 1, 4}, {1, 2, 3, 4}}, out{device, {1, 2}};
  kernel.launch({1}, out, in, matrices);
  EXPECT_NEAR(out.at(0, 0), (4 + 4 - 1 + 10 - 2) * (20 - 2), 1e-3);
  EXPECT_NEAR(out.at(0, 1), (8 + 16 - 2 + 22 - 4) * (20 - 2) / 2.0, 1e-3);
}

TEST(Struct, ArraysMayHaveAnyStrides) {
  Kernel kernel{"strided", [](Array<Vec2f, 2> out, Array<const Vec2f, 2> in) {
                  auto [i, j] = thread_index<2>();
                  out(i, j) = in(i, j) + Vec2f::filled(cast<Float>(out.extent(0) * 100 + out.extent(1) * 10));
                }};
  Buffer<float> in{device, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, out{device, {3, 2, 2}};
  kernel.launch({3, 2}, out, in.permute({1, 0, 2}));
  EXPECT_EQ(out.at(2, 0, 1), 325);
  EXPECT_EQ(out.at(1, 1, 0), 328);
}

TEST(Struct, AnArrayForEachField) {
  Kernel kernel{"fields", [](Array<Vec2f, 1> places, Array<std::int32_t, 1> labels) {
                  Int i = thread_index();
                  auto all = zip<Labelled>(places, labels);
                  Labelled here = all(i);
                  here.place *= 2;
                  here.label += 1;
                  all(i) = here;
                }};
  Buffer<float> places{device, {2, 2}, {1, 2, 3, 4}};
  Buffer<std::int32_t> labels{device, {2}, {7, 8}};
  kernel.launch({2}, places, labels);
  EXPECT_EQ(places.to_vector(), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(labels.to_vector(), (std::vector<std::int32_t>{8, 9}));
}

TEST(Struct, IsAParameter) {
  Kernel kernel{"settings", {"out", "settings", "shift"}, [](Array<float, 1> out, Settings s, Vec2f shift) {
                  s.other.position.x() += s.dt;
                  out(0) = sum(s.other.position) + s.other.mass + cast<Float>(s.steps) + select(s.on, Float(100), 0);
                  out(1) = shift.x() - shift.y();
                }};
  Buffer<float> out{device, {2}};
  HostSettings settings{1, {{2, 3, 4}, 5}, 6, true};
  kernel.launch({1}, out, settings, std::array<float, 2>{5, 3});
  EXPECT_EQ(out.to_vector(), (std::vector<float>{121, 2}));

  Launch launch = kernel.record({1}, out, settings, Vector<float, 2>{5, 3});
  launch.set("settings_4", 10.0f);
  launch.set("shift_1", 1.0f);
  launch.launch();
  EXPECT_EQ(out.to_vector(), (std::vector<float>{126, 4}));
}

TEST(Struct, LocalsCarryThroughLoopsAndEarlyReturns) {
  auto fall = [](Particle p, Int steps) {
    return returning<Particle>([&](auto return_) {
      for (Int k : range(steps)) {
        if_(k == 3, [&] { return_(p); });
        p.position.z() -= p.mass;
      }
      p.mass = 0;
      return p;
    });
  };
  Kernel kernel{"fall", [&](Array<float, 1> out) {
                  Int i = thread_index();
                  Particle p{{0, 0, 10}, 2};
                  Particle q = fall(p, i);
                  out(i) = q.position.z() + 100 * q.mass + p.position.z() * 1000;
                }};
  Buffer<float> out{device, {6}};
  kernel.launch({6}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{10010, 10008, 10006, 10004, 10204, 10204}));
}

TEST(Struct, ElementsHaveGradients) {
  Kernel kernel{"springs", [](Array<double, 1> energy, Array<const Spring, 1> springs, Array<Vec2d, 1> sums) {
                  Int i = thread_index();
                  Spring s = springs(i);
                  Double length = distance(s.ends[0], s.ends[1]);
                  energy(i) = 0.5 * s.stiffness * (length - 1) * (length - 1);
                  atomic_add(sums(0), s.ends[0] * s.stiffness);
                }};
  std::vector<double> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(std::sin(i * 1.7) * 2);
  Buffer<double> springs{device, {4, 5}, numbers, Gradient::tracked}, energy{device, {4}, Gradient::tracked};
  Buffer<double> sums{device, {1, 2}, Gradient::tracked};
  GradientReport report = gradcheck(
      [&] {
        sums.fill(0);
        kernel.launch({4}, energy, springs, sums);
      },
      {springs}, {energy, sums});
  EXPECT_TRUE(report.passed) << report;
  kernel.launch({4}, energy, springs, sums);
  double length = std::hypot(numbers[0] - numbers[2], numbers[1] - numbers[3]);
  EXPECT_NEAR(energy.at(0), 0.5 * numbers[4] * (length - 1) * (length - 1), 1e-14);
}

// The derivative of a kernel as a kernel takes gradients as arrays of the same structs.
TEST(Struct, TheAdjointAsAKernelTakesArraysOfStructs) {
  Kernel kernel{"square", [](Array<double, 1> out, Vec2d scale, Array<const Vec2d, 1> in) {
                  Int i = thread_index();
                  out(i) = dot(scale * in(i), in(i));
                }};
  auto adjoint = kernel.adjoint<0, 2>();
  Buffer<double> out{device, {1}}, in{device, {1, 2}, {3, 5}}, out_bar{device, {1}, {1}}, in_bar{device, {1, 2}};
  adjoint.launch({1}, out, Vector<double, 2>{1, 10}, in, out_bar, in_bar);
  EXPECT_EQ(in_bar.to_vector(), (std::vector<double>{6, 100}));
  EXPECT_THAT(message_of<UserError>([&] {
                adjoint.launch({1}, out, Vector<double, 2>{1, 10}, in, out_bar, Buffer<double>{device, {1, 3}});
              }),
              testing::HasSubstr("whose last extent is 2"));
}

TEST(Struct, OnlyWhatIsUsedIsLoaded) {
  ir::Kernel kernel = test::structured([](Array<const Particle, 1> particles, Array<float, 1> out) {
    Particle p = particles(0);
    out(0) = p.mass;
  });
  std::size_t loads = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const auto *let = stmt.as<ir::Let>();
    if (let && let->value.op == ir::Op::Load) ++loads;
  });
  EXPECT_EQ(loads, 1u);
}

TEST(Struct, ABufferOfAnotherLastExtentIsRefused) {
  Kernel kernel{"last", {"points"}, [](Array<Vec3f, 1> points) { points(0) *= 2; }};
  Buffer<float> wrong{device, {7, 4}}, flat{device, {21}};
  std::string message = message_of<UserError>([&] { kernel.launch({7}, wrong); });
  EXPECT_THAT(message, testing::HasSubstr("argument 0 ('points')"));
  EXPECT_THAT(message, testing::HasSubstr("a buffer of f32 with rank 2 whose last extent is 3"));
  EXPECT_THAT(message, testing::HasSubstr("(7, 4)"));
  EXPECT_THAT(message_of<UserError>([&] { kernel.launch({7}, flat); }), testing::HasSubstr("(21)"));
}

TEST(Struct, NamesAreOfTheKernelsParameters) {
  auto function = [](Array<float, 1> out, Vec3f v) { out(0) = v.x(); };
  Kernel named{"named", {"out", "v"}, function};
  EXPECT_EQ(named.ir().parameters[3].name, "v_2");
  EXPECT_THAT(message_of<UserError>([&] { Kernel kernel{"named", {"out"}, function}; }),
              testing::HasSubstr("has 2 parameters, but 1 names are given"));
}

TEST(Struct, TheLastExtentIsPartOfTheTextOfAKernel) {
  ir::Kernel kernel =
      test::captured([](Array<const Vec3f, 1> in, Array<float, 1> out, Vec2f v) { out(0) = v.x() + norm(in(0)); });
  std::string text = ir::to_string(kernel);
  EXPECT_THAT(text, testing::HasSubstr("@p0: array<const f32, 2, last 3>, @p1: array<f32, 1>, @p2_0: f32, @p2_1: f32"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

}  // namespace
}  // namespace samite
