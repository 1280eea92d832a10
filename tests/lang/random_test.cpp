#include "samite/lang/random.h"
#include "samite/ir/kernel.h"

#include "samite/samite.h"
#include "tests/lang/algebra_check.h"
#include "tests/runtime/test_device.h"

namespace samite {
namespace {

using Words = std::array<std::uint32_t, 4>;

const Device where = test::device();

// The answers that were published with the reference implementation (Random123, tests/kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(lang::philox<std::uint32_t>({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(lang::philox<std::uint32_t>({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(lang::philox<std::uint32_t>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// By seed, stream and number of draws, in this order of words.
TEST(Philox, CountsDrawsInAStreamOfASeed) {
  HostRandom random{0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull};
  EXPECT_EQ(random.words(), (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  HostRandom counted{1, 2}, jumped{1, 2, 5};
  for (int i = 0; i < 5; ++i) counted.words();
  EXPECT_EQ(counted.words(), jumped.words());
}

TEST(Random, DrawsInAKernelWhatItDrawsOnTheHost) {
  Kernel kernel{"words", [](Array<std::uint32_t, 2> out, UInt64 seed, Int64 stream) {
                  Int i = thread_index();
                  Random random{seed, stream, i};
                  std::array<UInt, 4> words = random.words();
                  for (int k = 0; k < 4; ++k) out(i, k) = words[static_cast<std::size_t>(k)];
                }};
  EXPECT_LE(test::operations_in(kernel.ir()), 175u);
  Buffer<std::uint32_t> out{where, {300, 4}};
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{77}, ~std::uint64_t{0}}) {
    kernel.launch({300}, out, seed, -3);
    std::vector<std::uint32_t> expected;
    for (int i = 0; i < 300; ++i)
      for (std::uint32_t word : HostRandom{seed, -3, i}.words()) expected.push_back(word);
    EXPECT_EQ(out.to_vector(), expected);
  }
}

// All that can be drawn, one after the other; `numbers` is Random, or HostRandom.
template <class R, class F>
void draw_all(R &random, const F &put) {
  put(random.uniform());
  for (const auto &x : random.template uniform_vector<4>()) put(x);
  put(random.template uniform<double>());
  for (const auto &x : random.template uniform_vector<3, double>()) put(x);
  put(random.integer(1000));
  put(random.integer(-7, 2000000000));
  put(random.normal());
  for (const auto &x : random.template normal_vector<3>()) put(x);
  for (const auto &x : random.template normal_vector<4, double>()) put(x);
  for (const auto &x : random.on_sphere()) put(x);
  for (const auto &x : random.template on_sphere<double>()) put(x);
  for (const auto &x : random.in_ball()) put(x);
  for (const auto &x : random.in_disk()) put(x);
}

TEST(Random, EveryDrawIsTheHosts) {
  Kernel kernel{"draws", [](Array<double, 2> out) {
                  Int i = thread_index();
                  Random random{5, i};
                  int next = 0;
                  draw_all(random, [&](const auto &x) { out(i, next++) = x; });
                }};
  Buffer<double> out{where, {100, 30}};
  kernel.launch({100}, out);
  for (int i = 0; i < 100; ++i) {
    HostRandom random{5, i};
    int next = 0;
    // To the accuracy of log, sin, cos and cbrt: the angle has one of float's steps at 6.28.
    draw_all(random, [&]<class T>(T x) {
      double tolerance = std::same_as<T, double> ? 1e-14 : 3e-6;
      EXPECT_NEAR(out.at(i, next), static_cast<double>(x), tolerance) << next;
      ++next;
    });
    EXPECT_EQ(next, 30);
  }
}

// Draws in loops and branches count for the instances that reach them.
TEST(Random, CountsThroughControlFlow) {
  Kernel kernel{"flow", [](Array<float, 1> out) {
                  Int i = thread_index();
                  Random random{9, 4 * i};
                  Float sum = 0;
                  for (Int k : range(i)) if_(k % 2 == 0, [&] { sum += random.uniform(); });
                  out(i) = sum + random.uniform();
                }};
  Buffer<float> out{where, {20}};
  kernel.launch({20}, out);
  for (int i = 0; i < 20; ++i) {
    HostRandom random{9, 4 * i};
    float sum = 0;
    for (int k = 0; k < i; ++k)
      if (k % 2 == 0) sum += random.uniform();
    EXPECT_EQ(out.at(i), sum + random.uniform());
  }
}

// A gradient through factors of random numbers: the adjoint draws the same numbers.
TEST(Random, TheAdjointDrawsTheSame) {
  Kernel kernel{"scaled", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Random random{3, i};
                  Double x = in(i);
                  for ([[maybe_unused]] Int k : range(4)) x = sin(x * random.uniform<double>()) + x;
                  out(i) = x;
                }};
  Buffer<double> in{where, {8}, {.1, .2, .3, .4, .5, .6, .7, .8}, Gradient::tracked};
  Buffer<double> out{where, {8}, Gradient::tracked};
  GradientReport report = gradcheck([&] { kernel.launch({8}, out, in); }, {in}, {out});
  EXPECT_TRUE(report.passed) << report;
}

struct Moments {
  double mean = 0, square = 0, fourth = 0, smallest = 1e9, largest = -1e9;
  int count = 0;
  void add(double x) {
    mean += x, square += x * x, fourth += x * x * x * x, ++count;
    smallest = std::min(smallest, x), largest = std::max(largest, x);
  }
};

// Within six standard errors of the distribution's value.
TEST(Random, HasTheDistributionsThatItSays) {
  const int n = 200000;
  Moments uniform, fine, normal, fine_normal, height, radius, disk;
  std::array<int, 6> faces{};
  for (int i = 0; i < n; ++i) {
    HostRandom random{2026, i};
    uniform.add(random.uniform());
    fine.add(random.uniform<double>());
    normal.add(random.normal_vector<2>()[i % 2]);
    fine_normal.add(random.normal<double>());
    Vector<float, 3> d = random.on_sphere();
    height.add(d[i % 3]);
    EXPECT_NEAR(norm(d), 1, 1e-5);
    Vector<float, 3> b = random.in_ball();
    radius.add(norm(b) * norm(b) * norm(b));
    disk.add(norm_squared(random.in_disk()));
    ++faces[static_cast<std::size_t>(random.integer(1, 7) - 1)];
  }
  auto expect = [&](const Moments &m, double mean, double square, double fourth, double low, double high) {
    EXPECT_NEAR(m.mean / n, mean, 6 * std::sqrt((square - mean * mean) / n));
    EXPECT_NEAR(m.square / n, square, 6 * std::sqrt((fourth - square * square) / n));
    EXPECT_GE(m.smallest, low);
    EXPECT_LE(m.largest, high);
  };
  expect(uniform, 0.5, 1.0 / 3, 0.2, 0, 1 - 0x1p-24);
  expect(fine, 0.5, 1.0 / 3, 0.2, 0, 1 - 0x1p-53);
  expect(normal, 0, 1, 3, -6.7, 6.7);
  expect(fine_normal, 0, 1, 3, -8.6, 8.6);
  expect(height, 0, 1.0 / 3, 0.2, -1.00001, 1.00001);
  expect(radius, 0.5, 1.0 / 3, 0.2, 0, 1.00001);
  expect(disk, 0.5, 1.0 / 3, 0.2, 0, 1.00001);
  for (int face : faces) EXPECT_NEAR(face, n / 6.0, 6 * std::sqrt(n / 6.0));
}

TEST(Random, IntegersReachBothEndsOfTheirRange) {
  HostRandom random{1, 1};
  std::int32_t smallest = 100, largest = -100;
  for (int i = 0; i < 1000; ++i) {
    std::int32_t k = random.integer(-3, 4);
    smallest = std::min(smallest, k), largest = std::max(largest, k);
    EXPECT_EQ(random.integer(1), 0);
  }
  EXPECT_EQ(smallest, -3);
  EXPECT_EQ(largest, 3);
}

}  // namespace
}  // namespace samite
