// Products of matrices by tile kernels, compared with cuBLAS's in the same process. Without a GPU, or without cuBLAS,
// there is nothing to compare; cuBLAS is found by the loader, or at the path in SAMITE_CUBLAS.
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "samite/base/dynamic_library.h"
#include "samite/ops/matmul.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

using namespace samite;

namespace {

// cuBLAS's interface, which has been the same since its version 11.
class Cublas {
 public:
  explicit Cublas(DynamicLibrary library) : library_(std::move(library)) {
    check(library_.function<int(void **)>("cublasCreate_v2")(&handle_), "cublasCreate");
    gemm_ = library_.function<Gemm>("cublasGemmEx");
  }
  Cublas(const Cublas &) = delete;
  Cublas &operator=(const Cublas &) = delete;
  ~Cublas() { library_.function<int(void *)>("cublasDestroy_v2")(handle_); }

  void use(const driver::Stream &stream) {
    check(library_.function<int(void *, void *)>("cublasSetStream_v2")(handle_, stream.raw()), "cublasSetStream");
  }

  enum Type { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };
  enum Compute { in_f32 = 68, in_f64 = 70, in_tf32 = 77 };

  // C = A B, for n by n sums of this many terms, row by row. For cuBLAS, whose matrices are stored column by column, it
  // is Cᵀ = Bᵀ Aᵀ.
  void multiply(int n, int terms, const void *a, const void *b, void *c, Type factors, Type sums, Compute compute) {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = compute == in_f64;
    check(gemm_(handle_, 0, 0, n, n, terms, wide ? static_cast<const void *>(&wide_one) : &one, b, factors, n, a,
                factors, terms, wide ? static_cast<const void *>(&wide_zero) : &zero, c, sums, n, compute, -1),
          "cublasGemmEx");
  }

 private:
  using Gemm = int(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                   const void *, void *, int, int, int, int);

  static void check(int status, const char *call) {
    if (status != 0) throw std::runtime_error(fmt::format("{} failed with {}", call, status));
  }

