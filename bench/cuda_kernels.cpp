// Kernels and their adjoints on CUDA. Those that stream memory are compared with a copy of as many bytes on the device,
// measured in the same process; N-body with hand-written kernels, compiled by the same compiler. Without a GPU there is
// nothing to measure.
#include "bench/support/alternate_on_device.h"
#include "bench/support/gravity.h"
#include "bench/support/report.h"
#include "samite/driver/copy.h"
#include "samite/driver/launch.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"
#include "samite/toolchain/cuda_compiler.h"

#include <fmt/core.h>

#include <cmath>
#include <random>
#include <span>

using namespace samite;

namespace {

template <class Ours, class Peer>
bench::Outcome alternate(const Ours &ours, const Peer &peer, int calls) {
  return bench::alternate_on_device({.rounds = 15, .calls = calls}, Stream::standard(Device::cuda(0)), ours, peer);
}

Buffer<float> random_buffer(const Extents &extents, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(extents.count()));
  for (float &value : values) value = uniform(engine);
  Buffer<float> buffer{Device::cuda(0), extents, values, Gradient::tracked};
  buffer.gradient().copy_from(values);
  return buffer;
}

// `bytes` is the least that the launch must move: each array read or written once.
void against_copy(bench::Report &report, const std::string &what, Launch launch, double bytes) {
  const auto half = static_cast<std::size_t>(bytes / 2);
  static Buffer<std::int8_t> from, to;
  if (!from.valid() || static_cast<std::size_t>(from.count()) < half) {
    from = to = {};
    from = Buffer<std::int8_t>(Device::cuda(0), {static_cast<std::int64_t>(half)});
    to = Buffer<std::int8_t>(Device::cuda(0), {static_cast<std::int64_t>(half)});
  }
  const driver::Stream &stream = CudaDevice::of(0)->standard_stream()->stream();
  auto copy = [&] {
    driver::copy_on_device(stream, reinterpret_cast<std::uint64_t>(to.data()),
                           reinterpret_cast<std::uint64_t>(from.data()), half);
  };
  const bench::Outcome outcome = alternate([&] { launch.launch(); }, copy, 10);
  report.add({what, "time of a launch", outcome.ours * 1e3, "ms",
              fmt::format("a copy, {:.2f} TB/s", bytes / outcome.peer * 1e-12), outcome.peer * 1e3},
             {.ratio_at_least = 0.93});
}

void axpy(bench::Report &report) {
  constexpr std::int64_t n = std::int64_t{1} << 28;
  Kernel kernel{"axpy", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                  Int i = thread_index();
                  y(i) += a * x(i);
                }};
  Buffer<float> y = random_buffer({n}, 1), x = random_buffer({n}, 2);
  const float before = y.at(12345);
  kernel.launch({n}, y, x, 3.0f);
  bench::require_close(y.at(12345), before + 3.0 * x.at(12345), 1e-6, "axpy");
  against_copy(report, "axpy, 256 M floats", kernel.record({n}, y, x, 1e-3f), 12.0 * n);
  // The gradient of y does not change, that of x is added to.
  against_copy(report, "adjoint of axpy", kernel.record({n}, {.direction = Direction::adjoint}, y, x, 1e-3f), 12.0 * n);
}

void stencil(bench::Report &report) {
  constexpr int n = 512;
  Kernel kernel{"stencil", {"next", "now", "rate"}, [](Array<float, 3> next, Array<const float, 3> now, Float rate) {
                  auto [z, y, x] = thread_index<3>();
                  Float sum = now(z, y, x) * -6.0f;
                  if_(z > 0, [&] { sum += now(z - 1, y, x); });
                  if_(z < now.extent(0) - 1, [&] { sum += now(z + 1, y, x); });
                  if_(y > 0, [&] { sum += now(z, y - 1, x); });
                  if_(y < now.extent(1) - 1, [&] { sum += now(z, y + 1, x); });
                  if_(x > 0, [&] { sum += now(z, y, x - 1); });
                  if_(x < now.extent(2) - 1, [&] { sum += now(z, y, x + 1); });
                  next(z, y, x) = now(z, y, x) + rate * sum;
                }};
  Buffer<float> next = random_buffer({n, n, n}, 3), now = random_buffer({n, n, n}, 4);
  kernel.launch({n, n, n}, next, now, 0.1f);
  const double around = double(now.at(6, 8, 9)) + now.at(8, 8, 9) + now.at(7, 7, 9) + now.at(7, 9, 9) +
                        now.at(7, 8, 8) + now.at(7, 8, 10);
  bench::require_close(next.at(7, 8, 9), now.at(7, 8, 9) + 0.1 * (around - 6.0 * now.at(7, 8, 9)), 1e-6, "stencil");
  const double bytes = 4.0 * n * n * n;
  against_copy(report, "7-point stencil, 512³", kernel.record({n, n, n}, next, now, 0.1f), 2 * bytes);
  // Reads and clears the gradient of next, reads and adds to that of now.
  against_copy(report, "adjoint of the stencil",
               kernel.record({n, n, n}, {.direction = Direction::adjoint}, next, now, 0.1f), 4 * bytes);
}

