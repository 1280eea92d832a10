// Scheduled pipelines on a GPU: the tensor product with gather and scatter (sparse convolution) under several
// schedules, a 7-point stencil of 512³, a 3 x 3 box blur of 4096² and a product of 2048² matrices. The last three are
// compared with the same work per thread or per tile, measured in the same process; the tensor product with its
// multiplications at the device's rate of f32. Without a GPU there is nothing to measure.
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>

using namespace samite;

namespace {

constexpr double f32_rate = 51e12;  // of a matrix product by cuBLAS on an H200, operations a second

Buffer<float> random_buffer(const Extents &extents, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(extents.count()));
  for (float &value : values) value = static_cast<float>(static_cast<int>(engine() % 2001) - 1000) * 1e-3f;
  return {Device::cuda(0), extents, values};
}

auto tensor_product() {
  return Pipeline{
      "tensor_product",
      {"result", "input", "weight", "input_map", "output_map"},
      [](Array<float, 2> result, Array<const float, 2> input, Array<const float, 3> weight,
         Array<const std::int32_t, 2> input_map, Array<const std::int32_t, 2> output_map) {
        Var n{"n"}, p{"p"}, c{"c"}, m{"m"};
        Func gather_input{"gather_input"}, gather_weight{"gather_weight"}, product{"product"}, output{"output", result};
        Func<std::int32_t> place{"place"};
        Reduction k{"k", 0, 64};
        Reduction pairs{"pairs", {{0, 27}, {0, input_map.extent(1)}}};
        const Var offset = pairs[0], pair = pairs[1];
        gather_input(n, p, c) = input(input_map(n, p), c);
        gather_weight(n, c, m) = weight(n, c, m);
        product(n, p, m) += gather_input(n, p, k) * gather_weight(n, k, m);
        place(n, p) = output_map(n, p);
        output(place(offset, pair), m) += product(offset, pair, m);

        Var block{"block"}, rest{"rest"}, thread{"thread"}, own{"own"}, mb{"mb"}, mt{"mt"}, mi{"mi"}, c1{"c1"},
            c0{"c0"};
        // A user's first version: the weights of 16 terms in shared memory, 4 sums in each thread's registers.
        schedule("first", [&] {
          output.update().atomic().split(pair, block, rest, 128).split(rest, thread, own, 4).split(m, mb, mt, 32);
          output.update().reorder(own, mt, thread, mb, block, offset).gpu_blocks(mb, block, offset);
          output.update().gpu_threads(mt, thread);
          product.compute_at(output, mt).store_in(Memory::registers);
          product.update().split(k, c1, c0, 16).reorder(m, p, n, c0, c1);
          gather_weight.compute_at(product, c1).store_in(Memory::shared);
        });
        // Inputs and weights of a block's pairs in shared memory; each thread has this many sums, 4 or 2 neighbours of
        // each of its pairs.
        const auto tiled = [&](int pairs_of_block, int own_pairs, int channels) {
          output.bound(m, 0, 64);
          output.update().atomic().split(pair, block, rest, pairs_of_block).split(rest, thread, own, own_pairs);
          output.update().split(m, mt, mi, channels).reorder(mi, own, mt, thread, block, offset);
          output.update().gpu_blocks(block, offset).gpu_threads(mt, thread);
          product.compute_at(output, mt).store_in(Memory::registers);
          gather_weight.compute_at(output, block).store_in(Memory::shared);
          gather_input.compute_at(output, block).store_in(Memory::shared);
          product.update().split(k, c1, c0, 4).unroll(c0);
        };
        schedule("tiled", [&] {
          tiled(128, 8, 4);
          product.update().reorder(m, p, n, c0, c1);
        });
        schedule("tiled, terms inside", [&] {
          tiled(128, 8, 4);
          product.update().reorder(c0, m, p, n, c1);
        });
        schedule("tiled, 16 pairs a thread", [&] {
          tiled(128, 16, 2);
          product.update().reorder(c0, m, p, n, c1);
        });
        schedule("tiled, 64 pairs", [&] {
          tiled(64, 8, 4);
          product.update().reorder(c0, m, p, n, c1);
        });
        // The weights stay, and 16 times 64 pairs pass: while they are multiplied, the next ones are copied. A warp has
        // 4 pairs side by side by 8 times 4 channels, so that its reads have no bank conflicts.
        Var tile{"tile"}, t0{"t0"}, t1{"t1"};
        const auto pipelined = [&](int tiles, int own_pairs, int channels, int stages) {
          output.bound(m, 0, 64);
          output.update().atomic().split(pair, block, rest, 64 * tiles).split(rest, tile, rest, 64);
          output.update().split(rest, thread, own, own_pairs).split(thread, t1, t0, 2);
          output.update().split(m, mb, mt, 4 * (64 / channels)).split(mt, mt, mi, 4);
          output.update().reorder(mi, mb, own, t0, mt, t1, tile, block, offset).gpu_blocks(block, offset);
          output.update().gpu_threads(t0, mt, t1);
          product.compute_at(output, t0).store_in(Memory::registers);
          gather_weight.compute_at(output, block).store_in(Memory::shared);
          place.compute_at(output, block).store_in(Memory::shared);
          gather_input.compute_at(output, tile).store_in(Memory::shared).pad(c, 4);
          if (stages > 1) gather_input.pipelined(stages);
          product.update().split(k, c1, c0, 4).unroll(c0).reorder(c0, m, p, n, c1);
        };
        schedule("pipelined", [&] { pipelined(16, 4, 8, 2); });
        // One copy of the inputs takes less memory, so that five blocks fit instead of four.
        schedule("one tile at a time", [&] { pipelined(16, 4, 8, 1); });
      }};
}

