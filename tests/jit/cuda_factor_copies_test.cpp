// Launches of products whose factors are copied first, so that bulk copies can read them: on the fake driver, which
// copies and multiplies in the kernels' place, and on a GPU.
#include "samite/driver/capture.h"
#include "samite/driver/graph_executable.h"
#include "samite/jit/array_copies.h"
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The kernels that the fake ran, in order: "rows" and "transposed" copies, "product" for products by bulk copies and
// "other" for all others.
using Ran = std::vector<std::string>;

class CudaFactorCopies : public CudaKernelTest {
 protected:
  // Arguments, and as many arrays after them as are copied.
  struct ProductArguments {
    MatrixArgument<const std::byte> a, b;
    MatrixArgument<float> c;
  };

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped() || !fake()) return;
    for (const int bytes : {2, 4}) {
      understand_copies(bytes, true);
      understand_copies(bytes, false);
    }
    for (std::size_t copies = 0; copies < 3; ++copies) understand_product<half>("product", "product", copies);
    for (std::size_t copies = 0; copies < 3; ++copies) understand_product<float>("tf32", "product", copies);
    understand_product<half>("plain", "other", 0, false);
  }

  void understand_copies(int bytes, bool by_rows) {
    driver::fake::KernelCode code;
    code.name = std::string(by_rows ? "samite_copy_rows_" : "samite_copy_transposed_") + std::to_string(bytes);
    code.parameter_bytes = {sizeof(jit::ArrayCopyArguments)};
    code.run = [this, bytes, by_rows](void **parameters) {
      jit::ArrayCopyArguments own;
      std::memcpy(&own, parameters[0], sizeof own);
      EXPECT_EQ(own.stride[by_rows ? 3 : 2], bytes);
      EXPECT_EQ(own.to % 256, 0u);
      EXPECT_EQ(own.row_bytes % 16, 0);
      EXPECT_EQ(own.extent[0], 1);
      const auto *from = reinterpret_cast<const std::byte *>(own.from);
      auto *to = reinterpret_cast<std::byte *>(own.to);
      for (std::int64_t z = 0; z < own.extent[1]; ++z)
        for (std::int64_t i = 0; i < own.extent[2]; ++i)
          for (std::int64_t j = 0; j < own.extent[3]; ++j)
            std::memcpy(to + (z * own.extent[2] + i) * own.row_bytes + j * bytes,
                        from + z * own.stride[1] + i * own.stride[2] + j * own.stride[3],
                        static_cast<std::size_t>(bytes));
      ran_.push_back(by_rows ? "rows" : "transposed");
      copies_.push_back(own.to);
    };
    fake()->understand(code);
  }

  // The first row and the last one of the product, of arrays at the addresses of the maps or of the arguments.
  template <class T>
  void understand_product(const char *kernel, const char *what, std::size_t copies, bool by_maps = true) {
    driver::fake::KernelCode code;
    code.name = std::string("samite_") + kernel + (copies == 0 ? "" : "_" + std::to_string(copies));
    const std::size_t bytes = sizeof(ProductArguments) + copies * sizeof(MatrixArgument<const T>);
    code.parameter_bytes = {bytes, sizeof(LaunchBox), 8, 16};
    if (by_maps) code.parameter_bytes.push_back(2 * sizeof(driver::TensorMapBits));
    code.run = [this, what, copies, by_maps](void **parameters) {
      ran_.push_back(what);
      struct {
        ProductArguments own;
        MatrixArgument<const std::byte> copies[2];
      } given;
      std::memcpy(&given, parameters[0], sizeof(ProductArguments) + copies * sizeof given.copies[0]);
      std::array<MatrixArgument<const std::byte>, 2> factors{given.own.a, given.own.b};
      const std::int64_t terms = given.own.a.extent[1];
      std::array<bool, 2> swapped{};
      std::array<driver::TensorMapBits, 2> maps;
      if (by_maps) std::memcpy(maps.data(), parameters[4], sizeof maps);
      for (std::size_t f = 0; by_maps && f < 2; ++f) {
        const auto *at = reinterpret_cast<const std::byte *>(maps[f].words[0]);
        EXPECT_EQ(maps[f].words[0] % 16, 0u);
        for (std::size_t n = 0; n < copies; ++n)
          if (given.copies[n].data == at) {
            swapped[f] = given.copies[n].extent[0] != factors[f].extent[0];
            factors[f] = given.copies[n];
          }
        EXPECT_EQ(factors[f].data, at);
      }
      const auto value = [&](std::size_t f, std::int64_t i, std::int64_t j) {
        if (swapped[f]) std::swap(i, j);
        T own;
        std::memcpy(&own,
                    factors[f].data +
                        (i * factors[f].stride[0] + j * factors[f].stride[1]) * static_cast<std::int64_t>(sizeof(T)),
                    sizeof own);
        return static_cast<float>(own);
      };
      const MatrixArgument<float> &c = given.own.c;
      for (const std::int64_t i : {std::int64_t{0}, c.extent[0] - 1})
        for (std::int64_t j = 0; j < c.extent[1]; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < terms; ++k) sum += value(0, i, k) * value(1, k, j);
          c.data[i * c.stride[0] + j * c.stride[1]] = sum;
        }
    };
    fake()->understand(code);
  }

  // A kernel of an adjoint that takes this many matrices and tensor maps, and does nothing.
  void understand_adjoint(const std::string &kernel, std::size_t matrices, std::size_t maps = 2) {
    if (!fake()) return;
    driver::fake::KernelCode code;
    code.name = "samite_product_adjoint_" + kernel;
    code.parameter_bytes = {matrices * sizeof(MatrixArgument<float>), sizeof(LaunchBox), 8, 16};
    if (maps != 0) code.parameter_bytes.push_back(maps * sizeof(driver::TensorMapBits));
    code.run = [this, kernel](void **) { ran_.push_back(kernel); };
    fake()->understand(code);
  }

  // The product of a block's tile of a b.
  template <class A, class B>
  static Tile<float> sums(const Array<A, 2> &a, const Array<B, 2> &b, tile::Precision precision = tile::Precision::full,
                          int width = 128) {
    constexpr std::int64_t terms = 128 / sizeof(A);
    auto [i, j] = block_index<2>();
    Tile<float> sum = tile::zeros<float>({128, width});
    for (Int k : range(tile::ceil_div(a.extent(1), static_cast<int>(terms)), pipelined(2))) {
      // Compilers evaluate arguments in either order, and the order of loads is that of an adjoint's copies.
      const auto of_a = tile::load(a, {i, k}, {128, terms});
      const auto of_b = tile::load(b, {k, j}, {terms, width});
      tile::matmul(of_a, of_b, sum, precision);
    }
    return sum;
  }

  // `name`: the fake's kernels have the number of copies in theirs.
  template <class T>
  auto product(const std::string &name, tile::Precision precision = tile::Precision::full, int width = 128) const {
    return TileKernel{name,
                      {"a", "b", "c"},
                      [=](Array<const T, 2> a, Array<const T, 2> b, Array<float, 2> c) {
                        auto [i, j] = block_index<2>();
                        tile::store(c, {i, j}, sums(a, b, precision, width));
                      },
                      TileOptions{.threads = 256}};
  }

  // Small whole numbers, so that sums are exact in any order.
  template <class T>
  Buffer<T> numbers(std::int64_t rows, std::int64_t columns, unsigned seed) const {
    std::vector<T> values;
    for (std::int64_t i = 0; i < rows * columns; ++i)
      values.push_back(T(static_cast<float>((i * i + 7 * i + seed) % 5 - 2)));
    return {device(), {rows, columns}, values};
  }

  template <class T>
  static void expect_product(const Buffer<T> &a, const Buffer<T> &b, const Buffer<float> &c) {
    const auto x = a.to_vector(), y = b.to_vector();
    const auto z = c.to_vector();
    const std::int64_t terms = a.extent(1), columns = c.extent(1);
    for (const std::int64_t i : {std::int64_t{0}, c.extent(0) - 1})
      for (std::int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < terms; ++k)
          sum += static_cast<float>(x[static_cast<std::size_t>(i * terms + k)]) *
                 static_cast<float>(y[static_cast<std::size_t>(k * columns + j)]);
        ASSERT_EQ(z[static_cast<std::size_t>(i * columns + j)], sum) << i << ' ' << j;
      }
  }

  static Extents grid(const Buffer<float> &c, int width = 128) {
    return {(c.extent(0) + 127) / 128, (c.extent(1) + width - 1) / width};
  }

  void expect_ran(const Ran &expected) {
    if (fake()) {
      EXPECT_EQ(ran_, expected);
    }
    ran_.clear();
  }

  Ran ran_;
  std::vector<std::uint64_t> copies_;  // addresses of the copies
};
SAMITE_CUDA_SUITE(CudaFactorCopies);

