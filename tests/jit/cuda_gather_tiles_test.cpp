// The conditions under which the gradients of a tile kernel are gathered on CUDA, and their values.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"

#include <gmock/gmock.h>

#include <cmath>

namespace samite::test {
namespace {

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * i * 7 + 3 * i + seed) % 11 - 5));
  return values;
}

// With factors of type T, and sums in float.
template <class T>
auto product_of() {
  return TileKernel{"product",
                    {"a", "b", "c"},
                    [](Array<const T, 2> a, Array<const T, 2> b, Array<float, 2> c) {
                      auto [i, j] = block_index<2>();
                      auto sum = tile::zeros<float>({16, 16});
                      for (Int k : range(tile::ceil_div(a.extent(1), 8), pipelined(2)))
                        tile::matmul(tile::load(a, {i, k}, {16, 8}), tile::load(b, {k, j}, {8, 16}), sum);
                      tile::store(c, {i, j}, sum);
                    },
                    {.threads = 64}};
}

// A product's factors and result, all of which track gradients, and its adjoint launch.
template <class T>
struct Product {
  Product(Device device, std::int64_t rows, std::int64_t columns, std::int64_t terms, LaunchOptions options = {})
      : a(device, {rows, terms}, Gradient::tracked),
        b(device, {terms, columns}, Gradient::tracked),
        c(device, {rows, columns}, Gradient::tracked) {
    options.direction = Direction::adjoint;
    adjoint.emplace(kernel.record({(rows + 15) / 16, (columns + 15) / 16}, options, a, b, c));
  }

  // All numbers are whole, and small enough for exact sums in float; gradients are rounded once.
  void expect_gradients() {
    expect_gradients([&] { adjoint->launch(); });
  }
  void expect_gradients(const std::function<void()> &launch) {
    const std::int64_t rows = a.extent(0), terms = a.extent(1), columns = b.extent(1);
    const auto x = numbers(rows * terms, 1), y = numbers(terms * columns, 2), seed = numbers(rows * columns, 3);
    const auto as_given = [](const std::vector<float> &values) { return std::vector<T>(values.begin(), values.end()); };
    a.copy_from(as_given(x)), b.copy_from(as_given(y)), c.gradient().copy_from(seed);
    a.zero_gradient(), b.zero_gradient();
    launch();
    const auto da = a.gradient().to_vector(), db = b.gradient().to_vector();
    const auto at = [](const auto &m, std::int64_t n, std::int64_t i, std::int64_t j) {
      return m[static_cast<std::size_t>(i * n + j)];
    };
    for (std::int64_t k = 0; k < terms; ++k) {
      for (std::int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += at(seed, columns, i, j) * at(y, columns, k, j);
        ASSERT_EQ(at(da, terms, i, k), T(sum)) << i << ' ' << k;
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::int64_t i = 0; i < rows; ++i) sum += at(seed, columns, i, j) * at(x, terms, i, k);
        ASSERT_EQ(at(db, columns, k, j), T(sum)) << k << ' ' << j;
      }
    }
    EXPECT_EQ(c.gradient().to_vector(), std::vector<float>(static_cast<std::size_t>(rows * columns)));
  }

  decltype(product_of<T>()) kernel = product_of<T>();
  Buffer<T> a, b;
  Buffer<float> c;
  std::optional<Launch> adjoint;
};

class CudaGatherTiles : public CudaKernelTest {
 protected:
  struct Arguments {
    MatrixArgument<float> arrays[6];
  };
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    for (const char *name :
         {"product_adjoint", "product_adjoint_gathered", "product_adjoint_gathered_2", "product_adjoint_clear"})
      understand<Arguments>(name, [](const Arguments &, const LaunchBox &) {});
  }

  static bool gathers(std::int64_t rows, std::int64_t columns, std::int64_t terms, const LaunchOptions &options = {}) {
    return Product<float>(device(), rows, columns, terms, options).adjoint->variant().key.derivative.gather;
  }
};
SAMITE_CUDA_SUITE(CudaGatherTiles);

