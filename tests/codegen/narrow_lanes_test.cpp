// Kernels of 8- and 16-bit integers, with as many lanes as fit a register: at each width of vectors, with all lanes and
// some of them, with neighbours, strides and gathers, branches, and numbers of other widths.
#include "tests/codegen/compiled_kernel.h"
#include "tests/toolchain/environment.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>

namespace samite::test {
namespace {

constexpr int widths[] = {16, 32, 64};
constexpr std::size_t most = 260;  // elements: four of the widest vectors, and some

// Runs `check` for each width that this machine has.
void at_each_width(const std::function<void(int bytes)> &check) {
  const int widest = host_target().vector_bytes;
  for (const int bytes : widths) {
    if (bytes > widest) continue;
    const EnvironmentVariable width("SAMITE_CPU_VECTOR_BYTES", std::to_string(bytes));
    SCOPED_TRACE(fmt::format("vectors of {} bytes", bytes));
    check(bytes);
  }
}

// The same arithmetic as a kernel and in C++: sums that wrap around, extremes, comparisons and shifts.
std::string arithmetic(const std::string &type) {
  std::string text = R"(kernel @k(@y: array<T, 1>, @a: array<const T, 1>, @b: array<const T, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: T = load @a[%0]
    %2: T = load @b[%0]
    %3: T = add %1, %2
    %4: T = mul %3, %2
    %5: T = max %4, %1
    %6: T = xor %5, %2
    %7: bool = lt %6, %1
    %8: T = select %7, %3, %6
    %9: T = shr %8, 1:T
    %10: T = sub %9, %2
    %11: T = div %10, %2
    %12: T = add %11, %10
    store @y[%0] = %12
  })";
  for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
  return text;
}
template <class T>
T in_cpp(T a, T b) {
  const T sum = static_cast<T>(a + b), product = static_cast<T>(static_cast<std::uint32_t>(sum) * b);
  const T mixed = static_cast<T>(std::max(product, a) ^ b);
  const T half = static_cast<T>((mixed < a ? sum : mixed) >> 1), rest = static_cast<T>(half - b);
  const T ratio = b == 0 ? T(0) : static_cast<T>(rest / b);
  return static_cast<T>(ratio + rest);
}

template <class T>
void expect_arithmetic(const std::string &type) {
  std::vector<T> a(most), b(most);
  for (std::size_t i = 0; i < most; ++i)
    a[i] = static_cast<T>(i * i * 31 + 7), b[i] = static_cast<T>(i % 5 == 0 ? 0 : i * 77);
  at_each_width([&](int bytes) {
    const CompiledKernel kernel(arithmetic(type));
    EXPECT_EQ(kernel.lanes(), bytes / static_cast<int>(sizeof(T)));
    for (const std::size_t n : {std::size_t{1}, std::size_t{15}, std::size_t{64}, std::size_t{65}, most - 1}) {
      std::vector<T> y(most, T(99));
      kernel.run({static_cast<long long>(n)}, {array(y), array(a), array(b)});
      for (std::size_t i = 0; i < most; ++i)
        ASSERT_EQ(+y[i], i < n ? +in_cpp(a[i], b[i]) : 99) << "element " << i << " of " << n;
    }
  });
}

TEST(NarrowLanes, OfEachType) {
  expect_arithmetic<std::uint8_t>("u8");
  expect_arithmetic<std::int8_t>("i8");
  expect_arithmetic<std::uint16_t>("u16");
  expect_arithmetic<std::int16_t>("i16");
}

// Each access comes with arithmetic of bytes, so that a register is full of them.
std::string with_accesses(const std::string &statements) {
  return R"(kernel @k(@y: array<u8, 1>, @x: array<const u8, 1>, @map: array<const i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: u8 = load @x[%0]
    %2: u8 = add %1, 3:u8
    %3: u8 = mul %2, %1
    %4: u8 = xor %3, %2
    %5: u8 = max %4, %1
    %6: u8 = sub %5, %2
    %7: u8 = min %6, %4
    %8: u8 = add %7, %5
    %9: u8 = mul %8, %6
    %10: u8 = xor %9, %7
    %11: u8 = add %10, %8
    %12: u8 = mul %11, %9
    %13: u8 = sub %12, %11
)" + statements +
         "}";
}
std::uint8_t of_byte(std::uint8_t x) {
  using Byte = std::uint8_t;
  const auto byte = [](int value) { return static_cast<Byte>(value); };
  const Byte a = byte(x + 3), b = byte(a * x), c = byte(b ^ a), d = std::max(c, x), e = byte(d - a), f = std::min(e, c),
             g = byte(f + d), h = byte(g * e), i = byte(h ^ f), j = byte(i + g), k = byte(j * h);
  return byte(k - j);
}

