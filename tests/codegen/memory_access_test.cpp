// The addresses of loads and stores: whole vectors, gathers, strides, offsets that need 64 bits, and memory that must
// not be touched.
#include "tests/codegen/compiled_kernel.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <numeric>

namespace samite::test {
namespace {

constexpr const char *axpy_in_place = R"(kernel @axpy(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0]
  %2: f32 = load @y[%0]
  %3: f32 = mul %1, @a
  %4: f32 = add %3, %2
  store @y[%0] = %4
})";

TEST(MemoryAccess, EveryLengthFromOneToTwoVectors) {
  const CompiledKernel kernel(axpy_in_place);
  for (long long n = 0; n <= 2 * kernel.lanes() + 1; ++n) {
    std::vector<float> x(64), y(64, 1.f);
    std::iota(x.begin(), x.end(), 0.f);
    kernel.run({n}, {array(y), array(x), scalar(2.f)});
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], static_cast<long long>(i) < n ? 1 + 2 * x[i] : 1) << "element " << i << " of " << n;
  }
}

TEST(MemoryAccess, ABoxTouchesNothingOutsideOfIt) {
  const CompiledKernel kernel(axpy_in_place);
  std::vector<float> x(100, 1.f), y(100, 0.f);
  kernel.run_box({13}, {57}, {array(y), array(x), scalar(1.f)});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i >= 13 && i < 57 ? 1 : 0) << i;
}

// A page that may not be touched follows the array: lanes beyond its end must not even read.
TEST(MemoryAccess, NothingIsReadBeyondTheEnd) {
  const std::size_t page = 4096;
  auto *pages =
      static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  const CompiledKernel dense(axpy_in_place), apart(axpy_in_place, options(false));
  for (int n = 1; n < 40; ++n) {
    const auto *end = reinterpret_cast<float *>(pages + page);
    for (const CompiledKernel *kernel : {&dense, &apart})
      kernel->run({n}, {strided(end - n, {n}, {1}), strided(end - n, {n}, {1}), scalar(1.f)});
  }
  munmap(pages, 2 * page);
}

// Every second element: two vectors contain them if all lanes are active, from the first lane's to the last one's.
template <class T>
void expect_every_second(const std::string &type) {
  const CompiledKernel kernel(fmt::format(R"(kernel @halve(@y: array<{0}, 1>, @x: array<const {0}, 1>) threads 1 {{
    %0: i32 = thread_index 0
    %1: i32 = mul %0, 2
    %2: i32 = add %1, 1
    %3: {0} = load @x[%2]
    store @y[%0] = %3
  }})",
                                          type));
  const std::size_t page = 4096;
  auto *pages =
      static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
  auto *first = reinterpret_cast<T *>(pages + page), *end = reinterpret_cast<T *>(pages + 2 * page);
  std::iota(first, end, T(1));
  for (int n = 1; n < 70; ++n) {
    std::vector<T> y(70, T(0));
    kernel.run({n}, {array(y), strided(first - 1, {2 * n}, {1})});  // element 0 is not read
    for (int i = 0; i < 70; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], i < n ? T(2 * i + 1) : T(0)) << i << type;
    kernel.run({n}, {array(y), strided(end - 2 * n, {2 * n}, {1})});
    for (int i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], end[-2 * n + 2 * i + 1]) << i << type;
  }
  munmap(pages, 3 * page);
}

TEST(MemoryAccess, EverySecondElement) {
  expect_every_second<float>("f32");
  expect_every_second<double>("f64");
  expect_every_second<std::int32_t>("i32");
  expect_every_second<std::int64_t>("i64");
  expect_every_second<std::int16_t>("i16");
}