void measure_tensor_product(bench::Report &report) {
  const Device device = Device::cuda(0);
  const std::int64_t points = 250'000, pairs = 164'000;
  std::mt19937 engine(1);
  std::vector<std::int32_t> inputs(27 * pairs), outputs(27 * pairs), order(points);
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t n = 0; n < 27; ++n) {
    std::shuffle(order.begin(), order.end(), engine);
    std::copy_n(order.begin(), pairs, outputs.begin() + n * pairs);
    std::shuffle(order.begin(), order.end(), engine);
    std::copy_n(order.begin(), pairs, inputs.begin() + n * pairs);
  }
  const Buffer<float> input = random_buffer({points, 64}, 2), weight = random_buffer({27, 64, 64}, 3);
  const Buffer<std::int32_t> input_map{device, {27, pairs}, inputs}, output_map{device, {27, pairs}, outputs};
  Buffer<float> result{device, {points, 64}};

  // Some elements, in double precision.
  const std::vector<float> x = input.to_vector(), w = weight.to_vector();
  std::vector<std::pair<std::int32_t, int>> places;
  std::vector<double> expected;
  for (int i = 0; i < 200; ++i) places.emplace_back(static_cast<std::int32_t>(engine() % points), engine() % 64);
  for (const auto &[row, m] : places) {
    double sum = 0;
    for (std::int64_t j = 0; j < 27 * pairs; ++j) {
      if (outputs[static_cast<std::size_t>(j)] != row) continue;
      const std::int64_t from = inputs[static_cast<std::size_t>(j)], n = j / pairs;
      for (std::int64_t k = 0; k < 64; ++k)
        sum += static_cast<double>(x[static_cast<std::size_t>(from * 64 + k)]) *
               w[static_cast<std::size_t>((n * 64 + k) * 64 + m)];
    }
    expected.push_back(sum);
  }

  const auto pipeline = tensor_product();
  const double operations = 2.0 * 27 * static_cast<double>(pairs) * 64 * 64;
  const Stream stream = Stream::standard(device);
  for (const char *schedule : {"first", "tiled", "tiled, terms inside", "tiled, 16 pairs a thread", "tiled, 64 pairs",
                               "pipelined", "one tile at a time"}) {
    PipelineLaunch launch = pipeline.record({.schedule = schedule}, result, input, weight, input_map, output_map);
    launch.launch();
    const std::vector<float> computed = result.to_vector();
    for (std::size_t i = 0; i < places.size(); ++i)
      bench::require_close(computed[static_cast<std::size_t>(places[i].first * 64 + places[i].second)], expected[i],
                           1e-3, schedule);
    const auto [time, again] = bench::alternate_on_device(
        {.rounds = 10, .calls = 5}, stream, [&] { launch.launch(); }, [&] { launch.launch(); });
    report.add({fmt::format("tensor product, 250,000 points, 4.43 M pairs, 64 to 64, schedule {}", schedule),
                "time of a launch", std::min(time, again) * 1e3, "ms", "its multiplications at 51 TFLOP/s",
                operations / f32_rate * 1e3, fmt::format("{:.1f} TFLOP/s", operations / time * 1e-12)},
               {});
  }
}