// `expected`: of element i, from the inputs.
void expect_accesses(const std::string &statements,
                     const std::function<int(std::size_t i, const std::vector<std::uint8_t> &x,
                                             const std::vector<std::int32_t> &map)> &expected) {
  std::vector<std::uint8_t> x(2 * most + 2);
  std::vector<std::int32_t> map(most);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
  for (std::size_t i = 0; i < most; ++i) map[i] = static_cast<std::int32_t>(i * 53 % most);
  at_each_width([&](int bytes) {
    const CompiledKernel kernel(with_accesses(statements));
    EXPECT_EQ(kernel.lanes(), bytes);
    for (const std::size_t n : {std::size_t{7}, std::size_t{128}, most - 1}) {
      std::vector<std::uint8_t> y(most, 99);
      kernel.run({static_cast<long long>(n)}, {array(y), array(x), array(map)});
      for (std::size_t i = 0; i < most; ++i)
        ASSERT_EQ(+y[i], i < n ? expected(i, x, map) : 99) << "element " << i << " of " << n;
    }
  });
}

TEST(NarrowLanes, OfEverySecondElement) {
  expect_accesses(
      "%20: i32 = mul %0, 2 %21: i32 = add %20, 1 %22: u8 = load @x[%21] %23: u8 = xor %13, %22 "
      "store @y[%0] = %23",
      [](std::size_t i, const auto &x, const auto &) { return of_byte(x[i]) ^ x[2 * i + 1]; });
}

TEST(NarrowLanes, OfElementsThatTwoLanesHave) {
  expect_accesses(
      "%20: i32 = add %0, 1 %21: i32 = shr %20, 1 %22: u8 = load @x[%21] %23: u8 = xor %13, %22 "
      "store @y[%0] = %23",
      [](std::size_t i, const auto &x, const auto &) { return of_byte(x[i]) ^ x[(i + 1) / 2]; });
}

TEST(NarrowLanes, OfElementsAnywhere) {
  expect_accesses("%20: i32 = load @map[%0] %21: u8 = load @x[%20] %22: u8 = xor %13, %21 store @y[%0] = %22",
                  [](std::size_t i, const auto &x, const auto &map) {
                    return of_byte(x[i]) ^ x[static_cast<std::size_t>(map[i])];
                  });
}

TEST(NarrowLanes, StoreAnywhere) {
  std::vector<std::uint8_t> x(most);
  std::vector<std::int32_t> map(most);
  for (std::size_t i = 0; i < most; ++i) x[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
  for (std::size_t i = 0; i < most; ++i) map[i] = static_cast<std::int32_t>(i * 53 % most);
  at_each_width([&](int bytes) {
    const CompiledKernel kernel(with_accesses("%20: i32 = load @map[%0] store @y[%20] = %13"));
    EXPECT_EQ(kernel.lanes(), bytes);
    constexpr std::size_t n = most - 3;
    std::vector<std::uint8_t> y(most, 99), expected(most, 99);
    for (std::size_t i = 0; i < n; ++i) expected[static_cast<std::size_t>(map[i])] = of_byte(x[i]);
    kernel.run({n}, {array(y), array(x), array(map)});
    EXPECT_EQ(y, expected);
  });
}

TEST(NarrowLanes, WithWiderNumbersBeside) {
  expect_accesses(
      "%20: f32 = cast %13 %21: f32 = sqrt %20 %22: u8 = cast %21 %23: bool = gt %13, 100:u8 "
      "if %23 { store @y[%0] = %22 } else { store @y[%0] = %13 }",
      [](std::size_t i, const auto &x, const auto &) {
        const std::uint8_t byte = of_byte(x[i]);
        return byte > 100 ? static_cast<int>(std::sqrt(static_cast<float>(byte))) : byte;
      });
}

// Computations in only 32 bits have as many lanes as those fit.
TEST(NarrowLanes, AreNoneWhereBytesAreLoadedAlone) {
  at_each_width([](int bytes) {
    const CompiledKernel kernel(R"(kernel @k(@y: array<f32, 1>, @x: array<const u8, 1>) threads 1 {
      %0: i32 = thread_index 0
      %1: u8 = load @x[%0]
      %2: f32 = cast %1
      %3: f32 = mul %2, %2
      %4: f32 = sqrt %3
      %5: f32 = add %4, %3
      %6: f32 = mul %5, %2
      store @y[%0] = %6
    })");
    EXPECT_EQ(kernel.lanes(), bytes / 4);
  });
}

}  // namespace
}  // namespace samite::test
