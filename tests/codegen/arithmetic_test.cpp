// Operations on every type, as vectors and as scalars, against C++.
#include "tests/codegen/compiled_kernel.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <random>

namespace samite::test {
namespace {

// Applies `operation` to two arrays of `T`, element by element; or to their first elements, which is done with
// scalars, once for all.
template <class T>
std::vector<T> binary(const std::string &operation, const std::vector<T> &a, const std::vector<T> &b,
                      bool uniform = false) {
  const std::string t(name(scalar_type_of<T>));
  const std::string at = uniform ? "0" : "%0";
  CompiledKernel kernel("kernel @k(@r: array<" + t + ", 1>, @a: array<const " + t + ", 1>, @b: array<const " + t +
                        ", 1>) threads 1 {\n%0: i32 = thread_index 0\n%1: " + t + " = load @a[" + at + "]\n%2: " + t +
                        " = load @b[" + at + "]\n%3: " + t + " = " + operation + " %1, %2\nstore @r[%0] = %3\n}");
  std::vector<T> result(a.size(), T(77));
  kernel.run({static_cast<long long>(a.size())}, {array(result), array(a), array(b)});
  return result;
}

template <class T>
std::vector<T> interesting(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (int i = 0; i < 301; ++i) {
    switch (random() % 6) {
      case 0: values.push_back(0); break;
      case 1: values.push_back(static_cast<T>(-1)); break;
      case 2: values.push_back(std::numeric_limits<T>::min()); break;
      case 3: values.push_back(static_cast<T>(random() % 16)); break;
      default: values.push_back(static_cast<T>(random()));
    }
  }
  return values;
}

template <class T>
class IntegerArithmetic : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerArithmetic, Integers);

template <class T>
void expect_all(const std::string &operation, const std::function<T(T, T)> &reference) {
  const std::vector<T> a = interesting<T>(1), b = interesting<T>(2);
  const std::vector<T> result = binary(operation, a, b);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(result[i], reference(a[i], b[i])) << operation << ' ' << +a[i] << ", " << +b[i];
  for (std::size_t i : {0, 3, 5})
    ASSERT_EQ(binary(operation, std::vector{a[i]}, std::vector{b[i]}, true)[0], reference(a[i], b[i])) << operation;
}

template <class T>
T wrapped_quotient(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  return static_cast<T>(a / b);
}

TYPED_TEST(IntegerArithmetic, DividesByAnything) {
  using T = TypeParam;
  expect_all<T>("div", wrapped_quotient<T>);
  expect_all<T>("rem", [](T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) -
                          static_cast<std::uint64_t>(wrapped_quotient(a, b)) * static_cast<std::uint64_t>(b));
  });
}

TYPED_TEST(IntegerArithmetic, WrapsAndShiftsModuloTheWidth) {
  using T = TypeParam;
  using Wide = std::uint64_t;
  constexpr T width_mask = 8 * sizeof(T) - 1;
  const std::vector<T> a = interesting<T>(3), b = interesting<T>(4);
  auto expect = [&](const std::string &operation, const std::function<T(T, T)> &reference) {
    const std::vector<T> result = binary(operation, a, b);
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(result[i], reference(a[i], b[i])) << operation << ' ' << +a[i] << ", " << +b[i];
  };
  expect("add", [](T x, T y) { return static_cast<T>(Wide(x) + Wide(y)); });
  expect("sub", [](T x, T y) { return static_cast<T>(Wide(x) - Wide(y)); });
  expect("mul", [](T x, T y) { return static_cast<T>(Wide(x) * Wide(y)); });
  expect("shl", [](T x, T y) { return static_cast<T>(Wide(x) << (y & width_mask)); });
  expect("shr", [](T x, T y) { return static_cast<T>(x >> (y & width_mask)); });
  expect("xor", [](T x, T y) { return static_cast<T>(x ^ y); });
  expect("min", [](T x, T y) { return std::min(x, y); });
  expect("max", [](T x, T y) { return std::max(x, y); });
}

TYPED_TEST(IntegerArithmetic, Compares) {
  using T = TypeParam;
  const std::vector<T> a = interesting<T>(5), b = interesting<T>(6);
  std::vector<unsigned char> result(a.size(), 7);
  const std::string t(name(scalar_type_of<T>));
  CompiledKernel kernel("kernel @k(@r: array<bool, 1>, @a: array<const " + t + ", 1>, @b: array<const " + t +
                        ", 1>) threads 1 {\n%0: i32 = thread_index 0\n%1: " + t + " = load @a[%0]\n%2: " + t +
                        " = load @b[%0]\n%3: bool = le %1, %2\n%4: bool = ne %1, 0:" + t +
                        "\n%5: bool = and %3, %4\n%6: bool = not %5\nstore @r[%0] = %6\n}");
  kernel.run({static_cast<long long>(a.size())}, {array(result), array(a), array(b)});
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(result[i], !(a[i] <= b[i] && a[i] != 0)) << +a[i];
}

