#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>

#include <thread>

namespace samite::test {
namespace {

using on_device::device;

// Compiles that really ran while `work` did: the disk cache is off, so that nothing hides one.
template <class Work>
int compiles(Work work) {
  EnvironmentVariable no_cache("SAMITE_CACHE_LIMIT_MB", "0");
  int before = host_compile_count();
  work();
  return host_compile_count() - before;
}

auto square_kernel(float factor) {
  return Kernel{"square", [=](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  y(i) = factor * x(i) * x(i);
                }};
}

TEST(CompileCount, ConstructingAKernelCompilesNothing) {
  SAMITE_ON_THE_CPU();
  EXPECT_EQ(compiles([] { square_kernel(1); }), 0);
}

TEST(CompileCount, AForwardLaunchCompilesTheForwardCodeAlone) {
  SAMITE_ON_THE_CPU();
  auto kernel = square_kernel(2);
  Buffer<float> y(device, {8}, Gradient::tracked), x(device, {8}, Gradient::tracked);
  EXPECT_EQ(compiles([&] {
              kernel.launch({8}, y, x);
              kernel.launch({4}, y, x);
              kernel.record({8}, y, x).launch();
            }),
            1);
  for (auto &variant : kernel.variants()) EXPECT_EQ(variant->key.direction, Direction::forward);
}

TEST(CompileCount, TheFirstAdjointLaunchCompilesTheAdjoint) {
  SAMITE_ON_THE_CPU();
  auto kernel = square_kernel(3);
  Buffer<float> y(device, {8}, Gradient::tracked), x(device, {8}, Gradient::tracked);
  Launch forward = kernel.record({8}, y, x);
  EXPECT_EQ(compiles([&] { kernel.launch({8}, {.direction = Direction::adjoint}, y, x); }), 1);
  EXPECT_EQ(compiles([&] { kernel.launch({8}, {.direction = Direction::adjoint}, y, x); }), 0);
}

TEST(CompileCount, ATapeCompilesAdjointsWhenItGoesBackwards) {
  SAMITE_ON_THE_CPU();
  auto kernel = square_kernel(4);
  Buffer<float> y(device, {1}, Gradient::tracked), x(device, {1}, {3}, Gradient::tracked);
  Tape tape;
  EXPECT_EQ(compiles([&] { tape.record([&] { kernel.launch({1}, y, x); }); }), 1);
  EXPECT_EQ(compiles([&] { tape.backward(y); }), 1);
  EXPECT_EQ(x.gradient().at(0), 24);
}

TEST(CompileCount, AChangedScalarCompilesNothing) {
  SAMITE_ON_THE_CPU();
  Kernel scale{"scale", {"y", "a"}, [](Array<float, 1> y, Float a) { y(thread_index()) *= a; }};
  Buffer<float> y(device, {1}, {1});
  Launch launch = scale.record({1}, y, 2.0f);
  EXPECT_EQ(compiles([&] {
              launch.set("a", 3.0f);
              launch.launch();
              scale.launch({1}, y, 4.0f);
            }),
            0);
  EXPECT_EQ(y.at(0), 12);
}

TEST(CompileCount, OtherInputsThatTrackGradientsAreAnotherAdjoint) {
  SAMITE_ON_THE_CPU();
  auto kernel = Kernel{"product", [](Array<float, 1> z, Array<const float, 1> x, Array<const float, 1> y) {
                         Int i = thread_index();
                         z(i) = x(i) * y(i);
                       }};
  Buffer<float> z(device, {1}, Gradient::tracked), tracked(device, {1}, Gradient::tracked), plain(device, {1});
  LaunchOptions adjoint{.direction = Direction::adjoint};
  Launch both = kernel.record({1}, adjoint, z, tracked, Buffer<float>(device, {1}, Gradient::tracked));
  Launch one = kernel.record({1}, adjoint, z, tracked, plain);
  EXPECT_LT(one.variant().text.source.size(), both.variant().text.source.size());
}

TEST(CompileCount, ThreadsThatAskForOneVariantGetOneCompile) {
  SAMITE_ON_THE_CPU();
  auto kernel = square_kernel(5);
  EXPECT_EQ(compiles([&] {
              std::vector<std::thread> threads;
              for (int t = 0; t < 4; ++t)
                threads.emplace_back([&] {
                  Buffer<float> y(device, {8}), x(device, {8});
                  kernel.launch({8}, y, x);
                });
              for (std::thread &thread : threads) thread.join();
            }),
            1);
}

}  // namespace
}  // namespace samite::test
