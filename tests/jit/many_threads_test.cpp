// Sixteen threads that launch, record, edit, replay, compile and prune at once, on kernels that they share and on some
// of their own. Each checks its numbers; ThreadSanitizer watches the rest.
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/toolchain/environment.h"

#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

namespace samite::test {
namespace {

using testing::ElementsAre;

constexpr int thread_count = 16;
constexpr int rounds = 6;

using ScaleKernel = Kernel<void(Array<float, 1>, Array<const float, 1>, Float)>;

ScaleKernel scale_kernel() {
  return {"scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
            Int i = thread_index();
            out(i) = factor * in(i);
          }};
}

// Runs `work(thread, round)` on all threads, which start together; rethrows the first exception.
void on_all_threads(const std::function<void(int thread, int round)> &work) {
  std::barrier begin(thread_count);
  std::mutex mutex;
  std::exception_ptr thrown;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread)
    threads.emplace_back([&, thread] {
      begin.arrive_and_wait();
      try {
        for (int round = 0; round < rounds; ++round) work(thread, round);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    });
  for (std::thread &thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

// A thread's use of a shared kernel: `task` selects one of the ways.
void use(const ScaleKernel &scale, const Device &device, int task, float factor) {
  Buffer<float> in{device, {3}, {1, 2, 3}}, out{device, {3}}, other{device, {3}};
  const auto expect = [&](const Buffer<float> &buffer, float by) {
    EXPECT_THAT(buffer.to_vector(), ElementsAre(by, 2 * by, 3 * by));
  };
  switch (task % 4) {
    case 0:
      scale.launch({3}, out, in, factor);
      expect(out, factor);
      break;
    case 1: {
      Launch launch = scale.record({3}, out, in, factor);
      launch.launch();
      launch.set("factor", factor + 1);
      launch.set("out", other);
      launch.launch();
      expect(out, factor);
      expect(other, factor + 1);
      break;
    }
    case 2: {
      Stream stream{device};
      Launch launch = scale.record({3}, {.stream = stream}, out, in, factor);
      Graph graph = capture(stream, [&] { launch.launch(); });
      graph.launch();
      expect(out, factor);
      launch.set("factor", factor + 2);
      graph.set(0, launch);
      graph.launch();
      expect(out, factor + 2);
      break;
    }
    default: {  // strides require another variant, which some thread compiles
      Buffer<float> wide{device, {6}, {1, 0, 2, 0, 3, 0}};
      scale.launch({3}, out, wide.slice(0, 0, 6, 2), factor);
      expect(out, factor);
    }
  }
}

TEST(ManyThreads, LaunchRecordEditCompileAndPruneOnTheCpu) {
  // A cache so small that each entry evicts others, while threads look for them.
  const TemporaryFolder folder;
  const EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path() / "cache"), limit("SAMITE_CACHE_LIMIT_MB", "1");
  const ScaleKernel shared = scale_kernel();
  on_all_threads([&](int thread, int round) {
    const float factor = static_cast<float>(1 + thread);
    use(shared, Device::cpu(), thread + round, factor);
    if (thread == 0) object_cache()->prune();
    if (thread == 1) object_cache()->clear();
    if (round != thread % rounds || thread % 4 != 0) return;
    // A kernel of the thread's own, whose text is unique, is destroyed immediately.
    const Kernel own{"own", {"y", "x"}, [=](Array<double, 1> y, Array<const double, 1> x) {
                       Int i = thread_index();
                       y(i) = static_cast<double>(factor) * x(i) * x(i);
                     }};
    Buffer<double> y(Device::cpu(), {2}, Gradient::tracked), x(Device::cpu(), {2}, {1, 2}, Gradient::tracked);
    auto [forward, adjoint] = own.record_with_adjoint({2}, y, x);
    forward.launch();
    y.gradient().fill(1);
    adjoint.launch();
    EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2 * factor, 4 * factor));
  });
}

class ManyThreadsOnCuda : public CudaKernelTest {};
SAMITE_CUDA_SUITE(ManyThreadsOnCuda);

TEST_P(ManyThreadsOnCuda, LaunchRecordEditCompileAndPrune) {
  understand<ScaleArguments>("scale", run_scale);
  const TemporaryFolder folder;
  const EnvironmentVariable cache("SAMITE_CACHE_DIR", folder.path() / "cache"), limit("SAMITE_CACHE_LIMIT_MB", "1");
  const ScaleKernel shared = scale_kernel();
  on_all_threads([&](int thread, int round) {
    const float factor = static_cast<float>(1 + thread);
    use(shared, device(), thread + round, factor);
    if (thread == 0) object_cache()->prune();
    if (thread == 1) object_cache()->clear();
    if (round != thread % rounds || thread % 4 != 0) return;
    const ScaleKernel own = scale_kernel();
    use(own, device(), thread, factor);
  });
}

}  // namespace
}  // namespace samite::test
