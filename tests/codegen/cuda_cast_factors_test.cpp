// Products of arrays cast to 16-bit factors, as CUDA runs them.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"

#include <random>

namespace samite::test {
namespace {

// Rows of whole units and of others, few and many elements for a thread, windows that end beyond the array.
struct CastShape {
  int rows, inner, columns, threads, stages;
};

template <class T>
void expect_products_of_casts(const CastShape &shape) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.inner << " x " << shape.columns << ", "
                                  << shape.threads << " threads, " << shape.stages << " stages");
  const TileKernel kernel{"products",
                          [=](Array<const float, 2> a, Array<const T, 2> b, Array<float, 2> c) {
                            auto [i, j] = block_index<2>();
                            Tile<float> sum = tile::zeros<float>({shape.rows, shape.columns});
                            for (Int k : range(tile::ceil_div(a.extent(1), shape.inner), pipelined(shape.stages)))
                              tile::matmul(tile::cast<T>(tile::load(a, {i, k}, {shape.rows, shape.inner})),
                                           tile::load(b, {k, j}, {shape.inner, shape.columns}), sum);
                            tile::store(c, {i, j}, sum);
                          },
                          TileOptions{.threads = shape.threads}};
  const std::int64_t m = 2 * shape.rows - 1, inner = 3 * shape.inner - 2, n = shape.columns + 1;
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a, c(static_cast<std::size_t>(m * n), -1);
  std::vector<T> b;
  for (std::int64_t e = 0; e < m * inner; ++e) a.push_back(uniform(engine));
  for (std::int64_t e = 0; e < inner * n; ++e) b.push_back(T(uniform(engine)));
  CudaOnHost run(kernel.ir());
  for (const ThreadOrder &order : {ThreadOrder{}, ThreadOrder{ThreadOrder::Kind::LastToFirst}}) {
    run.order = order;
    run.run({2, 2}, {array(a, {m, inner}), array(b, {inner, n}), array(c, {m, n})});
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += static_cast<double>(static_cast<float>(T(a[static_cast<std::size_t>(i * inner + k)]))) *
                 static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(k * n + j)]));
        ASSERT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-5) << i << ", " << j << '\n' << run.source().text;
      }
  }
  EXPECT_NE(run.source().text.find("tile_cast<"), std::string::npos) << run.source().text;
}

TEST(CudaCastFactors, OfAllShapes) {
  for (const CastShape &shape :
       {CastShape{16, 8, 8, 32, 2}, CastShape{32, 16, 8, 64, 3}, CastShape{64, 64, 16, 128, 2},
        CastShape{17, 5, 9, 32, 2}, CastShape{33, 24, 7, 96, 2}, CastShape{48, 12, 16, 64, 4}}) {
    expect_products_of_casts<bfloat16>(shape);
    expect_products_of_casts<half>(shape);
  }
}

}  // namespace
}  // namespace samite::test