  DynamicLibrary library_;
  void *handle_ = nullptr;
  Gemm *gemm_ = nullptr;
};

std::optional<DynamicLibrary> find_cublas() {
  std::vector<std::string> names{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  if (const char *own = std::getenv("SAMITE_CUBLAS")) names.insert(names.begin(), own);
  for (const std::string &name : names) try {
      return DynamicLibrary(name, Unloading::never);
    } catch (const DeviceError &) {
      continue;
    }
  return std::nullopt;
}

struct Plan {
  std::int64_t rows, columns, inner;
  int threads, stages;
  tile::Precision precision = tile::Precision::full;
};

// Results of 16 bits are sums of 32.
template <class T, class C>
auto product(const Plan &plan) {
  return TileKernel{"product",
                    [plan](Array<const T, 2> a, Array<const T, 2> b, Array<C, 2> c) {
                      auto [i, j] = block_index<2>();
                      using S = std::conditional_t<sizeof(C) == 2, float, C>;
                      Tile<S> sum = tile::zeros<S>({plan.rows, plan.columns});
                      const Int steps = tile::ceil_div(a.extent(1), static_cast<int>(plan.inner));
                      for (Int k : range(steps, pipelined(plan.stages)))
                        tile::matmul(tile::load(a, {i, k}, {plan.rows, plan.inner}),
                                     tile::load(b, {k, j}, {plan.inner, plan.columns}), sum, plan.precision);
                      tile::store(c, {i, j}, tile::cast<C>(sum));
                    },
                    TileOptions{.threads = plan.threads}};
}

// The library's tiling of a product of bfloat16.
Plan planned(int n, int terms) {
  const ops::MatmulPlan plan =
      ops::matmul_plan({1, n, n, terms}, {.type = ScalarType::BFloat16}, ops::plan_device(Device::cuda(0)));
  return {plan.rows, plan.columns, plan.inner, plan.threads, plan.stages};
}

// With all digits of the type: a product of numbers with few digits takes less power, which affects a GPU's clock.
template <class T>
Buffer<T> random_buffer(const Extents &extents, unsigned seed) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<Wide> uniform(-1, 1);
  std::vector<T> values;
  for (std::int64_t i = 0; i < extents.count(); ++i) values.push_back(T(uniform(engine)));
  return {Device::cuda(0), extents, values};
}

// Products of n by n sums of this many terms; 0: n.
template <class T, class C>
void against_cublas(bench::Report &report, std::optional<Cublas> &cublas, const char *name, int n, const Plan &plan,
                    Cublas::Type factors, Cublas::Type sums, Cublas::Compute compute, double tolerance, double reach,
                    int terms = 0) {
  if (terms == 0) terms = n;
  const Buffer<T> a = random_buffer<T>({n, terms}, 1), b = random_buffer<T>({terms, n}, 2);
  Buffer<C> ours(Device::cuda(0), {n, n}), theirs(Device::cuda(0), {n, n});
  const auto kernel = product<T, C>(plan);
  Launch launch = kernel.record({(n + plan.rows - 1) / plan.rows, (n + plan.columns - 1) / plan.columns}, a, b, ours);
  launch.launch();
  for (const int i : {0, 77, n - 1}) {
    double sum = 0;
    for (int k = 0; k < terms; ++k) sum += static_cast<double>(a.at(i, k)) * static_cast<double>(b.at(k, n - 1 - i));
    bench::require_close(static_cast<double>(ours.at(i, n - 1 - i)), sum, tolerance, name);
  }
  const Stream stream = Stream::standard(Device::cuda(0));
  const double operations = 2.0 * n * n * terms;
  auto peer = [&] {
    if (cublas) cublas->multiply(n, terms, a.data(), b.data(), theirs.data(), factors, sums, compute);
  };
  const auto [time, peer_time] =
      bench::alternate_on_device({.rounds = 9, .calls = 5}, stream, [&] { launch.launch(); }, peer);
  report.add({terms == n ? fmt::format("{}, {}³", name, n) : fmt::format("{}, {}² sums of {} terms", name, n, terms),
              "time of a launch", time * 1e3, "ms",
              cublas ? fmt::format("cuBLAS, {:.1f} TFLOP/s", operations / peer_time * 1e-12) : "no cuBLAS here",
              cublas ? peer_time * 1e3 : 0, fmt::format("{:.1f} TFLOP/s", operations / time * 1e-12)},
             {.ratio_at_least = cublas ? reach : 0});
}

// The adjoint of both factors compared with the forward product: two products of the same size, so 2 is the ideal.
template <class T, class C>
void adjoint_against_forward(bench::Report &report, const char *name, int n, const Plan &plan, double tolerance) {
  Buffer<T> a = random_buffer<T>({n, n}, 1), b = random_buffer<T>({n, n}, 2);
  a.track_gradient(), b.track_gradient();
  const Buffer<C> c(Device::cuda(0), {n, n}, Gradient::tracked), cotangents = random_buffer<C>({n, n}, 3);
  const auto kernel = product<T, C>(plan);
  const auto record = [&](Direction direction) {
    return kernel.record({(n + plan.rows - 1) / plan.rows, (n + plan.columns - 1) / plan.columns},
                         {.direction = direction}, a, b, c);
  };
  Launch forward = record(Direction::forward), adjoint = record(Direction::adjoint);
  const auto prepare = [&] { c.gradient().copy_from(cotangents); };  // the adjoint takes them out of the array
  prepare();
  adjoint.launch();
  for (const int i : {0, 77, n - 1}) {
    const int j = n - 1 - i;
    double of_a = 0, of_b = 0;
    for (int k = 0; k < n; ++k) {
      of_a += static_cast<double>(cotangents.at(i, k)) * static_cast<double>(b.at(j, k));
      of_b += static_cast<double>(a.at(k, i)) * static_cast<double>(cotangents.at(k, j));
    }
    bench::require_close(static_cast<double>(a.gradient().at(i, j)), of_a, tolerance, name);
    bench::require_close(static_cast<double>(b.gradient().at(i, j)), of_b, tolerance, name);
  }
  const auto [time, forward_time] = bench::alternate_on_device(
      {.rounds = 9, .calls = 1, .prepare = prepare}, Stream::standard(Device::cuda(0)), [&] { adjoint.launch(); },
      [&] { forward.launch(); });
  report.add({fmt::format("{}, {}³, adjoint of both factors", name, n), "time of a launch", time * 1e3, "ms",
              "the same, forward", forward_time * 1e3, fmt::format("{:.1f} TFLOP/s", 4.0 * n * n * n / time * 1e-12)},
             {.ratio_at_least = 1 / (2 * 1.15)});
}

// The adjoint of a layer c = swish(a b + bias) with respect to a, b and the bias, compared with the layer: the sums
// again, and two products of the same size, so 3 is the ideal.
template <class T>
void layer_adjoint_against_forward(bench::Report &report, const char *name, int n, double tolerance) {
  Buffer<T> a = random_buffer<T>({n, n}, 1), b = random_buffer<T>({n, n}, 2);
  Buffer<float> bias(Device::cuda(0), {n}, Gradient::tracked);
  a.track_gradient(), b.track_gradient();
  const Buffer<T> c(Device::cuda(0), {n, n}, Gradient::tracked), cotangents = random_buffer<T>({n, n}, 3);
  const ops::Matmul layer{"layer", [](const ops::Sums<T> &s, Array<const float, 1> of_columns) {
                            const Tile<float> x = s.values() * 0.05f + s.for_columns(of_columns);
                            return tile::cast<T>(x / (1.0f + exp(-x)));
                          }};
  bias.fill(0.25f);
  Launch forward = layer.record(a, b, c, bias),
         adjoint = layer.record({.direction = Direction::adjoint}, a, b, c, bias);
  const auto prepare = [&] { c.gradient().copy_from(cotangents); };
  prepare();
  adjoint.launch();
  const std::vector<T> left = a.to_vector(), right = b.to_vector(), of_c = cotangents.to_vector();
  const auto element = [n](const std::vector<T> &x, int i, int j) {
    return static_cast<double>(
        x[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]);
  };
  const auto of_sum = [&](int i, int j) {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += element(left, i, k) * element(right, k, j);
    const double x = sum * 0.05 + 0.25, s = 1 / (1 + std::exp(-x));
    return element(of_c, i, j) * s * (1 + x * (1 - s)) * 0.05;
  };
  for (const int i : {0, n - 1}) {
    const int j = n - 1 - i;
    double of_a = 0, of_b = 0;
    for (int k = 0; k < n; ++k) {
      of_a += of_sum(i, k) * element(right, j, k);
      of_b += element(left, k, i) * of_sum(k, j);
    }
    bench::require_close(static_cast<double>(a.gradient().at(i, j)), of_a, tolerance, name);
    bench::require_close(static_cast<double>(b.gradient().at(i, j)), of_b, tolerance, name);
  }
  const auto [time, forward_time] = bench::alternate_on_device(
      {.rounds = 9, .calls = 1, .prepare = prepare}, Stream::standard(Device::cuda(0)), [&] { adjoint.launch(); },
      [&] { forward.launch(); });
  report.add(
      {fmt::format("{} layer, {}³, adjoint of both factors and the bias", name, n), "time of a launch", time * 1e3,
       "ms", "the same, forward", forward_time * 1e3, fmt::format("{:.1f} TFLOP/s", 6.0 * n * n * n / time * 1e-12)},
      {.ratio_at_least = 1 / (3 * 1.15)});
}

}  // namespace