TEST_P(CudaGatherTiles, WhereManyBlocksMeet) {
  EXPECT_TRUE(gathers(128, 128, 128));
  EXPECT_FALSE(gathers(32, 32, 128)) << "a few blocks, which scatter sooner";
  EXPECT_FALSE(gathers(16, 2048, 8)) << "one block of 128 would have a window";
  EXPECT_TRUE(gathers(32, 32, 128, {.deterministic = true}));
  EXPECT_FALSE(gathers(128, 128, 128, {.debug = true}));
}

// The square of a product, in tiles of this many rows and columns: its cotangent follows from the sums.
template <int size>
struct SquaredProduct {
  explicit SquaredProduct(Device device, std::int64_t rows = 64, std::int64_t terms = 64, LaunchOptions options = {})
      : a(device, {rows, terms}, Gradient::tracked),
        b(device, {terms, rows}, Gradient::tracked),
        c(device, {rows, rows}, Gradient::tracked) {
    const std::int64_t blocks = (rows + size - 1) / size;
    options.direction = Direction::adjoint;
    adjoint.emplace(kernel.record({blocks, blocks}, options, a, b, c));
  }
  const jit::Variant &variant() const { return adjoint->variant(); }

  TileKernel<void(Array<const float, 2>, Array<const float, 2>, Array<float, 2>)> kernel{
      "squared",
      {"a", "b", "c"},
      [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
        auto [i, j] = block_index<2>();
        auto sum = tile::zeros<float>({size, size});
        for (Int k : range(tile::ceil_div(a.extent(1), 32), pipelined(3)))
          tile::matmul(tile::load(a, {i, k}, {size, 32}), tile::load(b, {k, j}, {32, size}), sum);
        tile::store(c, {i, j}, sum * sum);
      },
      {.threads = 128}};
  Buffer<float> a, b, c;
  std::optional<Launch> adjoint;
};

// The kernels of its adjoint, and the arguments that the gathered ones got for the computed cotangent.
class CudaRecomputedCotangents : public CudaKernelTest {
 protected:
  struct Arguments {
    MatrixArgument<float> arrays[6];
  };
  struct WithCopy : Arguments {
    MatrixArgument<float> copy;
  };
  std::vector<std::pair<std::string, MatrixArgument<float>>> ran;

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<Arguments>("squared_adjoint", [](const Arguments &, const LaunchBox &) {});
    for (const std::string name : {"cotangent", "gathered", "gathered_2"})
      understand<WithCopy>("squared_adjoint_" + name, [this, name](const WithCopy &given, const LaunchBox &) {
        ran.emplace_back(name, given.copy);
      });
  }
};
SAMITE_CUDA_SUITE(CudaRecomputedCotangents);

// A block that scatters holds its sums, their cotangent and the windows of both gradients at the same time.
TEST_P(CudaRecomputedCotangents, AreGatheredWhereBlocksThatScatterHaveNoRoom) {
  EXPECT_FALSE(SquaredProduct<32>(device()).variant().key.derivative.gather) << "a few blocks, which scatter sooner";
  const SquaredProduct<192> large(device());
  EXPECT_TRUE(large.variant().key.derivative.gather);
  EXPECT_FALSE(large.variant().key.derivative.wide_windows);
  EXPECT_FALSE(SquaredProduct<32>(device(), 510, 256, {.debug = true}).variant().key.derivative.gather);
  SquaredProduct<192> debugged(device(), 64, 64, {.debug = true});
  EXPECT_TRUE(debugged.variant().key.derivative.gather && !debugged.variant().key.races);
  debugged.adjoint->launch();
  Stream::standard(device()).synchronize();
  if (fake()) EXPECT_EQ(ran.size(), 2u);
}

