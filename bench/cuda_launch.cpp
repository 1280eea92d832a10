// The host's cost of a launch on CUDA. Peer: the driver's own call for the same kernel and the same parameters, in the
// same process. Without a GPU there is nothing to measure.
#include "samite/codegen/cuda_launch.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/driver/graph_executable.h"
#include "samite/driver/tensor_map_cache.h"
#include "samite/jit/cuda_code.h"
#include "samite/jit/definition.h"
#include "samite/jit/launch_access.h"
#include "samite/jit/launch_tensor_maps.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

using namespace samite;

namespace {

using Input = Array<const float, 1>;
// cuLaunchKernel, which Samite itself does not use.
using LaunchKernel = int (*)(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,
                             void **extra);

LaunchKernel launch_kernel() {
  return reinterpret_cast<LaunchKernel>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuLaunchKernel"));
}

// The queue must not fill up: then a launch would wait for the device.
constexpr int calls_in_queue = 400;

// A failing peer would be timed as well: the time would be that of the failure. Each call is tried once before it is
// measured.
void require_success(const char *call, driver::Result code) {
  if (code != driver::Result::success)
    throw std::runtime_error(
        fmt::format("{} failed with {}: there is nothing to compare with", call, static_cast<int>(code)));
}

// The parameters of a recorded launch as the driver's call takes them.
struct Raw {
  explicit Raw(const Launch &launch)
      : kernel(launch.variant().gpu.code->on(CudaDevice::of(0)->context())),
        arguments(jit::LaunchAccess::arguments(launch)),
        maps(jit::launch_tensor_maps(launch.variant(), arguments, CudaDevice::of(0)->tensor_maps(), {})),
        threads(static_cast<unsigned>(std::max(launch.variant().gpu.form.tile_threads, 1))),
        shared(static_cast<unsigned>(launch.variant().gpu.tile_memory.bytes)) {
    for (int d = 0; d < launch.extents().rank(); ++d) box.end[d] = launch.extents()[d];
    stream = launch.stream().native();
  }
  void **parameters() {
    addresses = {const_cast<std::byte *>(arguments), &box, &channel, &workspace, maps.data()};
    return addresses.data();
  }

