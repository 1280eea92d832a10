// Kernels of the 16-bit floating types: loads, arithmetic, atomics and gradients, against float rounded by the host.
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace samite::test {
namespace {

using testing::ElementsAre;

using on_device::device;

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(T::from_bits(static_cast<std::uint16_t>(random())));
    if (i % 2) values.back() = T(static_cast<double>(random() % 2000) / 64 - 10);
    if (std::isnan(static_cast<float>(values.back()))) values.back() = T(3);
  }
  return values;
}

// NaN is one value here.
template <class T>
void expect_same_bits(const std::vector<T> &actual, const std::vector<T> &expected, const char *what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    bool nans = std::isnan(static_cast<float>(actual[i])) && std::isnan(static_cast<float>(expected[i]));
    EXPECT_TRUE(nans || actual[i].bits() == expected[i].bits())
        << what << " " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

template <class T>
class SmallFloats : public testing::Test {};
using SmallFloatTypes = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(SmallFloats, SmallFloatTypes);

TYPED_TEST(SmallFloats, EachOperationRoundsItsResult) {
  using T = TypeParam;
  Kernel kernel{"arithmetic", [](Array<T, 2> out, Array<const T, 1> a, Array<const T, 1> b, Traced<T> c) {
                  Int i = thread_index();
                  Traced<T> x = a(i), y = b(i);
                  out(0, i) = x + y;
                  out(1, i) = x - y;
                  out(2, i) = x * y;
                  out(3, i) = x / y;
                  out(4, i) = sqrt(abs(x));
                  out(5, i) = min(x, y);
                  out(6, i) = x * y + c;
                  out(7, i) = select(x < y, -x, c);
                }};
  constexpr std::int64_t n = 1003;
  auto a = random_values<T>(n, 1), b = random_values<T>(n, 2);
  Buffer<T> out(device, {8, n});
  kernel.launch({n}, out, Buffer<T>(device, {n}, a), Buffer<T>(device, {n}, b), 0.1);
  std::vector<std::vector<T>> expected(8);
  const T c(0.1);
  for (std::size_t i = 0; i < n; ++i) {
    const float x = a[i], y = b[i];
    expected[0].push_back(x + y);
    expected[1].push_back(x - y);
    expected[2].push_back(x * y);
    expected[3].push_back(x / y);
    expected[4].push_back(std::sqrt(std::fabs(x)));
    expected[5].push_back(std::fmin(x, y));
    expected[6].push_back(T(x * y) + c);
    expected[7].push_back(x < y ? -x : static_cast<float>(c));
  }
  for (int row = 0; row < 8; ++row) {
    std::vector<T> actual = Buffer<T>(out.slice(0, row, row + 1)).to_vector();
    if (row == 5) continue;  // min of 0 and -0 is either
    expect_same_bits(actual, expected[static_cast<std::size_t>(row)], "row");
  }
}

TYPED_TEST(SmallFloats, CastsRoundOnce) {
  using T = TypeParam;
  Kernel kernel{"casts", [](Array<T, 2> out, Array<const double, 1> d, Array<const std::int64_t, 1> l,
                            Array<const std::int32_t, 1> n, Array<const std::uint8_t, 1> u, Array<const float, 1> f) {
                  Int i = thread_index();
                  out(0, i) = cast<Traced<T>>(d(i));
                  out(1, i) = cast<Traced<T>>(l(i));
                  out(2, i) = cast<Traced<T>>(n(i));
                  out(3, i) = u(i);  // promotes
                  out(4, i) = cast<Traced<T>>(f(i));
                  out(5, i) = cast<Traced<T>>(l(i) > 0);
                  out(6, i) = cast<Traced<T>>(cast<Float>(d(i) * 0.5));  // twice, as written
                }};
  std::mt19937_64 random(3);
  constexpr std::int64_t n = 500;
  std::vector<double> d;
  std::vector<std::int64_t> l;
  std::vector<std::int32_t> w;
  std::vector<std::uint8_t> u;
  std::vector<float> f;
  for (int i = 0; i < n; ++i) {
    // Half of them next to a tie, where rounding twice goes wrong.
    double tie = std::ldexp(2 * static_cast<double>(random() % 1024) + 1, -static_cast<int>(random() % 30));
    d.push_back(i % 2 ? std::nextafter(tie, i % 4 == 1 ? 0 : 1e9) : std::ldexp(static_cast<double>(random()), -60));
    l.push_back(static_cast<std::int64_t>(random()) >> (random() % 60));
    if (i % 3 == 0) l.back() = (std::int64_t{257} << 54) + static_cast<std::int64_t>(random() % 3) - 1;
    w.push_back(static_cast<std::int32_t>(random()) >> (random() % 30));
    if (i % 3 == 0) w.back() = (257 << 22) + static_cast<std::int32_t>(random() % 3) - 1;
    u.push_back(static_cast<std::uint8_t>(random()));
    f.push_back(static_cast<float>(d.back()));
  }
  Buffer<T> out(device, {7, n});
  kernel.launch({n}, out, Buffer<double>(device, {n}, d), Buffer<std::int64_t>(device, {n}, l),
                Buffer<std::int32_t>(device, {n}, w), Buffer<std::uint8_t>(device, {n}, u),
                Buffer<float>(device, {n}, f));
  auto row = [&](int r) { return Buffer<T>(out.slice(0, r, r + 1)).to_vector(); };
  expect_same_bits(row(0), std::vector<T>(d.begin(), d.end()), "f64");
  expect_same_bits(row(1), std::vector<T>(l.begin(), l.end()), "i64");
  expect_same_bits(row(2), std::vector<T>(w.begin(), w.end()), "i32");
  expect_same_bits(row(3), std::vector<T>(u.begin(), u.end()), "u8");
  expect_same_bits(row(4), std::vector<T>(f.begin(), f.end()), "f32");
  std::vector<T> twice;
  for (const double value : d) twice.emplace_back(static_cast<float>(value * 0.5));
  expect_same_bits(row(6), twice, "f64 by way of f32");
  for (int i = 0; i < n; ++i) EXPECT_EQ(out.at(5, i), l[static_cast<std::size_t>(i)] > 0 ? 1.f : 0.f);
}

TYPED_TEST(SmallFloats, AnyIndexAndAnyStride) {
  using T = TypeParam;
  Kernel kernel{"reverse", [](Array<T, 1> out, Array<const T, 1> in, Array<const std::int32_t, 1> order) {
                  Int i = thread_index();
                  out(order(i)) = in(i);
                  LocalArray<T, 4> local;
                  local(i % 4) = in(i);
                  out(order(i)) += local(i % 4);
                }};
  std::vector<std::int32_t> order;
  std::vector<T> values, expected(37);
  for (int i = 0; i < 37; ++i) order.push_back(36 - i), values.push_back(T(0.25 * i)), expected[36 - i] = T(0.5 * i);
  Buffer<T> twice(device, {74}), out(device, {37});
  Buffer<T> in = twice.slice(0, 0, 74, 2);
  in.copy_from(Buffer<T>(device, {37}, values));
  kernel.launch({37}, out, in, Buffer<std::int32_t>(device, {37}, order));
  expect_same_bits(out.to_vector(), expected, "element");
}

TYPED_TEST(SmallFloats, Atomics) {
  using T = TypeParam;
  Kernel kernel{"atomics", [](Array<T, 1> out, Array<T, 1> counts) {
                  Int i = thread_index();
                  Traced<T> x = cast<Traced<T>>(i);
                  atomic_add(out(0), 1);
                  atomic_max(out(1), x);
                  atomic_min(out(2), -x);
                  atomic_add(counts(cast<Int>(atomic_add(out(3), 1))), 1);
                  atomic_add(counts(i % 3), 2);
                }};
  Buffer<T> out(device, {4}), counts(device, {100});
  kernel.launch({100}, out, counts);
  EXPECT_EQ(out.at(0), 100.f);
  EXPECT_EQ(out.at(1), 99.f);
  EXPECT_EQ(out.at(2), -99.f);
  EXPECT_EQ(counts.at(1), 67.f);
  EXPECT_EQ(counts.at(50), 1.f);
}

// A machine may add to an element together with its neighbour in a word, which must not change.
TYPED_TEST(SmallFloats, AtomicSumsLeaveTheirNeighbours) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  Kernel kernel{"sums",
                {"out", "before", "first", "addend"},
                [](Array<T, 1> out, Array<T, 1> before, Int first, Traced<T> addend) {
                  Int i = 2 * thread_index() + first;
                  before(i) = atomic_add(out(i), addend);
                }};
  std::vector<T> values{T(0), T(1.5), T(3), Limits::max(), Limits::min(), Limits::denorm_min(), Limits::infinity()};
  for (std::size_t i = 0; i < 7; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  const auto count = static_cast<std::int64_t>(values.size());
  for (const int first : {0, 1})
    for (const T addend : values) {
      Buffer<T> out(device, {count}, values), before(device, {count}, values);
      kernel.launch({(count + 1 - first) / 2}, out, before, first, addend);
      std::vector<T> expected = values, sums = out.to_vector();
      for (std::size_t i = static_cast<std::size_t>(first); i < values.size(); i += 2) {
        expected[i] = T(static_cast<float>(values[i]) + static_cast<float>(addend));
        if (sums[i] == 0.0f && expected[i] == 0.0f) sums[i] = expected[i];  // -0 + 0 may be either
      }
      expect_same_bits(sums, expected, "sum");
      expect_same_bits(before.to_vector(), values, "before");
    }
}

TYPED_TEST(SmallFloats, GradientsThroughLoadsAndStores) {
  using T = TypeParam;
  Kernel kernel{"adjoint", [](Array<T, 1> out, Array<const T, 1> in, Array<T, 1> sum) {
                  Int i = thread_index();
                  Traced<T> x = in(i);
                  out(i) = x * x * 0.5 + sin(x);
                  atomic_add(sum(0), x);
                  atomic_add(sum(i % 2 + 1), cast<Traced<T>>(cast<Float>(x) * 3));
                }};
  std::vector<T> values;
  for (int i = 0; i < 40; ++i) values.push_back(T(0.125 * i - 2));
  Buffer<T> in(device, {40}, values, Gradient::tracked), out(device, {40}, Gradient::tracked),
      sum(device, {3}, Gradient::tracked);
  out.gradient().fill(2);
  sum.gradient().copy_from({1, 10, 20});
  kernel.launch({40}, {.direction = Direction::adjoint}, out, in, sum);
  for (int i = 0; i < 40; ++i) {
    float x = values[static_cast<std::size_t>(i)];
    float expected = 2 * (x + std::cos(x)) + 1 + 3 * (i % 2 ? 20.f : 10.f);
    EXPECT_NEAR(in.gradient().at(i), expected, 8 * std::fabs(expected) * std::numeric_limits<T>::epsilon());
    EXPECT_EQ(out.gradient().at(i), 0.f);
  }
}

TYPED_TEST(SmallFloats, PrintedAndSetAndOnATape) {
  using T = TypeParam;
  Kernel scale{"scale", {"out", "in", "factor"}, [](Array<T, 1> out, Array<const T, 1> in, Traced<T> factor) {
                 Int i = thread_index();
                 atomic_add(out(0), in(i)*factor);
                 print(factor);
               }};
  Buffer<T> in(device, {3}, {1, 2, 3}, Gradient::tracked), out(device, {1}, Gradient::tracked);
  std::vector<std::string> lines;
  PrintSink before = set_print_sink([&](std::string_view line) { lines.emplace_back(line); });
  Launch launch = scale.record({3}, out, in, T(1));
  launch.set("factor", 1.5);
  Tape tape;
  tape.record([&] { launch.launch(); });
  device.synchronize();
  set_print_sink(before);
  EXPECT_THAT(lines, ElementsAre("1.5", "1.5", "1.5"));
  EXPECT_EQ(out.at(0), 9.f);
  tape.backward(out);
  EXPECT_EQ(in.gradient().at(2), 1.5f);
}

}  // namespace
}  // namespace samite::test