auto stencil_pipeline() {
  constexpr std::int64_t n = 512;
  return Pipeline{
      "stencil", {"next", "now", "a", "b"}, [](Array<float, 3> next, Array<const float, 3> now, Float a, Float b) {
        Var z{"z"}, y{"y"}, x{"x"}, zo{"zo"}, zi{"zi"}, yo{"yo"}, yt{"yt"}, yi{"yi"}, xo{"xo"}, xt{"xt"}, xi{"xi"};
        Func output{"output", next};
        output(z, y, x) = a * now(z + 1, y + 1, x + 1) +
                          b * (now(z + 1, y + 1, x) + now(z + 1, y + 1, x + 2) + now(z + 1, y, x + 1) +
                               now(z + 1, y + 2, x + 1) + now(z, y + 1, x + 1) + now(z + 2, y + 1, x + 1));
        // A thread has 8 x 2 x 2 cells along z, y and x: most of its loads are used by several of these.
        schedule_cuda([&] {
          output.bound(z, 0, n).bound(y, 0, n).bound(x, 0, n);
          output.split(z, zo, zi, 8)
              .split(y, yo, yi, 8)
              .split(yi, yt, yi, 2)
              .split(x, xo, xt, 128)
              .split(xt, xt, xi, 2);
          output.reorder(xi, yi, zi, xt, yt, xo, yo, zo).gpu_blocks(xo, yo, zo).gpu_threads(xt, yt);
          output.unroll(zi).unroll(yi).unroll(xi);
        });
      }};
}

void measure_stencil(bench::Report &report) {
  constexpr std::int64_t n = 512;
  const Pipeline pipeline = stencil_pipeline();
  const Kernel kernel{"stencil_by_thread", [](Array<float, 3> next, Array<const float, 3> now, Float a, Float b) {
                        auto [z, y, x] = thread_index<3>();
                        next(z, y, x) =
                            a * now(z + 1, y + 1, x + 1) +
                            b * (now(z + 1, y + 1, x) + now(z + 1, y + 1, x + 2) + now(z + 1, y, x + 1) +
                                 now(z + 1, y + 2, x + 1) + now(z, y + 1, x + 1) + now(z + 2, y + 1, x + 1));
                      }};
  const Buffer<float> now = random_buffer({n + 2, n + 2, n + 2}, 4);
  Buffer<float> next{Device::cuda(0), {n, n, n}}, same{Device::cuda(0), {n, n, n}};
  PipelineLaunch launch = pipeline.record(next, now, 0.4f, 0.1f);
  Launch by_thread = kernel.record({n, n, n}, same, now, 0.4f, 0.1f);
  launch.launch();
  by_thread.launch();
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{211}, n - 1})
    bench::require_close(next.at(i, i, i), same.at(i, i, i), 1e-6, "stencil");
  const auto [time, peer_time] = bench::alternate_on_device(
      {.rounds = 15, .calls = 10}, Stream::standard(Device::cuda(0)), [&] { launch.launch(); },
      [&] { by_thread.launch(); });
  report.add({"7-point stencil, 512³, as a pipeline", "time of a launch", time * 1e3, "ms", "the kernel per thread",
              peer_time * 1e3, fmt::format("{:.2f} TB/s", 8.0 * n * n * n / time * 1e-12)},
             {.ratio_at_least = 0.95});
}