// As for a launch of these extents, with rows that begin at odd addresses.
constexpr std::int64_t rows = 517, columns = 641, terms = 513;

TEST_P(CudaFactorCopies, OfRowsThatBeginAtOddAddresses) {
  const auto kernel = product<half>("product_2");
  const Buffer<half> a = numbers<half>(rows, terms, 1), b = numbers<half>(terms, columns, 2);
  Buffer<float> c{device(), {rows, columns}};
  kernel.launch(grid(c), a, b, c);
  expect_ran({"rows", "rows", "product"});
  expect_product(a, b, c);
  const jit::Variant &variant = *kernel.variants().at(0);
  EXPECT_EQ(variant.gpu.tensor_maps.size(), 2u);
  EXPECT_EQ(variant.arrays.factor_copies.size(), 2u);
  EXPECT_THAT(report(kernel).to_string(),
              HasSubstr(": by groups of warps from bulk copies; rows of 'a' do not all begin at multiples of 16 bytes, "
                        "so that it is copied first; rows of 'b' do not all"));
}

TEST_P(CudaFactorCopies, OfOneFactorAlone) {
  const auto kernel = product<half>("product_1");
  const Buffer<half> a = numbers<half>(rows, 512, 1), b = numbers<half>(512, columns, 2);
  Buffer<float> c{device(), {rows, columns}};
  kernel.launch(grid(c), a, b, c);
  expect_ran({"rows", "product"});
  expect_product(a, b, c);
}