int main() {
  return bench::run("cuda_tile_matmul", [](bench::Report &report) {
    if (CudaDevice::count() == 0) {
      report.note("There is no GPU here.");
      return;
    }
    std::optional<Cublas> cublas;
    if (auto library = find_cublas()) {
      cublas.emplace(std::move(*library));
      cublas->use(CudaDevice::of(0)->standard_stream()->stream());
    } else {
      report.note("There is no cuBLAS here; SAMITE_CUBLAS may name its file.");
    }
    using enum Cublas::Type;
    using enum Cublas::Compute;
    const auto tf32 = tile::Precision::tf32;
    for (int n : {2048, 4096}) {
      against_cublas<float, float>(report, cublas, "f32", n, {128, 256, 64, 256, 2}, f32, f32, in_f32, 1e-4, 0.9);
      against_cublas<float, float>(report, cublas, "tf32", n, {256, 128, 32, 256, 4, tf32}, f32, f32, in_tf32, 1e-1,
                                   0.95);
      against_cublas<half, float>(report, cublas, "f16", n, {128, 256, 64, 256, 4}, f16, f32, in_f32, 1e-3, 0.95);
      against_cublas<bfloat16, float>(report, cublas, "bf16", n, {128, 256, 64, 256, 4}, bf16, f32, in_f32, 1e-3, 0.95);
      against_cublas<double, double>(report, cublas, "f64", n, {64, 128, 16, 128, 3}, f64, f64, in_f64, 1e-10, 0.93);
    }
    const Plan in_teams{128, 128, 64, 128, 6};  // ops::matmul_plan's for short sums, and many waves of blocks
    against_cublas<half, float>(report, cublas, "f16", 8192, in_teams, f16, f32, in_f32, 1e-3, 0.95);
    against_cublas<bfloat16, float>(report, cublas, "bf16", 8192, in_teams, bf16, f32, in_f32, 1e-3, 0.95);
    against_cublas<bfloat16, float>(report, cublas, "bf16", 4096, in_teams, bf16, f32, in_f32, 1e-3, 1.0, 1024);
    against_cublas<bfloat16, float>(report, cublas, "bf16", 8192, in_teams, bf16, f32, in_f32, 1e-3, 1.0, 1024);
    // Fewer tiles than multiprocessors, whose sums may be computed in parts, and tiles that leave few of these idle.
    for (const auto &[side, terms] : {std::array{512, 16384}, {256, 32768}, {512, 4096}, {1536, 1536}})
      against_cublas<bfloat16, float>(report, cublas, "bf16", side, planned(side, terms), bf16, f32, in_f32, 1e-2, 0.9,
                                      terms);
    // Rows that end inside tiles; and that begin at odd addresses, so that bulk copies read copies of them.
    against_cublas<bfloat16, float>(report, cublas, "bf16", 4000, {128, 256, 64, 256, 4}, bf16, f32, in_f32, 1e-3, 0.9);
    against_cublas<bfloat16, float>(report, cublas, "bf16", 4095, {128, 256, 64, 256, 4}, bf16, f32, in_f32, 1e-3, 0.6);
    const int n = 4096;
    adjoint_against_forward<float, float>(report, "f32", n, {128, 128, 32, 256, 2}, 1e-2);
    adjoint_against_forward<float, float>(report, "tf32", n, {256, 128, 32, 256, 4, tf32}, 1e-1);
    adjoint_against_forward<half, float>(report, "f16", n, {128, 256, 64, 256, 4}, 1e-1);
    adjoint_against_forward<bfloat16, float>(report, "bf16", n, {128, 256, 64, 256, 4}, 5e-1);
    adjoint_against_forward<bfloat16, bfloat16>(report, "bf16 to bf16", n, {128, 256, 64, 256, 4}, 5e-1);
    adjoint_against_forward<double, double>(report, "f64", n, {64, 64, 16, 128, 3}, 1e-9);
    layer_adjoint_against_forward<bfloat16>(report, "bf16", n, 5e-1);
    layer_adjoint_against_forward<float>(report, "f32", n, 1e-2);
  });
}