  driver::Kernel kernel;
  const std::byte *arguments;
  std::vector<driver::TensorMapBits> maps;
  unsigned threads, shared;
  codegen::CudaBox box;
  void *channel = nullptr;
  codegen::CudaWorkspace workspace;
  void *stream;
  std::array<void *, 5> addresses;
};

template <class K, class... B>
void measure(bench::Report &report, const std::string &what, Direction direction, const K &kernel,
             const B &...buffers) {
  const LaunchOptions options{.direction = direction};
  Launch recorded = kernel.record({1}, options, buffers...);
  Raw raw(recorded);
  const LaunchKernel call = launch_kernel();
  auto peer = [&] {
    if (call(raw.kernel.launchable(), 1, 1, 1, raw.threads, 1, 1, raw.shared, raw.stream, raw.parameters(), nullptr) !=
        0)
      throw std::runtime_error("cuLaunchKernel failed");
  };
  const bench::Contest contest{
      .rounds = 101, .calls = calls_in_queue, .prepare = [] { Device::cuda(0).synchronize(); }};
  auto add = [&](const char *how, double reach, const auto &ours) {
    const bench::Outcome outcome = bench::alternate(contest, ours, peer);
    report.add({fmt::format("{} {}, {}", how, name(direction), what), "host time of a launch", outcome.ours * 1e6, "us",
                "cuLaunchKernel", outcome.peer * 1e6},
               {.ratio_at_least = reach});
  };
  add("recorded", 1 / 1.05, [&] { recorded.launch(); });
  add("ordinary", 1 / 1.5, [&] { kernel.launch({1}, options, buffers...); });
}

// One block, with a main loop without iterations: the launch passes two tensor maps.
void measure_with_tensor_maps(bench::Report &report) {
  const TileKernel kernel{"product",
                          [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c, Int steps) {
                            Int i = block_index();
                            Tile<float> sum = tile::zeros<float>({64, 64});
                            for (Int k : range(steps, pipelined(2)))
                              tile::matmul(tile::load(a, {i, k}, {64, 64}), tile::load(b, {k, 0}, {64, 64}), sum);
                            tile::store(c, {i, 0}, sum);
                          },
                          TileOptions{.threads = 128}};
  const Buffer<half> a{Device::cuda(0), {64, 64}}, b{Device::cuda(0), {64, 64}};
  const Buffer<float> c{Device::cuda(0), {64, 64}};
  const std::size_t maps = kernel.record({1}, a, b, c, 0).variant().gpu.tensor_maps.size();
  measure(report, fmt::format("{} tensor maps", maps), Direction::forward, kernel, a, b, c, 0);
}

// Peer: a graph of the same nodes, made and launched with the driver's calls.
template <class K, class B>
void measure_graph(bench::Report &report, const K &kernel, const B &y, const B &x) {
  constexpr int launches = 1000;
  const Stream stream{Device::cuda(0)};
  Launch recorded = kernel.record({1}, {.stream = stream}, y, x);
  Graph graph = capture(stream, [&] {
    for (int i = 0; i < launches; ++i) recorded.launch();
  });

  Raw raw(recorded);
  const driver::Context context = CudaDevice::of(0)->context();
  const driver::EntryPoints &cuda = context.driver().table();
  driver::CUgraph by_hand = nullptr;
  driver::CUgraphExec executable = nullptr;
  driver::KernelNodeParameters node_parameters{.function = nullptr,
                                               .grid_x = 1,
                                               .grid_y = 1,
                                               .grid_z = 1,
                                               .block_x = 1,
                                               .block_y = 1,
                                               .block_z = 1,
                                               .shared_bytes = 0,
                                               .parameters = raw.parameters(),
                                               .extra = nullptr,
                                               .kernel = raw.kernel.raw(),
                                               .context = context.raw()};
  context.call<driver::Entry::GraphCreate>(&by_hand, 0u);
  driver::CUgraphNode last = nullptr;
  for (int i = 0; i < launches; ++i) {
    driver::CUgraphNode node = nullptr;
    context.call<driver::Entry::GraphAddKernelNode>(
        &node, by_hand, static_cast<const driver::CUgraphNode *>(&last), std::size_t{i > 0},
        static_cast<const driver::KernelNodeParameters *>(&node_parameters));
    last = node;
  }
  context.call<driver::Entry::GraphInstantiateWithFlags>(&executable, by_hand, 0ull);

  auto ours = [&] {
    graph.launch();
    stream.synchronize();
  };
  const auto raw_stream = static_cast<driver::CUstream>(stream.native());
  auto peer = [&] {
    cuda.GraphLaunch(executable, raw_stream);
    cuda.StreamSynchronize(raw_stream);
  };
  require_success("cuGraphLaunch", cuda.GraphLaunch(executable, raw_stream));
  require_success("cuStreamSynchronize", cuda.StreamSynchronize(raw_stream));
  const bench::Outcome outcome = bench::alternate({.rounds = 101}, ours, peer);
  report.add({"graph of 1,000 launches", "time of one launch", outcome.ours * 1e6 / launches, "us",
              "the same graph by hand", outcome.peer * 1e6 / launches},
             {.ratio_at_least = 1 / 1.02});
  cuda.GraphExecDestroy(executable);
  cuda.GraphDestroy(by_hand);
}

void measure_tensor_map(bench::Report &report) {
  const driver::Context context = CudaDevice::of(0)->context();
  driver::TiledTensor tensor;
  tensor.type = driver::TensorType::bf16;
  tensor.rank = 2;
  tensor.address = 0x7f0000000000;
  tensor.extents = {4096, 4096};
  tensor.strides = {8192};
  tensor.box = {64, 128};
  tensor.swizzle = driver::Swizzle::bytes_128;

  const driver::EntryPoints &cuda = context.driver().table();
  driver::TensorMapBits bits{};
  auto raw = [&] {
    return cuda.TensorMapEncodeTiled(&bits, tensor.type, tensor.rank, reinterpret_cast<void *>(tensor.address),
                                     tensor.extents.data(), tensor.strides.data(), tensor.box.data(),
                                     tensor.element_strides.data(), tensor.interleave, tensor.swizzle, tensor.promotion,
                                     tensor.out_of_bounds);
  };
  auto checked = [&] { driver::TensorMap::encode(context, tensor); };
  const bench::Contest contest{.rounds = 101, .calls = 1000};
  auto add = [&](const char *what, const bench::Outcome &outcome, const char *peer, const bench::Reach &reach) {
    report.add({what, "time of an encoding", outcome.ours * 1e9, "ns", peer, outcome.peer * 1e9}, reach);
  };

  // The driver's call fails if no context is current, and takes ten times as long to report that.
  driver::CUcontext current = nullptr;
  require_success("cuCtxGetCurrent", cuda.CtxGetCurrent(&current));
  if (current != nullptr) throw std::runtime_error("a context is current before any was made so");
  auto pushed = [&] {
    driver::CUcontext popped = nullptr;
    driver::Result code = cuda.CtxPushCurrent(context.raw());
    if (code == driver::Result::success) code = raw();
    cuda.CtxPopCurrent(&popped);
    return code;
  };
  require_success("cuTensorMapEncodeTiled", pushed());
  add("tensor map, checked, no context current", bench::alternate(contest, checked, pushed),
      "cuCtxPushCurrent, cuTensorMapEncodeTiled, cuCtxPopCurrent", {.ratio_at_least = 1 / 1.1});

  require_success("cuCtxPushCurrent", cuda.CtxPushCurrent(context.raw()));
  require_success("cuTensorMapEncodeTiled", raw());
  add("tensor map, checked", bench::alternate(contest, checked, raw), "cuTensorMapEncodeTiled",
      {.ratio_at_least = 1 / 1.1});
  driver::TensorMapCache cache(context);
  add("tensor map, the second time",
      bench::alternate(contest, [&] { cache.encode(tensor); }, raw), "cuTensorMapEncodeTiled", {.value_at_most = 50});
  require_success("cuCtxPopCurrent", cuda.CtxPopCurrent(&current));
}

}  // namespace

int main() {
  return bench::run("cuda_launch", [](bench::Report &report) {
    if (CudaDevice::count() == 0) return report.note("no GPU: nothing measured");
    const Device device = Device::cuda(0);
    std::array<Buffer<float>, 9> b;
    for (auto &buffer : b) buffer = Buffer<float>(device, {1}, {1}, Gradient::tracked);

    Kernel scale{"scale", [](Array<float, 1> y, Input x) {
                   Int i = thread_index();
                   y(i) = 2 * x(i);
                 }};
    measure(report, "2 arguments", Direction::forward, scale, b[0], b[1]);
    measure(report, "2 arguments", Direction::adjoint, scale, b[0], b[1]);
    Kernel sum{"sum", [](Array<float, 1> y, Input a, Input b, Input c, Input d, Input e, Input f, Input g, Input h) {
                 Int i = thread_index();
                 y(i) = a(i) + b(i) + c(i) + d(i) + e(i) + f(i) + g(i) + h(i);
               }};
    measure(report, "9 arguments", Direction::forward, sum, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
    measure(report, "9 arguments", Direction::adjoint, sum, b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
    measure_graph(report, scale, b[0], b[1]);
    measure_with_tensor_maps(report);
    measure_tensor_map(report);
  });
}