// In memory of the launch's own, as large as the array.
TEST_P(CudaRecomputedCotangents, ComeFirst) {
  SquaredProduct<32> product(device(), 510, 256);
  ASSERT_TRUE(product.variant().key.derivative.gather);
  ASSERT_EQ(product.variant().arrays.copies.size(), 1u);
  EXPECT_EQ(product.variant().arrays.copies[0].type, ScalarType::Float32);
  ASSERT_TRUE(product.variant().first);
  EXPECT_EQ(product.variant().first->name, "squared_adjoint_cotangent");
  if (!fake()) return;
  product.adjoint->launch();
  ASSERT_GE(ran.size(), 2u);
  EXPECT_EQ(ran[0].first, "cotangent");
  for (const auto &[name, copy] : ran) {
    EXPECT_EQ(copy.data, ran[0].second.data) << name;
    EXPECT_THAT(copy.extent, testing::ElementsAre(510, 510)) << name;
    EXPECT_THAT(copy.stride, testing::ElementsAre(512, 1)) << "rows begin at multiples of 16 bytes";
  }
}

TEST_P(CudaRecomputedCotangents, GiveTheGradient) {
  if (fake()) GTEST_SKIP() << "the fake computes nothing; tests/codegen/cuda_gather_tiles_test.cpp does";
  const std::int64_t n = 250, terms = 130;
  SquaredProduct<32> product(device(), n, terms);
  ASSERT_TRUE(product.variant().first);
  const auto x = numbers(n * terms, 1), y = numbers(terms * n, 2), seed = numbers(n * n, 3);
  product.a.copy_from(x), product.b.copy_from(y), product.c.gradient().copy_from(seed);
  product.adjoint->launch();
  const auto da = product.a.gradient().to_vector();
  const auto at = [](const std::vector<float> &m, std::int64_t width, std::int64_t i, std::int64_t j) {
    return static_cast<double>(m[static_cast<std::size_t>(i * width + j)]);
  };
  for (std::int64_t i = 0; i < n; i += 7) {
    std::vector<double> cotangent;  // of row i of the product
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < terms; ++k) sum += at(x, terms, i, k) * at(y, n, k, j);
      cotangent.push_back(2 * sum * at(seed, n, i, j));
    }
    for (std::int64_t k = 0; k < terms; ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += cotangent[static_cast<std::size_t>(j)] * at(y, n, k, j);
      ASSERT_NEAR(at(da, terms, i, k), sum, 1e-4 * std::abs(sum) + 1) << i << ' ' << k;
    }
  }
}

TEST_P(CudaGatherTiles, WindowsAreWideWhereThereAreEnoughOfThem) {
  const auto wide = [](std::int64_t rows, std::int64_t columns, std::int64_t terms) {
    return Product<float>(device(), rows, columns, terms).adjoint->variant().key.derivative.wide_windows;
  };
  EXPECT_TRUE(wide(128, 128, 128)) << "one for each block";
  EXPECT_TRUE(wide(133, 121, 133)) << "half of the last one is beyond the array";
  EXPECT_FALSE(wide(128, 128, 64)) << "half of the blocks would have nothing to do, and the others are few";
  EXPECT_TRUE(wide(512, 512, 128)) << "8 for each 32 blocks: 256";
  EXPECT_FALSE(wide(32, 32, 128));
}

TEST_P(CudaGatherTiles, FollowsTheLaunchsExtents) {
  Product<float> product(device(), 128, 128, 128);
  product.adjoint->set_dim(0, 2);
  product.adjoint->set_dim(1, 2);
  EXPECT_FALSE(product.adjoint->variant().key.derivative.gather);
}

TEST_P(CudaGatherTiles, IsTheGradientByWideWindows) {
  Product<float> product(device(), 133, 120, 135);
  ASSERT_TRUE(product.adjoint->variant().key.derivative.wide_windows);
  if (fake()) GTEST_SKIP() << "the fake computes nothing";
  product.expect_gradients();
}