// Each element by two lanes, from halves of vectors. The first lane is the first or the second one of its element.
template <class T>
void expect_each_twice(const std::string &type) {
  const CompiledKernel kernel(
      fmt::format(R"(kernel @double(@y: array<{0}, 1>, @x: array<const {0}, 1>, @second: i32) threads 1 {{
    %0: i32 = thread_index 0
    %1: i32 = add %0, @second
    %2: i32 = shr %1, 1
    %3: i32 = sub %2, 1
    %4: {0} = load @x[%3]
    store @y[%0] = %4
  }})",
                  type));
  const std::size_t page = 4096;
  auto *pages =
      static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
  auto *first = reinterpret_cast<T *>(pages + page), *end = reinterpret_cast<T *>(pages + 2 * page);
  std::iota(first, end, T(1));
  for (int n = 1; n < 70; ++n)
    for (const int second : {0, 1}) {
      const int read = (n - 1 + second) / 2 + 1;
      for (T *x : {first, end - read}) {
        std::vector<T> y(70, T(0));
        kernel.run({n}, {array(y), strided(x + 1, {read}, {1}), scalar(second)});
        for (int i = 0; i < 70; ++i)
          ASSERT_EQ(y[static_cast<std::size_t>(i)], i < n ? x[(i + second) / 2] : T(0)) << i << " of " << n << type;
      }
    }
  munmap(pages, 3 * page);
}

TEST(MemoryAccess, EachElementTwice) {
  expect_each_twice<float>("f32");
  expect_each_twice<double>("f64");
  expect_each_twice<std::int32_t>("i32");
  expect_each_twice<std::int64_t>("i64");
  expect_each_twice<std::int16_t>("i16");
}

TEST(MemoryAccess, StridesMayBeAnything) {
  for (bool wide : {false, true}) {
    const CompiledKernel kernel(axpy_in_place, options(false, wide));
    std::vector<float> x(200), y(200, 0.f);
    std::iota(x.begin(), x.end(), 0.f);
    kernel.run({50}, {strided(y.data() + 150, {50}, {-3}), strided(x.data(), {50}, {4}), scalar(1.f)});
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(y[150 - 3 * i], x[4 * i]);
    const CompiledKernel spread(axpy_in_place, options(false, wide));
    std::vector<float> z(50, 1.f);
    spread.run({50}, {strided(z.data(), {50}, {1}), strided(x.data() + 7, {50}, {0}), scalar(1.f)});
    EXPECT_EQ(z, std::vector<float>(50, 8.f));
  }
}

TEST(MemoryAccess, OffsetsBeyondTwoToTheThirtyOne) {
  // Address space without memory behind it, except for the pages that are touched.
  const long long far = 3ll << 30;
  auto *base = static_cast<unsigned char *>(mmap(nullptr, static_cast<std::size_t>(far + 4096), PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(base, MAP_FAILED);
  const CompiledKernel kernel(R"(kernel @k(@a: array<u8, 2>, @rows: array<const i64, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i64 = load @rows[%0]
    %2: u8 = load @a[%1, 5]
    %3: u8 = add %2, 1:u8
    store @a[%1, 6] = %3
  })",
                              options(true, true));
  const std::vector<long> rows{3, 0, 2};
  base[5] = 10, base[far / 3 * 2 + 5] = 20, base[far + 5] = 30;
  kernel.run({3}, {strided(base, {4, 16}, {far / 3, 1}), array(rows)});
  EXPECT_EQ(base[6], 11);
  EXPECT_EQ(base[far / 3 * 2 + 6], 21);
  EXPECT_EQ(base[far + 6], 31);
  munmap(base, static_cast<std::size_t>(far + 4096));
}

TEST(MemoryAccess, AStencilInTwoDimensions) {
  const CompiledKernel kernel(
      R"(kernel @diffuse(@next: array<f32, 2>, @now: array<const f32, 2>, @rate: f32) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: i32 = extent @now, 0
    %3: i32 = extent @now, 1
    %4: i32 = sub %2, 1
    %5: i32 = sub %3, 1
    %6: bool = gt %0, 0
    %7: bool = lt %0, %4
    %8: bool = gt %1, 0
    %9: bool = lt %1, %5
    %10: bool = and %6, %7
    %11: bool = and %8, %9
    %12: bool = and %10, %11
    if %12 {
      %13: i32 = sub %0, 1
      %14: i32 = add %0, 1
      %15: i32 = sub %1, 1
      %16: i32 = add %1, 1
      %17: f32 = load @now[%13, %1]
      %18: f32 = load @now[%14, %1]
      %19: f32 = load @now[%0, %15]
      %20: f32 = load @now[%0, %16]
      %22: f32 = add %17, %18
      %23: f32 = add %22, %19
      %24: f32 = add %23, %20
      store @next[%0, %1] = %24
    }
  })");
  const int rows = 9, columns = 37;
  std::vector<float> now(rows * columns), next(rows * columns, -1.f);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<float>(i * i % 101);
  kernel.run({rows, columns}, {array(next, {rows, columns}), array(now, {rows, columns}), scalar(1.f)});
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      const int at = y * columns + x;
      const bool inside = y > 0 && y < rows - 1 && x > 0 && x < columns - 1;
      EXPECT_EQ(next[at], inside ? now[at - columns] + now[at + columns] + now[at - 1] + now[at + 1] : -1);
    }
  }
}