auto blur_pipeline() {
  constexpr std::int64_t n = 4096;
  return Pipeline{"blur", {"result", "input"}, [](Array<float, 2> result, Array<const float, 2> input) {
                    Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"}, yt{"yt"}, xo{"xo"}, xi{"xi"}, xt{"xt"};
                    Func rows{"rows"}, output{"output", result};
                    rows(y, x) = (input(y, x) + input(y, x + 1) + input(y, x + 2)) * (1.0f / 3);
                    output(y, x) = (rows(y, x) + rows(y + 1, x) + rows(y + 2, x)) * (1.0f / 3);
                    // A thread has 4 rows of 4 neighbours, which one access stores.
                    schedule_cuda([&] {
                      output.bound(y, 0, n).bound(x, 0, n);
                      output.split(y, yo, yi, 16).split(yi, yt, yi, 4).split(x, xo, xi, 128).split(xi, xt, xi, 4);
                      output.reorder(xi, yi, xt, yt, xo, yo).gpu_blocks(xo, yo).gpu_threads(xt, yt);
                      output.unroll(yi).unroll(xi);
                      rows.compute_at(output, xt).store_in(Memory::registers);
                    });
                  }};
}

void measure_blur(bench::Report &report) {
  constexpr std::int64_t n = 4096;
  const Pipeline pipeline = blur_pipeline();
  const Kernel kernel{"blur_by_thread", [](Array<float, 2> result, Array<const float, 2> input) {
                        auto [y, x] = thread_index<2>();
                        const auto row = [&](const Int &i) {
                          return (input(i, x) + input(i, x + 1) + input(i, x + 2)) * (1.0f / 3);
                        };
                        result(y, x) = (row(y) + row(y + 1) + row(y + 2)) * (1.0f / 3);
                      }};
  const Buffer<float> input = random_buffer({n + 2, n + 2}, 5);
  Buffer<float> result{Device::cuda(0), {n, n}}, same{Device::cuda(0), {n, n}};
  PipelineLaunch launch = pipeline.record(result, input);
  Launch by_thread = kernel.record({n, n}, same, input);
  launch.launch();
  by_thread.launch();
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1733}, n - 1})
    bench::require_close(result.at(i, i), same.at(i, i), 1e-5, "blur");
  const auto [time, peer_time] = bench::alternate_on_device(
      {.rounds = 15, .calls = 20}, Stream::standard(Device::cuda(0)), [&] { launch.launch(); },
      [&] { by_thread.launch(); });
  report.add({"blur 3 x 3, 4096², as a pipeline", "time of a launch", time * 1e3, "ms", "the kernel per thread",
              peer_time * 1e3, fmt::format("{:.2f} TB/s", 8.0 * n * n / time * 1e-12)},
             {.ratio_at_least = 0.95});
}

constexpr std::int64_t matrix_rows = 2048;
const char *const product_schedules[] = {"8x8x8", "pipelined, 8x8x16"};