TEST_P(CudaGatherTiles, IsTheGradient) {
  Product<float> product(device(), 133, 120, 75);
  ASSERT_TRUE(product.adjoint->variant().key.derivative.gather);
  if (fake()) GTEST_SKIP() << "the fake computes nothing; tests/codegen/cuda_gather_tiles_test.cpp does";
  product.expect_gradients();
}

// Adjoints whose cotangents are rounded once, to a copy that belongs to the launch.
class CudaCastCopies : public CudaKernelTest {
 protected:
  struct Arguments {
    MatrixArgument<half> a, b;
    MatrixArgument<float> c;
    MatrixArgument<half> a_gradient, b_gradient;
    MatrixArgument<float> c_gradient;
  };
  struct WithCopy : Arguments {
    MatrixArgument<half> copy;
  };
  struct Ran {
    std::string kernel;
    MatrixArgument<half> copy;
  };
  std::vector<Ran> ran;

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    // The copy is written to its last element, and read at the same address.
    understand<WithCopy>("product_adjoint_gathered_copy", [this](const WithCopy &given, const LaunchBox &) {
      const auto &[data, extent, stride] = given.copy;
      data[(extent[0] - 1) * stride[0] + (extent[1] - 1) * stride[1]] = half(42.0f);
      ran.push_back({"copy", given.copy});
    });
    for (const char *which : {"gathered", "gathered_2"})
      understand<WithCopy>(std::string("product_adjoint_") + which,
                           [=, this](const WithCopy &given, const LaunchBox &) {
                             const auto &[data, extent, stride] = given.copy;
                             EXPECT_EQ(data[(extent[0] - 1) * stride[0] + (extent[1] - 1) * stride[1]], half(42.0f));
                             ran.push_back({which, given.copy});
                           });
    understand<Arguments>("product_adjoint_clear",
                          [this](const Arguments &, const LaunchBox &) { ran.push_back({"clear", {}}); });
  }

  // Copy, gathered adjoint, zeros; the first two have the copy of an array of these extents.
  void expect_ran(std::int64_t rows, std::int64_t columns, std::int64_t row_stride) {
    ASSERT_EQ(ran.size(), 3u);
    EXPECT_EQ(ran[0].kernel + ran[1].kernel + ran[2].kernel, "copygatheredclear");
    EXPECT_EQ(ran[0].copy.data, ran[1].copy.data);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ran[0].copy.data) % 16, 0u);
    for (const Ran &one : {ran[0], ran[1]}) {
      EXPECT_THAT(one.copy.extent, testing::ElementsAre(rows, columns));
      EXPECT_THAT(one.copy.stride, testing::ElementsAre(row_stride, 1));
    }
  }
  const half *copy_of(const std::function<void()> &launch) {
    ran.clear();
    launch();
    return ran.at(0).copy.data;
  }
};
SAMITE_CUDA_SUITE(CudaCastCopies);

TEST_P(CudaCastCopies, AreTheLaunchsOwn) {
  if (!fake()) GTEST_SKIP() << "looks at what the fake was given";
  Product<half> product(device(), 133, 121, 75);
  ASSERT_TRUE(product.adjoint->variant().key.derivative.gather);
  const half *first = copy_of([&] { product.adjoint->launch(); });
  expect_ran(133, 121, 128);
  EXPECT_EQ(copy_of([&] { product.adjoint->launch(); }), first) << "recorded once";
  const Stream other(device());
  EXPECT_NE(copy_of([&] { product.adjoint->launch(other); }), first) << "two streams may run at the same time";
  expect_ran(133, 121, 128);
  EXPECT_EQ(copy_of([&] { product.adjoint->launch(); }), first);
  // For another array.
  Buffer<float> wider(device(), {133, 200}, Gradient::tracked);
  product.adjoint->set("c", wider);
  copy_of([&] { product.adjoint->launch(); });
  expect_ran(133, 200, 200);
  // Without a record.
  copy_of([&] {
    product.kernel.launch({9, 8}, LaunchOptions{.direction = Direction::adjoint}, product.a, product.b, product.c);
  });
  expect_ran(133, 121, 128);
}

