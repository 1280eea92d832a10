// Atomic operations by one lane after another: on one element, on neighbours and anywhere.
#include "tests/codegen/compiled_kernel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

namespace samite::test {
namespace {

using testing::ElementsAre;

// `step` on an element that the kernel's text names; the old values go to @old.
std::string kernel_text(const std::string &type, const std::string &element, const std::string &step) {
  return "kernel @k(@a: array<" + type + ", 1>, @old: array<" + type + ", 1>, @x: array<const " + type +
         ", 1>) threads 1 { %0: i32 = thread_index 0  %1: " + type +
         " = load @x[%0]  %2: i32 = rem %0, 3  %3: " + type + " = " + step + " @a[" + element +
         "], %1  store @old[%0] = %3 }";
}

template <class T>
struct Result {
  std::vector<T> a, old;
};

template <class T>
Result<T> run_atomics(const std::string &type, const std::string &element, const std::string &step, std::vector<T> a,
                      const std::vector<T> &x) {
  const CompiledKernel kernel(kernel_text(type, element, step));
  std::vector<T> old(x.size());
  kernel.run({static_cast<long long>(x.size())}, {array(a), array(old), array(x)});
  return {a, old};
}

// Within one box instances come in order, so that the old values are those of a loop.
template <class T, class Combine>
void expect_as_in_a_loop(const std::string &type, const std::string &step, const std::vector<T> &x, Combine combine) {
  for (const char *element : {"1", "%0", "%2"}) {
    std::vector<T> a(40);
    std::iota(a.begin(), a.end(), T{3});
    std::vector<T> expected = a, old;
    for (std::size_t i = 0; i < x.size(); ++i) {
      T &place = expected[element == std::string("1") ? 1 : element == std::string("%0") ? i : i % 3];
      old.push_back(place);
      place = combine(place, x[i]);
    }
    const Result<T> result = run_atomics(type, element, step, a, x);
    EXPECT_EQ(result.a, expected) << step << " of " << type << " at " << element;
    EXPECT_EQ(result.old, old) << step << " of " << type << " at " << element;
  }
}

template <class T>
void expect_arithmetic(const std::string &type) {
  std::vector<T> x;
  for (int i = 0; i < 37; ++i) x.push_back(static_cast<T>(i * 7 % 11));
  expect_as_in_a_loop(type, "atomic_add", x, [](T a, T b) { return static_cast<T>(a + b); });
  expect_as_in_a_loop(type, "atomic_min", x, [](T a, T b) { return std::min(a, b); });
  expect_as_in_a_loop(type, "atomic_max", x, [](T a, T b) { return std::max(a, b); });
  expect_as_in_a_loop(type, "atomic_exchange", x, [](T, T b) { return b; });
}

TEST(Atomic, ArithmeticAndExchangesOfEveryType) {
  expect_arithmetic<std::int8_t>("i8");
  expect_arithmetic<std::int16_t>("i16");
  expect_arithmetic<std::int32_t>("i32");
  expect_arithmetic<std::int64_t>("i64");
  expect_arithmetic<std::uint8_t>("u8");
  expect_arithmetic<std::uint16_t>("u16");
  expect_arithmetic<std::uint32_t>("u32");
  expect_arithmetic<std::uint64_t>("u64");
  expect_arithmetic<float>("f32");
  expect_arithmetic<double>("f64");
}

template <class T>
void expect_bits(const std::string &type) {
  std::vector<T> x;
  for (int i = 0; i < 37; ++i) x.push_back(static_cast<T>(i * 7 % 11 + 4));
  expect_as_in_a_loop(type, "atomic_and", x, [](T a, T b) { return static_cast<T>(a & b); });
  expect_as_in_a_loop(type, "atomic_or", x, [](T a, T b) { return static_cast<T>(a | b); });
  expect_as_in_a_loop(type, "atomic_xor", x, [](T a, T b) { return static_cast<T>(a ^ b); });
}

TEST(Atomic, BitsOfIntegers) {
  expect_bits<std::int8_t>("i8");
  expect_bits<std::uint16_t>("u16");
  expect_bits<std::int32_t>("i32");
  expect_bits<std::uint64_t>("u64");
}

TEST(Atomic, BitsAndExchangesOfBools) {
  // std::vector<bool> has no array of bool inside.
  bool a[3] = {false, true, false}, old[5] = {}, x[5] = {true, false, true, false, true};
  auto array_of = [](bool *data, long long n) { return strided(data, {n}, {1}); };
  const CompiledKernel kernel(kernel_text("bool", "%2", "atomic_xor"));
  kernel.run({5}, {array_of(a, 3), array_of(old, 5), array_of(x, 5)});
  EXPECT_THAT(old, ElementsAre(false, true, false, true, true));
  EXPECT_THAT(a, ElementsAre(true, false, true));

  const CompiledKernel exchange(kernel_text("bool", "1", "atomic_exchange"));
  exchange.run({5}, {array_of(a, 3), array_of(old, 5), array_of(x, 5)});
  EXPECT_THAT(old, ElementsAre(false, true, false, true, false));
  EXPECT_THAT(a, ElementsAre(true, true, true));
}

TEST(Atomic, MinimumAndMaximumOfANumberAndANaNAreTheNumber) {
  const float nan = __builtin_nanf("");
  EXPECT_THAT(run_atomics<float>("f32", "0", "atomic_max", {nan}, {2, nan, 1}).a, ElementsAre(2));
  EXPECT_THAT(run_atomics<float>("f32", "0", "atomic_min", {3}, {nan, 2, nan}).a, ElementsAre(2));
}

TEST(Atomic, CompareExchangeStoresWhereTheBitsAreEqual) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<f32, 1>, @old: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: f32 = atomic_compare_exchange @a[0], %1, 7.0
    store @old[%0] = %2
  })");
  std::vector<float> a{-0.f}, old(4), x{1, 0, -0.f, 3};
  kernel.run({4}, {array(a), array(old), array(x)});
  EXPECT_THAT(old, ElementsAre(0, 0, 0, 7));  // the zero before was a negative one: only the third found it
  EXPECT_THAT(a, ElementsAre(7));
}