// Views: every second row, from an element inside of a row on, and the other way round; columns one after another.
TEST_P(CudaFactorCopies, OfViews) {
  const Buffer<half> whole = numbers<half>(2 * rows, terms + 3, 1), b = numbers<half>(terms, 640, 2),
                     lying = numbers<half>(terms, rows, 3);
  Buffer<float> c{device(), {rows, 640}};
  const auto expect = [&](const Buffer<half> &a, const Ran &ran) {
    const auto kernel = product<half>("product_1");
    kernel.launch(grid(c), a, b, c);
    expect_ran(ran);
    expect_product(a, b, c);
  };
  expect(whole.slice(0, 1, 2 * rows, 2).slice(1, 3, terms + 3), {"rows", "product"});
  expect(whole.slice(0, rows - 1, -1, -1).slice(1, 1, terms + 1), {"rows", "product"});
  expect(lying.transpose(), {"transposed", "product"});
}

// One array is both factors, and one copy serves both windows; two arrays that share memory have a copy each.
TEST_P(CudaFactorCopies, OfArraysThatShareMemory) {
  const Buffer<half> a = numbers<half>(rows, rows, 1);
  Buffer<float> c{device(), {rows, rows}};
  product<half>("product_2").launch(grid(c), a, a, c);
  expect_ran({"rows", "rows", "product"});
  expect_product(a, a, c);
  const TileKernel square{"product_1",
                          {"a", "unused", "c"},
                          [=](Array<const half, 2> a, Array<const half, 2> unused, Array<float, 2> c) {
                            auto [i, j] = block_index<2>();
                            Tile<float> sum = tile::zeros<float>({128, 128});
                            for (Int k : range(tile::ceil_div(unused.extent(1), 64), pipelined(2)))
                              tile::matmul(tile::load(a, {i, k}, {128, 64}), tile::load(a, {k, j}, {64, 128}), sum);
                            tile::store(c, {i, j}, sum);
                          },
                          TileOptions{.threads = 256}};
  square.launch(grid(c), a, a, c);
  if (!fake()) expect_product(a, a, c);
  EXPECT_EQ(square.variants().at(0)->arrays.factor_copies.size(), 1u);
}

