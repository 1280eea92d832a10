// Launches of kernels with bulk copies: the tensor maps that they hand over, on the fake driver; on a GPU the products.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ProductArguments {
  MatrixArgument<const half> a, b;
  MatrixArgument<float> c;
};

class CudaTensorMaps : public CudaKernelTest {
 protected:
  static constexpr std::int64_t size = 128;

  // In the place of the kernel: a plain product, of arrays at the addresses that the maps have.
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped() || !fake()) return;
    const auto multiply = [this](const ProductArguments &arguments, const half *a, const half *b,
                                 const LaunchBox &box) {
      addresses_ = {a, b};
      for (std::int64_t i = 0; i < std::min(arguments.c.extent[0], 64 * box.end[0]); ++i)
        for (std::int64_t j = 0; j < arguments.c.extent[1]; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < arguments.a.extent[1]; ++k)
            sum += static_cast<float>(a[i * arguments.a.stride[0] + k * arguments.a.stride[1]]) *
                   static_cast<float>(b[k * arguments.b.stride[0] + j * arguments.b.stride[1]]);
          arguments.c.data[i * arguments.c.stride[0] + j * arguments.c.stride[1]] = sum;
        }
    };
    driver::fake::KernelCode code;
    code.name = "samite_by_copies";
    code.parameter_bytes = {sizeof(ProductArguments), sizeof(LaunchBox), 8, 16, 2 * sizeof(driver::TensorMapBits)};
    code.run = [multiply](void **parameters) {
      ProductArguments arguments;
      std::array<driver::TensorMapBits, 2> maps;
      LaunchBox box;
      std::memcpy(&arguments, parameters[0], sizeof arguments);
      std::memcpy(&box, parameters[1], sizeof box);
      std::memcpy(maps.data(), parameters[4], sizeof maps);
      const auto at = [](const driver::TensorMapBits &map) { return reinterpret_cast<const half *>(map.words[0]); };
      multiply(arguments, at(maps[0]), at(maps[1]), box);
    };
    fake()->understand(code);
    understand<ProductArguments>("by_threads", [multiply](const ProductArguments &arguments, const LaunchBox &box) {
      multiply(arguments, arguments.a.data, arguments.b.data, box);
    });
  }

  auto product(const char *name) const {
    return TileKernel{name,
                      {"a", "b", "c"},
                      [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
                        auto [i, j] = block_index<2>();
                        Tile<float> sum = tile::zeros<float>({64, 64});
                        for (Int k : range(tile::ceil_div(a.extent(1), 64), pipelined(2)))
                          tile::matmul(tile::load(a, {i, k}, {64, 64}), tile::load(b, {k, j}, {64, 64}), sum);
                        tile::store(c, {i, j}, sum);
                      },
                      TileOptions{.threads = 128}};
  }

  // Element (i, j) is `scale` if i == j + 1, so that a product moves rows.
  Buffer<half> shifted(float scale, std::int64_t columns = size) {
    std::vector<half> values(static_cast<std::size_t>(size * columns), half(0.0f));
    for (std::int64_t i = 1; i < size && i - 1 < columns; ++i)
      values[static_cast<std::size_t>(i * columns + i - 1)] = half(scale);
    return {device(), {size, columns}, values};
  }
  static void expect_product(const Buffer<float> &c, float scale) {
    EXPECT_EQ(c.at(2, 0), scale);
    EXPECT_EQ(c.at(100, 98), scale);
    EXPECT_EQ(c.at(100, 99), 0.0f);
  }
  void expect_addresses(const Buffer<half> &a, const Buffer<half> &b) {
    if (!fake()) return;
    EXPECT_THAT(addresses_, ElementsAre(a.data(), b.data()));
  }

  std::vector<const half *> addresses_;
};
SAMITE_CUDA_SUITE(CudaTensorMaps);