// All pairs, in tiles of shared memory, as is usual for CUDA; several bodies per thread, so that a tile is read once
// for all of them.
constexpr const char *by_hand = R"(
constexpr int width = 2, block = 128;
extern "C" __global__ void __launch_bounds__(block) gravity(float *ax, float *ay, float *az, const float *x,
    const float *y, const float *z, const float *mass, float softening, int count) {
  __shared__ float4 tile[block];
  float xi[width], yi[width], zi[width], sx[width] = {}, sy[width] = {}, sz[width] = {};
  const int first = blockIdx.x * block * width + threadIdx.x;
  for (int k = 0; k < width; ++k) {
    const int i = first + k * block;
    xi[k] = x[i], yi[k] = y[i], zi[k] = z[i];
  }
  for (int begin = 0; begin < count; begin += block) {
    const int j = begin + threadIdx.x;
    __syncthreads();
    tile[threadIdx.x] = make_float4(x[j], y[j], z[j], mass[j]);
    __syncthreads();
#pragma unroll 16
    for (int t = 0; t < block; ++t) {
      const float4 b = tile[t];
#pragma unroll
      for (int k = 0; k < width; ++k) {
        const float dx = b.x - xi[k], dy = b.y - yi[k], dz = b.z - zi[k];
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
        const float strength = b.w * inverse * inverse * inverse;
        sx[k] += strength * dx, sy[k] += strength * dy, sz[k] += strength * dz;
      }
    }
  }
  for (int k = 0; k < width; ++k) {
    const int i = first + k * block;
    ax[i] = sx[k], ay[i] = sy[k], az[i] = sz[k];
  }
}
// The sum over j of h / r³ is split as in the peer for the CPU.
extern "C" __global__ void __launch_bounds__(block) gravity_adjoint(const float *gx, const float *gy, const float *gz,
    const float *x, const float *y, const float *z, const float *mass, float *px, float *py, float *pz, float *pm,
    float softening, int count) {
  __shared__ float4 tile[block];
  __shared__ float4 pulls[block];
  const int i = blockIdx.x * block + threadIdx.x;
  const float xi = x[i], yi = y[i], zi = z[i], mi = mass[i], gxi = gx[i], gyi = gy[i], gzi = gz[i];
  float qx = 0, qy = 0, qz = 0, sx = 0, sy = 0, sz = 0, masses = 0, own = 0;
  for (int begin = 0; begin < count; begin += block) {
    const int j = begin + threadIdx.x;
    __syncthreads();
    tile[threadIdx.x] = make_float4(x[j], y[j], z[j], mass[j]);
    pulls[threadIdx.x] = make_float4(gx[j], gy[j], gz[j], 0);
    __syncthreads();
#pragma unroll 8
    for (int t = 0; t < block; ++t) {
      const float4 b = tile[t], g = pulls[t];
      const float dx = b.x - xi, dy = b.y - yi, dz = b.z - zi;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening * softening);
      const float inverse2 = inverse * inverse, inverse3 = inverse2 * inverse;
      const float along_j = dx * g.x + dy * g.y + dz * g.z, along_i = dx * gxi + dy * gyi + dz * gzi;
      const float pull = 3 * inverse2 * inverse3 * (mi * along_j - b.w * along_i);
      qx += pull * dx, qy += pull * dy, qz += pull * dz;
      sx += inverse3 * g.x, sy += inverse3 * g.y, sz += inverse3 * g.z;
      masses += inverse3 * b.w;
      own += inverse3 * along_j;
    }
  }
  px[i] += mi * sx - gxi * masses - qx;
  py[i] += mi * sy - gyi * masses - qy;
  pz[i] += mi * sz - gzi * masses - qz;
  pm[i] -= own;
}
)";