// An array that is written during the launch is read directly.
TEST_P(CudaFactorCopies, NotOfWhatTheKernelWrites) {
  const TileKernel kernel{"plain",
                          {"a", "b", "c"},
                          [](Array<const half, 2> a, Array<const half, 2> b, Array<half, 2> c) {
                            auto [i, j] = block_index<2>();
                            tile::store(c, {i, j}, tile::cast<half>(sums(a, b)));
                          },
                          TileOptions{.threads = 256}};
  Buffer<half> a = numbers<half>(rows, rows, 1);
  const Buffer<half> b = numbers<half>(rows, rows, 2);
  const jit::Variant &variant = kernel.record({5, 5}, a, b, a).variant();
  EXPECT_THAT(variant.arrays.factor_copies, IsEmpty());
  EXPECT_THAT(variant.gpu.tensor_maps, IsEmpty());
  EXPECT_THAT(variant.gpu.products.at(0).why_not, HasSubstr("may share memory"));
  const TileKernel itself{"plain",
                          {"a", "b"},
                          [](Array<half, 2> a, Array<const half, 2> b) {
                            auto [i, j] = block_index<2>();
                            tile::store(a, {i, j}, tile::cast<half>(sums(a, b)));
                          },
                          TileOptions{.threads = 256}};
  const jit::Variant &own = itself.record({5, 5}, a, b).variant();
  EXPECT_THAT(own.arrays.factor_copies, IsEmpty());
  EXPECT_THAT(own.gpu.products.at(0).why_not, HasSubstr("the kernel writes to 'a'"));
}

TEST_P(CudaFactorCopies, NotWhereTheyDoNotPay) {
  const auto copies = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto kernel = product<half>("plain");
    Buffer<float> c{device(), {m, n}};
    return kernel
        .record(grid(c), {.cuda = {.sum_parts = 1}}, Buffer<half>(device(), {m, k}), Buffer<half>(device(), {k, n}), c)
        .variant()
        .arrays.factor_copies.size();
  };
  EXPECT_EQ(copies(1, 1, 1), 0u);
  EXPECT_EQ(copies(7, 127, 4095), 0u);
  EXPECT_EQ(copies(127, 127, 127), 0u);
  EXPECT_EQ(copies(520, 520, 0), 0u);
  EXPECT_EQ(copies(0, 520, 520), 0u);
}

TEST_P(CudaFactorCopies, NotInDebugMode) {
  const auto kernel = product<half>("plain");
  Buffer<float> c{device(), {rows, columns}};
  const Launch launch = kernel.record(grid(c), {.debug = true}, Buffer<half>(device(), {rows, terms}),
                                      Buffer<half>(device(), {terms, columns}), c);
  EXPECT_THAT(launch.variant().arrays.factor_copies, IsEmpty());
}