auto product_pipeline() {
  constexpr std::int64_t n = matrix_rows;
  return Pipeline{
      "matmul", {"result", "a", "b"}, [](Array<float, 2> result, Array<const float, 2> a, Array<const float, 2> b) {
        Var y{"y"}, x{"x"}, yb{"yb"}, yr{"yr"}, yt{"yt"}, yi{"yi"}, xb{"xb"}, xr{"xr"}, xt{"xt"}, xi{"xi"}, k1{"k1"},
            k0{"k0"}, xv{"xv"}, xh{"xh"};
        Reduction k{"k", 0, n};
        Func left{"left"}, right{"right"}, product{"product"}, output{"output", result};
        left(y, x) = a(y, x);
        right(y, x) = b(y, x);
        product(y, x) += left(y, k) * right(k, x);
        output(y, x) = product(y, x);
        const auto tiled = [&](int rows, int columns, int steps) {
          output.bound(y, 0, n).bound(x, 0, n);
          output.split(y, yb, yr, 16 * rows).split(yr, yt, yi, rows);
          // A thread has columns in pieces of 4, side by side with its neighbours'.
          output.split(x, xb, xr, 16 * columns).split(xr, xh, xt, 64).split(xt, xt, xi, 4);
          output.reorder(xi, xh, yi, xt, yt, xb, yb).gpu_blocks(xb, yb).gpu_threads(xt, yt);
          product.compute_at(output, xt).store_in(Memory::registers);
          product.update().split(k, k1, k0, steps).reorder(x, y, k0, k1).unroll(k0);
          left.compute_at(product, k1).store_in(Memory::shared).reorder_storage(y, x).pad(y, 4);
          right.compute_at(product, k1).store_in(Memory::shared);
        };
        schedule("8x8x8", [&] { tiled(8, 8, 8); });
        // The next terms are copied while these are multiplied. A thread takes 4 terms of a row together. Two
        // neighbouring threads along y share their reads of b, and a thread's columns are two pieces of 4, next to its
        // neighbours' pieces: a warp's reads have fewer bank conflicts.
        const auto pipelined = [&](int steps, int stages) {
          Var k2{"k2"}, k3{"k3"}, y0{"y0"}, y1{"y1"};
          output.bound(y, 0, n).bound(x, 0, n);
          output.split(y, yb, yr, 128).split(yr, yt, yi, 8).split(yt, y1, y0, 2);
          output.split(x, xb, xr, 128).split(xr, xh, xt, 64).split(xt, xt, xi, 4);
          output.reorder(xi, xh, yi, y0, xt, y1, xb, yb).gpu_blocks(xb, yb).gpu_threads(y0, xt, y1);
          product.compute_at(output, y0).store_in(Memory::registers);
          product.update().split(k, k1, k0, steps).split(k0, k2, k3, 4).reorder(k3, x, y, k2, k1).unroll(k3);
          left.compute_at(product, k1).store_in(Memory::shared).pad(x, 4).pipelined(stages);
          right.compute_at(product, k1).store_in(Memory::shared).pipelined(stages);
        };
        schedule("pipelined, 8x8x16", [&] { pipelined(16, 3); });
      }};
}

void measure_product(bench::Report &report) {
  constexpr std::int64_t n = matrix_rows;
  const Pipeline pipeline = product_pipeline();
  const TileKernel kernel{"matmul_by_tile", [](Array<float, 2> c, Array<const float, 2> a, Array<const float, 2> b) {
                            auto [i, j] = block_index<2>();
                            Tile<float> sum = tile::zeros<float>({128, 128});
                            for (Int k : range(n / 16, pipelined(3)))
                              tile::matmul(tile::load(a, {i, k}, {128, 16}), tile::load(b, {k, j}, {16, 128}), sum);
                            tile::store(c, {i, j}, sum);
                          }};
  const Buffer<float> a = random_buffer({n, n}, 6), b = random_buffer({n, n}, 7);
  Buffer<float> result{Device::cuda(0), {n, n}}, same{Device::cuda(0), {n, n}};
  Launch by_tile = kernel.record({n / 128, n / 128}, same, a, b);
  by_tile.launch();
  for (const char *schedule : product_schedules) {
    PipelineLaunch launch = pipeline.record({.schedule = schedule}, result, a, b);
    launch.launch();
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{733}, n - 1})
      bench::require_close(result.at(i, i), same.at(i, i), 1e-3, "product");
    const auto [time, peer_time] = bench::alternate_on_device(
        {.rounds = 15, .calls = 10}, Stream::standard(Device::cuda(0)), [&] { launch.launch(); },
        [&] { by_tile.launch(); });
    report.add({fmt::format("product of 2048² matrices of f32, as a pipeline, schedule {}", schedule),
                "time of a launch", time * 1e3, "ms", "the kernel per tile", peer_time * 1e3,
                fmt::format("{:.1f} TFLOP/s", 2.0 * n * n * n / time * 1e-12)},
               {.ratio_at_least = schedule == std::string_view(product_schedules[1]) ? 0.95 : 0.0});
  }
}

}  // namespace

int main() {
  return bench::run("cuda_pipelines", [](bench::Report &report) {
    if (CudaDevice::count() == 0) {
      report.note("There is no GPU here.");
      return;
    }
    measure_tensor_product(report);
    measure_stencil(report);
    measure_blur(report);
    measure_product(report);
  });
}