TEST(Atomic, OnlyActiveLanesTakePart) {
  const CompiledKernel kernel(R"(kernel @k(@count: array<i32, 1>, @place: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = rem %0, 2
    %2: bool = eq %1, 0
    if %2 {
      %3: i32 = atomic_add @count[0], 1
      store @place[%0] = %3
    }
  })");
  std::vector<int> count{10}, place(7, -1);
  kernel.run({7}, {array(count), array(place)});
  EXPECT_EQ(count[0], 14);
  EXPECT_THAT(place, ElementsAre(10, -1, 11, -1, 12, -1, 13));
}

TEST(Atomic, AnIndexOutsideIsReportedInDebugMode) {
  for (const char *element : {"5", "%0", "%2"}) {
    const CompiledKernel kernel(kernel_text("i32", element, "atomic_add"), options(true, false, true));
    std::vector<int> a{1, 2}, old(5, -1), x(5, 1);
    const codegen::Failure failure = kernel.run({5}, {array(a), array(old), array(x)});
    EXPECT_EQ(failure.kind, codegen::FailureKind::index_out_of_bounds);
    EXPECT_EQ(old[4], element == std::string("%2") ? a[1] - 1 : 0);
  }
}

TEST(Atomic, ManyThreadsGetEachPlaceOnce) {
  const CompiledKernel kernel(
      R"(kernel @k(@count: array<i32, 1>, @place: array<i32, 1>, @top: array<f64, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = atomic_add @count[0], 1
    store @place[%0] = %1
    %2: f64 = cast %0
    %3: f64 = atomic_max @top[0], %2
  })");
  constexpr int threads = 4, each = 5000;
  std::vector<int> count{0}, place(threads * each);
  std::vector<double> top{-1};
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back(
          [&, t] { kernel.run_box({t * each}, {(t + 1) * each}, {array(count), array(place), array(top)}); });
  }
  EXPECT_EQ(count[0], threads * each);
  EXPECT_EQ(top[0], threads * each - 1);
  EXPECT_EQ(std::set<int>(place.begin(), place.end()).size(), place.size());
}

}  // namespace
}  // namespace samite::test