// Two groups of warps do not share 96 columns in whole 64.
TEST_P(CudaFactorCopies, OfTermsThatDoNotLieTogether) {
  const auto kernel = product<float>("tf32_1", tile::Precision::tf32, 96);
  const Buffer<float> a = numbers<float>(1300, 1280, 1), b = numbers<float>(1280, 1312, 2);
  Buffer<float> c{device(), {1300, 1312}};
  Launch launch = kernel.record(grid(c, 96), a, b, c);
  launch.launch();
  expect_ran({"transposed", "product"});
  expect_product(a, b, c);
  EXPECT_THAT(report(kernel).to_string(), HasSubstr("copied first, with its last two dimensions exchanged"));
  const auto odd = product<float>("tf32_2", tile::Precision::tf32, 96);
  const Buffer<float> x = numbers<float>(1301, 1283, 1), y = numbers<float>(1283, 1311, 2);
  Buffer<float> z{device(), {1301, 1311}};
  odd.launch(grid(z, 96), x, y, z);
  expect_ran({"rows", "transposed", "product"});
  expect_product(x, y, z);
}

TEST_P(CudaFactorCopies, NotOfTermsThatAreReadInRegisters) {
  const auto kernel = product<float>("tf32", tile::Precision::tf32);
  const Buffer<float> a = numbers<float>(1300, 1280, 1), b = numbers<float>(1280, 1312, 2);
  Buffer<float> c{device(), {1300, 1312}};
  kernel.launch(grid(c), a, b, c);
  expect_ran({"product"});
  expect_product(a, b, c);
  EXPECT_THAT(report(kernel).to_string(), Not(HasSubstr("copied first")));
  const auto odd = product<float>("tf32_2", tile::Precision::tf32);
  const Buffer<float> x = numbers<float>(1301, 1283, 1), y = numbers<float>(1283, 1311, 2);
  Buffer<float> z{device(), {1301, 1311}};
  odd.launch(grid(z), x, y, z);
  expect_ran({"rows", "rows", "product"});
  expect_product(x, y, z);
}

// A launch with arrays that change from aligned to misaligned and back.
TEST_P(CudaFactorCopies, FollowALaunch) {
  const Stream other(device());
  const auto kernel = product<half>(fake() ? "product_1" : "product");
  const Buffer<half> odd = numbers<half>(rows, terms, 1), even = numbers<half>(rows, 520, 3),
                     b = numbers<half>(terms, 640, 2);
  const Buffer<half> of_even = even.slice(1, 0, terms);
  Buffer<float> c{device(), {rows, 640}};
  Launch launch = kernel.record(grid(c), odd, b, c);
  launch.launch();
  launch.launch();
  expect_ran({"rows", "product", "rows", "product"});
  if (fake()) {
    EXPECT_EQ(copies_[0], copies_[1]) << "recorded once";
  }
  launch.launch(other);
  other.synchronize();
  expect_ran({"rows", "product"});
  if (fake()) {
    EXPECT_NE(copies_[0], copies_[2]) << "two streams may run at the same time";
  }
  EXPECT_EQ(kernel.variants().size(), 1u);
  if (fake()) return;  // its kernels have a name for each number of copies
  launch.set(0, of_even);
  EXPECT_THAT(launch.variant().arrays.factor_copies, IsEmpty());
  launch.launch();
  expect_product(of_even, b, c);
  launch.set(0, odd);
  EXPECT_EQ(launch.variant().arrays.factor_copies.size(), 1u);
  launch.launch();
  expect_product(odd, b, c);
  launch.set_dim({1, 5});
  launch.launch();
  EXPECT_THAT(launch.variant().arrays.factor_copies, IsEmpty()) << "a part of the array is read";
}