TEST(Arithmetic, FloatsAreIEEE) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> a(203), b(203);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = normal(random), b[i] = i % 17 == 0 ? 0.f : normal(random);
  const std::vector<float> quotient = binary("div", a, b), difference = binary("sub", a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(quotient[i], a[i] / b[i]);
    EXPECT_EQ(difference[i], a[i] - b[i]);
  }
}

TEST(Arithmetic, TheMinimumOfANumberAndANaNIsTheNumber) {
  const float nan = std::nanf("");
  const std::vector<float> a{nan, 1, 2, nan}, b{3, nan, 1, nan};
  for (bool uniform : {false, true}) {
    EXPECT_EQ(binary("min", a, b, uniform)[0], 3);
    EXPECT_EQ(binary("max", b, a, uniform)[0], 3);
  }
  const std::vector<float> smallest = binary("min", a, b);
  EXPECT_EQ(smallest[1], 1);
  EXPECT_EQ(smallest[2], 1);
  EXPECT_TRUE(std::isnan(smallest[3]));
}

template <class From, class To>
void expect_cast(const std::vector<From> &values) {
  const std::string from(name(scalar_type_of<From>)), to(name(scalar_type_of<To>));
  CompiledKernel kernel("kernel @k(@r: array<" + to + ", 1>, @a: array<const " + from +
                        ", 1>) threads 1 {\n%0: i32 = thread_index 0\n%1: " + from + " = load @a[%0]\n%2: " + to +
                        " = cast %1\nstore @r[%0] = %2\n}");
  std::vector<To> result(values.size());
  kernel.run({static_cast<long long>(values.size())}, {array(result), array(values)});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(result[i], static_cast<To>(values[i])) << from << to;
}

TEST(Arithmetic, CastsAsCppDoes) {
  std::vector<float> floats;
  std::vector<std::int64_t> wide = interesting<std::int64_t>(8);
  for (int i = -60; i < 60; ++i) floats.push_back(0.75f * static_cast<float>(i));
  expect_cast<float, double>(floats);
  expect_cast<float, std::int32_t>(floats);
  expect_cast<float, std::int64_t>(floats);
  expect_cast<float, std::int8_t>(floats);
  expect_cast<std::int64_t, std::int32_t>(wide);
  expect_cast<std::int64_t, std::uint8_t>(wide);
  expect_cast<std::int64_t, double>(wide);
  expect_cast<std::uint64_t, float>(interesting<std::uint64_t>(9));
  expect_cast<std::uint32_t, double>(interesting<std::uint32_t>(9));
  expect_cast<std::int8_t, std::uint32_t>(interesting<std::int8_t>(9));
}

TEST(Arithmetic, BoolsAreBytesInMemory) {
  std::vector<unsigned char> a(37), result(37, 9);
  std::vector<float> numbers(37);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0;
  CompiledKernel kernel(
      R"(kernel @k(@r: array<bool, 1>, @f: array<f32, 1>, @a: array<const bool, 1>, @flip: bool) threads 1 {
    %0: i32 = thread_index 0
    %1: bool = load @a[%0]
    %2: bool = xor %1, @flip
    store @r[%0] = %2
    %3: f32 = cast %2
    %4: bool = cast %3
    %5: f32 = select %4, 10.0, 20.0
    %6: f32 = add %3, %5
    store @f[%0] = %6
  })");
  kernel.run({37}, {array(result), array(numbers), array(a), scalar(true)});
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(result[i], !a[i]);
    EXPECT_EQ(numbers[i], a[i] ? 20 : 11);
  }
}

TEST(Arithmetic, ConstantsKeepTheirBits) {
  CompiledKernel kernel(
      R"(kernel @k(@f: array<f64, 1>, @g: array<f32, 1>, @i: array<i64, 1>, @s: array<i32, 1>) threads 1 {
    store @f[0] = 0.1:f64
    store @f[1] = -inf:f64
    store @f[2] = 1e300:f64
    store @f[3] = -0.0:f64
    store @g[0] = 0.1
    store @g[1] = 16777216.0
    store @g[2] = nan
    store @i[0] = -9223372036854775808:i64
    store @s[0] = -2147483648
    %0: i32 = thread_index 0
    %1: i32 = sub %0, -5
    %2: i32 = neg -7
    store @s[1] = %1
    store @s[2] = %2
  })");
  std::vector<double> f(4);
  std::vector<float> g(3);
  std::vector<long> i(1);
  std::vector<int> s(3);
  kernel.run({1}, {array(f), array(g), array(i), array(s)});
  EXPECT_EQ(f, (std::vector{0.1, -std::numeric_limits<double>::infinity(), 1e300, -0.0}));
  EXPECT_TRUE(std::signbit(f[3]));
  EXPECT_EQ(g[0], 0.1f);
  EXPECT_EQ(g[1], 16777216.f);
  EXPECT_TRUE(std::isnan(g[2]));
  EXPECT_EQ(i[0], std::numeric_limits<long>::min());
  EXPECT_EQ(s, (std::vector{std::numeric_limits<int>::min(), 5, 7}));
}

}  // namespace
}  // namespace samite::test