TEST(MemoryAccess, TransposedAndDiagonal) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 2>, @in: array<const i32, 2>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: i32 = load @in[%1, %0]
    %3: i32 = load @in[%1, %1]
    %4: i32 = add %2, %3
    store @out[%0, %1] = %4
  })");
  const int n = 21;
  std::vector<int> in(n * n), out(n * n);
  std::iota(in.begin(), in.end(), 0);
  kernel.run({n, n}, {array(out, {n, n}), array(in, {n, n})});
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) EXPECT_EQ(out[y * n + x], in[x * n + y] + in[x * n + x]);
}

TEST(MemoryAccess, GatherAndScatter) {
  for (bool wide : {false, true}) {
    const CompiledKernel kernel(
        R"(kernel @k(@out: array<f64, 1>, @flags: array<bool, 1>, @in: array<const f64, 1>, @at: array<const i32, 1>) threads 1 {
      %0: i64 = thread_index 0
      %1: i32 = load @at[%0]
      %2: f64 = load @in[%1]
      store @out[%1] = %2
      %3: bool = load @flags[%1]
      %4: bool = not %3
      store @flags[%1] = %4
    })",
        options(true, wide));
    const int n = 101;
    std::vector<double> in(n), out(n);
    std::vector<unsigned char> flags(n, 1);
    std::vector<int> at(n);
    for (int i = 0; i < n; ++i) in[i] = 0.5 * i, at[i] = i * 37 % n;
    kernel.run({n}, {array(out), array(flags), array(in), array(at)});
    EXPECT_EQ(out, in);
    EXPECT_EQ(flags, std::vector<unsigned char>(n, 0));
  }
}

TEST(MemoryAccess, OfSeveralInstancesAtOneElementTheLastWins) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>, @in: array<const i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    store @out[0] = %0
    %1: i32 = load @in[%0]
    %2: bool = lt %1, 50
    if %2 {
      store @out[1] = %1
      store @out[2] = 7
    }
    %3: i32 = and %1, 3
    store @out[%3] = %1
  })");
  std::vector<int> in(45), out(4, -1);
  for (int i = 0; i < 45; ++i) in[i] = 4 * (i * 29 % 45) + 3;
  int expected[4] = {-1, -1, -1, -1};
  for (int i = 0; i < 45; ++i) {
    expected[0] = i;
    if (in[i] < 50) expected[1] = in[i], expected[2] = 7;
    expected[in[i] & 3] = in[i];
  }
  kernel.run({45}, {array(out), array(in)});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST(MemoryAccess, FourDimensions) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i64, 4>) threads 4 {
    %0: i64 = thread_index 0
    %1: i32 = thread_index 1
    %2: i64 = thread_index 2
    %3: i32 = thread_index 3
    %4: i64 = cast %1
    %5: i64 = cast %3
    %6: i64 = mul %0, 1000:i64
    %7: i64 = mul %4, 100:i64
    %8: i64 = mul %2, 10:i64
    %9: i64 = add %6, %7
    %10: i64 = add %9, %8
    %11: i64 = add %10, %5
    store @out[%0, %1, %2, %3] = %11
  })");
  std::vector<long> out(2 * 3 * 4 * 9);
  kernel.run({2, 3, 4, 9}, {array(out, {2, 3, 4, 9})});
  for (long i = 0; i < 216; ++i) EXPECT_EQ(out[i], i / 108 * 1000 + i / 36 % 3 * 100 + i / 9 % 4 * 10 + i % 9);
}

}  // namespace
}  // namespace samite::test