TEST_P(CudaFactorCopies, FollowAGraph) {
  const Stream stream(device());
  const auto kernel = product<half>("product_2");
  Buffer<half> a = numbers<half>(rows, terms, 1);
  const Buffer<half> b = numbers<half>(terms, columns, 2), more = numbers<half>(rows, terms, 4);
  Buffer<float> c{device(), {rows, columns}};
  const LaunchOptions options{.stream = stream};
  Launch launch = kernel.record(grid(c), options, a, b, c);
  Graph graph = capture(stream, [&] { launch.launch(); });
  graph.launch();
  stream.synchronize();
  expect_ran({"rows", "rows", "product"});
  expect_product(a, b, c);
  a.copy_from(more.to_vector());  // the graph copies again
  graph.launch();
  stream.synchronize();
  expect_product(more, b, c);
  ran_.clear();
  Launch edited = kernel.record(grid(c), options, more, b, c);
  a.copy_from(std::vector<half>(static_cast<std::size_t>(rows * terms), half(0.0f)));
  graph.set(0, edited);
  graph.launch();
  stream.synchronize();
  expect_ran({"rows", "rows", "product"});
  expect_product(more, b, c);
  graph.enable(0, false);
  graph.launch();
  stream.synchronize();
  expect_ran({});
  graph.enable(0, true);
  graph.launch();
  stream.synchronize();
  expect_ran({"rows", "rows", "product"});
  if (!fake()) {  // its kernels have a name for each number of copies
    const Buffer<half> even = numbers<half>(rows, 520, 5), even_b = numbers<half>(520, 648, 6);
    const Launch without = kernel.record(grid(c), options, even, even_b.slice(1, 0, columns), c);
    EXPECT_THROW(graph.set(0, without), UserError) << "it has fewer kernels";
  }
  // A launch that is not recorded first also has its memory as long as the graph lives.
  Graph own = capture(stream, [&] { kernel.launch(grid(c), options, more, b, c); });
  for (int i = 0; i < 2; ++i) own.launch();
  stream.synchronize();
  expect_ran({"rows", "rows", "product", "rows", "rows", "product"});
  expect_product(more, b, c);
}

// Like torch: its graph must not hold memory that it would have to give back.
TEST_P(CudaFactorCopies, FollowAGraphOfOthers) {
  const Stream stream(device());
  const driver::Stream &queue = stream.cuda()->stream();
  const auto kernel = product<half>("product_2");
  const Buffer<half> a = numbers<half>(rows, terms, 1), b = numbers<half>(terms, columns, 2);
  Buffer<float> c{device(), {rows, columns}};
  const LaunchOptions options{.stream = stream};
  kernel.launch(grid(c), options, a, b, c);
  stream.synchronize();
  ran_.clear();
  std::optional<Launch> launch;
  const driver::Graph graph = driver::capture(queue, [&] {
    launch.emplace(kernel.record(grid(c), options, a, b, c));
    launch->launch();
  });
  expect_ran({});
  const auto executable = driver::GraphExecutable::instantiate(graph);
  for (int i = 0; i < 2; ++i) executable.launch(queue);
  stream.synchronize();
  expect_ran({"rows", "rows", "product", "rows", "rows", "product"});
  expect_product(a, b, c);
}

// Matrices one after another.
TEST_P(CudaFactorCopies, OfBatches) {
  if (fake()) GTEST_SKIP() << "the fake multiplies matrices alone";
  const TileKernel kernel{"product",
                          {"a", "b", "c"},
                          [](Array<const half, 3> a, Array<const half, 3> b, Array<float, 3> c) {
                            auto [n, i, j] = block_index<3>();
                            Tile<float> sum = tile::zeros<float>({128, 128});
                            for (Int k : range(tile::ceil_div(a.extent(2), 64), pipelined(2)))
                              tile::matmul(tile::load(a, {n, i, k}, {128, 64}), tile::load(b, {n, k, j}, {64, 128}),
                                           sum);
                            tile::store(c, {n, i, j}, sum);
                          },
                          TileOptions{.threads = 256}};
  const std::int64_t count = 3;
  const Buffer<half> a = numbers<half>(count * rows, terms, 1).reshape({count, rows, terms}),
                     b = numbers<half>(count * terms, columns, 2).reshape({count, terms, columns});
  Buffer<float> c{device(), {count, rows, columns}};
  kernel.launch({count, 5, 6}, a, b, c);
  EXPECT_EQ(kernel.variants().at(0)->arrays.factor_copies.size(), 2u);
  for (std::int64_t n = 0; n < count; ++n)
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{130}, rows - 1})
      for (const std::int64_t j : {std::int64_t{0}, std::int64_t{129}, columns - 1}) {
        float sum = 0;
        for (std::int64_t k = 0; k < terms; ++k)
          sum += static_cast<float>(a.at(n, i, k)) * static_cast<float>(b.at(n, k, j));
        EXPECT_EQ(c.at(n, i, j), sum) << n << ' ' << i << ' ' << j;
      }
}