// If windows are wide, each gradient has a separate kernel: one copy serves both.
TEST_P(CudaCastCopies, ServeEachKernelOfWideWindows) {
  if (!fake()) GTEST_SKIP() << "looks at what the fake was given";
  const Stream stream(device());
  Product<half> product(device(), 133, 121, 133, {.stream = stream});
  ASSERT_TRUE(product.adjoint->variant().key.derivative.wide_windows);
  const auto expect_ran = [&](const std::function<void()> &launch) {
    ran.clear();
    launch();
    ASSERT_EQ(ran.size(), 4u);
    EXPECT_EQ(ran[0].kernel + ran[1].kernel + ran[2].kernel + ran[3].kernel, "copygatheredgathered_2clear");
    EXPECT_EQ(ran[0].copy.data, ran[1].copy.data);
    EXPECT_EQ(ran[0].copy.data, ran[2].copy.data);
  };
  expect_ran([&] { product.adjoint->launch(); });
  Graph graph = capture(stream, [&] { product.adjoint->launch(); });
  expect_ran([&] { graph.launch(); });
  graph.set(0, *product.adjoint);
  expect_ran([&] { graph.launch(); });
  graph.enable(0, false);
  ran.clear();
  graph.launch();
  EXPECT_TRUE(ran.empty());
}

TEST_P(CudaCastCopies, FollowAGraph) {
  if (!fake()) GTEST_SKIP() << "looks at what the fake was given";
  const Stream stream(device());
  const LaunchOptions options{.direction = Direction::adjoint, .stream = stream};
  Product<half> product(device(), 133, 121, 75, options);
  Graph graph = capture(stream, [&] { product.adjoint->launch(); });
  copy_of([&] { graph.launch(); });
  expect_ran(133, 121, 128);
  Launch edited = *product.adjoint;
  Buffer<float> wider(device(), {133, 200}, Gradient::tracked);
  edited.set("c", wider);
  graph.set(0, edited);
  copy_of([&] { graph.launch(); });
  expect_ran(133, 200, 200);
  graph.enable(0, false);
  ran.clear();
  graph.launch();
  EXPECT_TRUE(ran.empty());
  // A launch that is not recorded first also has its memory as long as the graph lives.
  Graph own = capture(stream, [&] { product.kernel.launch({9, 8}, options, product.a, product.b, product.c); });
  const half *first = copy_of([&] { own.launch(); });
  expect_ran(133, 121, 128);
  EXPECT_EQ(copy_of([&] { own.launch(); }), first);
}

TEST_P(CudaCastCopies, GiveTheGradient) {
  if (fake()) GTEST_SKIP() << "the fake computes nothing; tests/codegen/cuda_gather_tiles_test.cpp does";
  Product<half> of_half(device(), 133, 121, 75);
  EXPECT_EQ(of_half.adjoint->variant().arrays.copies.size(), 1u);
  of_half.expect_gradients();
  of_half.expect_gradients();
  Product<bfloat16> of_bfloat16(device(), 128, 256, 64);
  EXPECT_EQ(of_bfloat16.adjoint->variant().arrays.copies.size(), 1u);
  of_bfloat16.expect_gradients();
  // From a graph, twice.
  const Stream stream(device());
  Product<half> captured(device(), 133, 121, 75, {.stream = stream});
  Graph graph = capture(stream, [&] {
    captured.kernel.launch({9, 8}, {.direction = Direction::adjoint, .stream = stream}, captured.a, captured.b,
                           captured.c);
  });
  for (int i = 0; i < 2; ++i) captured.expect_gradients([&] { graph.launch(), stream.synchronize(); });
}

}  // namespace
}  // namespace samite::test