TEST_P(CudaTensorMaps, AreOfTheArraysOfEachLaunch) {
  const auto kernel = product("by_copies");
  const Buffer<half> a = shifted(2), b = shifted(3), other = shifted(5);
  Buffer<float> c{device(), {size, size}};
  kernel.launch({2, 2}, a, b, c);
  expect_product(c, 6);
  expect_addresses(a, b);
  kernel.launch({2, 2}, other, b, c);
  expect_product(c, 15);
  expect_addresses(other, b);
  ASSERT_EQ(kernel.variants().size(), 1u);
  EXPECT_EQ(kernel.variants()[0]->gpu.tensor_maps.size(), 2u);
  EXPECT_EQ(kernel.variants()[0]->gpu.products.at(0).why_not, "");
  EXPECT_THAT(report(kernel).to_string(), HasSubstr(": by groups of warps from bulk copies"));
  EXPECT_EQ(report(kernel).variants.at(0).trials, 1);
  EXPECT_THAT(report(kernel).to_string(), HasSubstr("\n  1 trial of plans"));
}

TEST_P(CudaTensorMaps, AreMadeAgainWhereALaunchIsChanged) {
  const auto kernel = product("by_copies");
  const Buffer<half> a = shifted(2), b = shifted(3);
  Buffer<float> c{device(), {size, size}};
  Launch launch = kernel.record({2, 2}, a, b, c);
  launch.launch();
  expect_product(c, 6);
  {
    Buffer<half> other = shifted(7);
    launch.set(1, other);
  }
  launch.launch();  // which keeps the array
  expect_product(c, 14);
  launch.set(1, b);
  launch.set_dim({1, 2});
  launch.launch();
  expect_addresses(a, b);
  EXPECT_EQ(c.at(2, 0), 6.0f);
  EXPECT_EQ(c.at(100, 98), 14.0f);
}

TEST_P(CudaTensorMaps, AreInGraphsAndTheirEdits) {
  const auto kernel = product("by_copies");
  const Buffer<half> a = shifted(2), b = shifted(3), other = shifted(4);
  Buffer<float> c{device(), {size, size}};
  Launch first = kernel.record({2, 2}, a, b, c), second = kernel.record({2, 2}, other, b, c);
  Graph graph = capture(Stream::standard(device()), [&] { first.launch(); });
  graph.launch();
  expect_product(c, 6);
  graph.set(0, second);
  graph.launch();
  expect_product(c, 12);
  expect_addresses(other, b);
}

// A literal of C++ is an index like any other.
TEST_P(CudaTensorMaps, AreOfWindowsAtLiteralIndices) {
  const TileKernel kernel{"by_copies",
                          {"a", "b", "c"},
                          [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
                            Int i = block_index();
                            Tile<float> sum = tile::zeros<float>({64, 64});
                            for (Int k : range(tile::ceil_div(a.extent(1), 64), pipelined(2)))
                              tile::matmul(tile::load(a, {i, k}, {64, 64}), tile::load(b, {k, 0}, {64, 64}), sum);
                            tile::store(c, {i, 0}, sum);
                          },
                          TileOptions{.threads = 128}};
  const Buffer<half> a = shifted(2), b = shifted(3);
  const Buffer<float> c{device(), {size, size}};
  EXPECT_EQ(kernel.record({2}, a, b, c).variant().gpu.tensor_maps.size(), 2u);
}

// Each kind of array without a possible map, or that bulk copies would read wrongly, takes the other way, and the
// variant gives the reason.
TEST_P(CudaTensorMaps, AreNotNeededWhereNoneCanBeMade) {
  const Buffer<half> a = shifted(2), b = shifted(3), wide = shifted(2, size + 4);
  Buffer<float> c{device(), {size, size}};
  const auto why_not = [&](const Buffer<half> &own) {
    const auto kernel = product("by_threads");
    kernel.launch({2, 2}, own, b, c);
    expect_addresses(own, b);
    EXPECT_TRUE(kernel.variants()[0]->gpu.tensor_maps.empty());
    EXPECT_THAT(report(kernel).to_string(), HasSubstr(": not by groups of warps from bulk copies, since "));
    return kernel.variants()[0]->gpu.products.at(0).why_not;
  };
  EXPECT_THAT(why_not(wide.slice(1, 0, size)), HasSubstr("multiples of 16 bytes"));
  expect_product(c, 6);
  EXPECT_THAT(why_not(a.transpose()), HasSubstr("one after another"));
  EXPECT_THAT(why_not(a.slice(0, size - 1, -1, -1)), HasSubstr("strides or extents"));
  Buffer<half> empty{device(), {size, 0}};
  EXPECT_THAT(why_not(empty), HasSubstr("of 'a'"));
  EXPECT_EQ(c.at(2, 0), 0.0f);
}

}  // namespace
}  // namespace samite::test