// The adjoint's products read the same arrays, and the cotangent, which is cast if factors have 16 bits. If terms must
// be contiguous, neither factor of the second factor's gradient has them so.
TEST_P(CudaFactorCopies, ServeEachKernelOfAnAdjoint) {
  const auto expect = [&]<class T>(T, std::int64_t m, std::int64_t n, std::int64_t k, tile::Precision precision,
                                   const Ran &copies) {
    const auto kernel = product<T>("product", precision);
    const std::size_t casts = sizeof(T) == 2 ? 1 : 0, matrices = 6 + casts + copies.size();
    if (casts != 0) understand_adjoint("gathered_copy", 7, 0);
    understand_adjoint("gathered", matrices);
    understand_adjoint("gathered_2", matrices);
    understand_adjoint("clear", 6, 0);
    Buffer<T> a = numbers<T>(m, k, 1), b = numbers<T>(k, n, 2);
    a.track_gradient(), b.track_gradient();
    Buffer<float> c{device(), {m, n}, Gradient::tracked};
    const Buffer<float> seed = numbers<float>(m, n, 3);
    Launch adjoint = kernel.record(grid(c), {.direction = Direction::adjoint}, a, b, c);
    const jit::Variant &first = adjoint.variant();
    EXPECT_EQ(first.arrays.factor_copies.size(), copies.size());
    ASSERT_TRUE(first.afterwards);
    EXPECT_LE(first.report.trials + first.afterwards->report.trials, 4) << "two of each kernel, one for the copies";
    c.gradient().copy_from(seed.to_vector());
    adjoint.launch();
    Ran ran = copies;
    if (casts != 0) ran.push_back("gathered_copy");
    ran.insert(ran.end(), {"gathered", "gathered_2", "clear"});
    expect_ran(ran);
    if (fake()) return;
    const auto x = a.to_vector(), y = b.to_vector(), da = a.gradient().to_vector(), db = b.gradient().to_vector();
    const auto s = seed.to_vector();
    const auto at = [](const auto &values, std::int64_t width, std::int64_t i, std::int64_t j) {
      return static_cast<float>(values[static_cast<std::size_t>(i * width + j)]);
    };
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{131}, k - 1}) {
      for (const std::int64_t r : {std::int64_t{0}, std::int64_t{257}, m - 1}) {
        float sum = 0;
        for (std::int64_t j = 0; j < n; ++j) sum += at(s, n, r, j) * at(y, n, i, j);
        EXPECT_EQ(at(da, k, r, i), static_cast<float>(T(sum))) << r << ' ' << i;
      }
      for (const std::int64_t r : {std::int64_t{0}, std::int64_t{257}, n - 1}) {
        float sum = 0;
        for (std::int64_t j = 0; j < m; ++j) sum += at(s, n, j, r) * at(x, k, j, i);
        EXPECT_EQ(at(db, n, i, r), static_cast<float>(T(sum))) << i << ' ' << r;
      }
    }
  };
  expect(half(), 1301, 1283, 1311, tile::Precision::full, {"rows", "rows"});
  expect(0.0f, 1536, 1536, 1536, tile::Precision::tf32, {"transposed"});
  expect(0.0f, 1537, 1539, 1541, tile::Precision::tf32, {"transposed", "rows", "rows"});
}

}  // namespace
}  // namespace samite::test
