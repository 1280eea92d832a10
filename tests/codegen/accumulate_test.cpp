// Accumulations and exchanges of many instances at once.
#include "tests/codegen/compiled_kernel.h"

#include "samite/ir/visit.h"

#include <gmock/gmock.h>

#include <thread>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Accumulate, ASumOverAllInstancesIsOneAtomicStepForABox) {
  const CompiledKernel kernel(
      R"(kernel @k(@loss: array<f32, 1>, @count: array<i32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: bool = gt %1, 10.0
    if %2 {
      accumulate atomic @loss[1] += %1
      accumulate atomic @count[0] += 1
    }
  })");
  EXPECT_THAT(kernel.source().text, HasSubstr("atomic_add<f32>(&p0.data[1], sum_lanes<f32>(all_lanes(), sum0))"));
}

TEST(Accumulate, IntoOneElement) {
  // The second kernel also reads the sums, so that they must be up to date all along.
  for (const char *read : {"", "%3: f32 = load @loss[0] %4: i32 = load @count[0]"}) {
    const CompiledKernel kernel(
        std::string(R"(kernel @k(@loss: array<f32, 1>, @count: array<i32, 1>, @x: array<const f32, 1>) threads 1 {
      %0: i32 = thread_index 0
      %1: f32 = load @x[%0]
      %2: bool = gt %1, 10.0
      if %2 {
        accumulate atomic @loss[1] += %1
        accumulate atomic @count[0] += 1
      }
    )") +
        read + "}");
    for (int n : {0, 5, 16, 131}) {
      std::vector<float> x(n), loss{1, 2};
      std::vector<int> count{100};
      float sum = 2;
      int counted = 100;
      for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i * 7 % 23);
        if (x[i] > 10) sum += x[i], ++counted;
      }
      kernel.run({n}, {array(loss), array(count), array(x)});
      EXPECT_EQ(loss[0], 1);
      EXPECT_EQ(loss[1], sum);
      EXPECT_EQ(count[0], counted);
    }
  }
}

TEST(Accumulate, AnElementThatNoInstanceReachesIsNotTouched) {
  const CompiledKernel kernel(R"(kernel @k(@loss: array<f32, 1>, @where: i32) threads 1 {
    %0: i32 = thread_index 0
    %1: bool = lt %0, 0
    if %1 {
      accumulate atomic @loss[@where] += 1.0
    }
  })");
  kernel.run({100}, {array(std::vector<float>(1)), scalar(1 << 30)});
}

template <class T>
class Histogram : public testing::Test {};
using Elements = testing::Types<std::int32_t, std::uint64_t, float, double, std::int8_t>;
TYPED_TEST_SUITE(Histogram, Elements);

TYPED_TEST(Histogram, ManyThreadsAndLanesAtTheSameElements) {
  using T = TypeParam;
  std::string text =
      R"(kernel @k(@bins: array<T, 1>, @neighbours: array<T, 1>, @at: array<const i32, 1>, @one: T) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = load @at[%0]
    accumulate atomic @bins[%1] += @one
    accumulate atomic @neighbours[%0] += @one
  })";
  const std::string type(name(scalar_type_of<T>));
  for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
  const CompiledKernel kernel(text);
  const int n = 3001, threads = 4;
  std::vector<int> at(n);
  std::vector<T> bins(200), expected(200), neighbours(n);
  for (int i = 0; i < n; ++i) {
    at[i] = i * i % 200;
    expected[at[i]] = static_cast<T>(expected[at[i]] + threads);
  }
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&] { kernel.run({n}, {array(bins), array(neighbours), array(at), scalar(T(1))}); });
  for (std::thread &thread : running) thread.join();
  EXPECT_EQ(bins, expected);
  EXPECT_EQ(neighbours, std::vector<T>(n, T(threads)));
}

TEST(Accumulate, PlainWhereIndicesAreOneToOne) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<f32, 1>, @b: array<f32, 1>, @at: array<const i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = load @at[%0]
    accumulate @a[%0] += 2.0
    accumulate @b[%1] += 3.0
  })");
  EXPECT_THAT(kernel.source().text, Not(HasSubstr("atomic")));
  std::vector<float> a(53, 1), b(53, 1);
  std::vector<int> at(53);
  for (int i = 0; i < 53; ++i) at[i] = i * 10 % 53;
  kernel.run({53}, {array(a), array(b), array(at)});
  EXPECT_EQ(a, std::vector<float>(53, 3));
  EXPECT_EQ(b, std::vector<float>(53, 4));
}

TEST(Accumulate, OneElementForEachTripOfALoop) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<f64, 1>, @x: array<const f64, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f64 = load @x[%0]
    for %2: i32 in 0 .. 3 step 1 {
      accumulate atomic @a[%2] += %1
    }
  })");
  std::vector<double> a(4), x(77);
  double sum = 0;
  for (int i = 0; i < 77; ++i) sum += x[i] = i;
  kernel.run({77}, {array(a), array(x)});
  EXPECT_EQ(a, (std::vector<double>{sum, sum, sum, 0}));
}

constexpr const char *take_text =
    R"(kernel @k(@g: array<f32, 1>, @out: array<f32, 1>, @at: array<const i32, 1>) threads 1 {
  %0: i32 = thread_index 0
  %1: i32 = load @at[%0]
  %2: f32 = exchange @g[INDEX]
  store @out[%0] = %2
})";

ir::Kernel take_kernel(const std::string &index, int attribute) {
  std::string text = take_text;
  text.replace(text.find("INDEX"), 5, index);
  ir::Kernel kernel = ir::parse_kernel(text);
  for (ir::Stmt &stmt : kernel.body) {
    const ir::Let *let = stmt.as<ir::Let>();
    if (!let || let->value.op != ir::Op::Exchange) continue;
    ir::Let changed = *let;
    changed.value.attribute = attribute;
    stmt = ir::Stmt(changed, stmt.where());
  }
  return kernel;
}

TEST(Exchange, TakesWhatIsThereOnce) {
  const int n = 45;
  std::vector<int> at(n);
  for (int i = 0; i < n; ++i) at[i] = i / 2 * 2;
  auto run = [&](const std::string &index, int attribute) {
    std::vector<float> g(n), out(n, -1);
    for (int i = 0; i < n; ++i) g[i] = static_cast<float>(i + 1);
    CompiledKernel(take_kernel(index, attribute)).run({n}, {array(g), array(out), array(at)});
    std::vector<float> both = g;
    both.insert(both.end(), out.begin(), out.end());
    return both;
  };
  for (int attribute : {0, 1}) {
    const std::vector<float> own = run("%0", attribute);
    for (int i = 0; i < n; ++i) EXPECT_TRUE(own[i] == 0 && own[n + i] == i + 1) << i;
    const std::vector<float> one = run("3", attribute);
    for (int i = 0; i < n; ++i) EXPECT_TRUE(one[i] == (i == 3 ? 0 : i + 1) && one[n + i] == (i == 0 ? 4 : 0)) << i;
  }
  const std::vector<float> shared = run("%1", 0);
  for (int i = 0; i < n; ++i)
    EXPECT_TRUE(shared[i] == (i % 2 ? i + 1 : 0) && shared[n + i] == (i % 2 ? 0 : i + 1)) << i;
}

TEST(Exchange, IsPlainWhereIndicesAreOneToOne) {
  EXPECT_THAT(CompiledKernel(take_kernel("%0", 1)).source().text, Not(HasSubstr("atomic")));
  EXPECT_THAT(CompiledKernel(take_kernel("%0", 0)).source().text, HasSubstr("atomic_take"));
}

}  // namespace
}  // namespace samite::test