void nbody(bench::Report &report) {
  constexpr int n = 65536;
  Buffer<float> ax = random_buffer({n}, 5), ay = random_buffer({n}, 6), az = random_buffer({n}, 7);
  Buffer<float> x = random_buffer({n}, 8), y = random_buffer({n}, 9), z = random_buffer({n}, 10);
  Buffer<float> mass = random_buffer({n}, 11);
  std::vector<Buffer<float>> theirs;
  for (int i = 0; i < 7; ++i) theirs.emplace_back(Device::cuda(0), Extents{n});
  const bench::Gravity kernel = bench::gravity();
  Launch forward = kernel.record({n}, ax, ay, az, x, y, z, mass, bench::softening);
  Launch adjoint = kernel.record({n}, {.direction = Direction::adjoint}, ax, ay, az, x, y, z, mass, bench::softening);

  auto cuda = CudaDevice::of(0);
  const int capability = cuda->context().limits().compute_capability;
  const auto image = compile_cuda({.name = "by_hand", .text = by_hand}, "",
                                  fmt::format("sm_{}{}", capability, capability == 90 ? "a" : ""))
                         .image;
  const auto library = driver::Library::load(cuda->context(), std::as_bytes(std::span(image->cubin())));
  const driver::Stream &stream = cuda->standard_stream()->stream();
  auto address = [](const AnyBuffer &buffer) { return reinterpret_cast<std::uint64_t>(buffer.data()); };
  float softening = bench::softening;
  int count = n;
  std::uint64_t f[] = {address(theirs[0]), address(theirs[1]), address(theirs[2]), address(x),
                       address(y),         address(z),         address(mass)};
  std::vector<void *> forward_parameters;
  for (auto &pointer : f) forward_parameters.push_back(&pointer);
  const driver::PreparedLaunch peer_forward(stream, library.kernel("gravity"),
                                            {.grid = {n / 256, 1, 1}, .block = {128, 1, 1}},
                                            std::source_location::current());
  std::vector<Buffer<float>> cotangents;
  for (const Buffer<float> &output : {ax, ay, az}) cotangents.push_back(output.gradient().clone());
  std::uint64_t a[] = {address(cotangents[0]),
                       address(cotangents[1]),
                       address(cotangents[2]),
                       address(x),
                       address(y),
                       address(z),
                       address(mass),
                       address(theirs[3]),
                       address(theirs[4]),
                       address(theirs[5]),
                       address(theirs[6])};
  std::vector<void *> adjoint_parameters;
  for (auto &pointer : a) adjoint_parameters.push_back(&pointer);
  for (auto *parameters : {&forward_parameters, &adjoint_parameters}) {
    parameters->push_back(&softening);
    parameters->push_back(&count);
  }
  const driver::PreparedLaunch peer_adjoint(stream, library.kernel("gravity_adjoint"),
                                            {.grid = {n / 128, 1, 1}, .block = {128, 1, 1}},
                                            std::source_location::current());

  forward.launch();
  peer_forward.run(forward_parameters.data());
  for (int i = 0; i < n; i += 4099)
    bench::require_close(ax.at(i), theirs[0].at(i), 1e-3 * std::abs(theirs[0].at(i)) + 1, "acceleration");
  for (const Buffer<float> &input : {x, y, z, mass}) Buffer<float>(input).zero_gradient();
  adjoint.launch();
  peer_adjoint.run(adjoint_parameters.data());
  double largest = 0;
  for (float value : theirs[3].to_vector()) largest = std::max(largest, std::abs(double(value)));
  for (int i = 0; i < n; i += 4099)
    bench::require_close(x.gradient().at(i), theirs[3].at(i), 1e-3 * largest, "gradient of x");

  bench::Outcome outcome =
      alternate([&] { forward.launch(); }, [&] { peer_forward.run(forward_parameters.data()); }, 3);
  report.add({"N-body, 64 K bodies", "time of a launch", outcome.ours * 1e3, "ms", "by hand, tiles in shared memory",
              outcome.peer * 1e3},
             {.ratio_at_least = 0.95});
  outcome = alternate([&] { adjoint.launch(); }, [&] { peer_adjoint.run(adjoint_parameters.data()); }, 3);
  report.add({"adjoint of N-body", "time of a launch", outcome.ours * 1e3, "ms",
              "by hand, gather, tiles in shared memory", outcome.peer * 1e3},
             {.ratio_at_least = 0.9});
}

}  // namespace

int main() {
  return bench::run("cuda_kernels", [](bench::Report &report) {
    if (CudaDevice::count() == 0) return report.note("no GPU: nothing measured");
    axpy(report);
    stencil(report);
    nbody(report);
  });
}
