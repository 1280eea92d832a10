// Emitted kernels with windows and values in stages, run on the host: copies arrive as late as possible, and warp
// groups run in several orders.
#include "tests/codegen/staying_blocks.h"
#include "tests/passes/stage_steps_kernel.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using stage_steps::StageShape;

class StagesOnHost {
 public:
  explicit StagesOnHost(const StageShape &shape) : shape_(shape), kernel_(planned(shape), good_arrays()) {}

  // Over this many tiles of rows, by this many blocks.
  void expect_right(std::int64_t tiles, std::int64_t terms, std::int64_t windows, unsigned blocks,
                    ThreadOrder order = {}) const {
    SCOPED_TRACE(testing::PrintToString(shape_));
    const std::int64_t rows = tiles * shape_.rows - 8;  // the last tile reaches beyond them
    const auto given = stage_steps::arguments(shape_, rows, terms, windows);
    const std::vector<half> factors[] = {numbers<half>(given[0]), numbers<half>(given[1])};
    const std::vector<float> values[] = {numbers<float>(given[2]), numbers<float>(given[3])};
    std::vector<float> out(given[4].elements.size());
    std::vector<TensorMapOnHost> maps;
    for (const passes::TensorMapNeeded &map : kernel_.maps()) {
      const void *const data = map.values ? static_cast<const void *>(values[map.array - 2].data())
                                          : static_cast<const void *>(factors[map.array].data());
      maps.push_back(map_on_host(map, data, given[map.array].extents));
    }
    const auto extents = [&](std::size_t array) {
      return std::vector<long long>(given[array].extents.begin(), given[array].extents.end());
    };
    kernel_.run({array(factors[0], extents(0)), array(factors[1], extents(1)), array(values[0], extents(2)),
                 array(values[1], extents(3)), array(out, extents(4)), scalar(static_cast<int>(windows))},
                maps, {tiles}, blocks, order);
    const auto expected =
        tiles::run_structured(product_loops::structured(stage_steps::kernel_text(shape_)), {tiles}, given);
    for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], expected[4].elements[k].value) << k;
  }

 private:
  static ir::Kernel planned(const StageShape &shape) {
    ir::Kernel kernel = jit::plan(product_loops::lowered(stage_steps::kernel_text(shape)),
                                  {passes::gpu_architecture(90), good_arrays().arrays});
    EXPECT_EQ(kernel.roles.producers, 128);
    EXPECT_EQ(test::all<ir::BringWindows>(kernel).size(), 1u);
    return kernel;
  }
  template <class T>
  static std::vector<T> numbers(const tiles::TileArray &given) {
    std::vector<T> made;
    for (const tiles::Element &element : given.elements) made.emplace_back(static_cast<float>(element.value));
    return made;
  }

  StageShape shape_;
  StayingBlocksOnHost kernel_;
};

TEST(CudaStages, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const StagesOnHost stages({.rows = 128, .columns = 64, .inner = 64});
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
    stages.expect_right(3, 250, 4, 2, order);
  stages.expect_right(1, 64, 0, 1);
  stages.expect_right(1, 60, 1, 1);
}

TEST(CudaStages, PartsAndGroups) {
  using Kind = ThreadOrder::Kind;
  StagesOnHost({.rows = 64, .columns = 64, .inner = 64, .parts = 3, .threads = 128, .stages = 4})
      .expect_right(2, 200, 3, 1, {Kind::Random, 3});
  StagesOnHost({.rows = 192, .columns = 64, .inner = 64, .parts = 1, .threads = 384, .stages = 4})
      .expect_right(2, 130, 3, 1);
  StagesOnHost({.rows = 128, .columns = 128, .inner = 64, .stages = 2}).expect_right(2, 400, 6, 1, {Kind::Random, 5});
}

TEST(CudaStages, OneValueForEachColumnAndNone) {
  StagesOnHost({.rows = 128, .columns = 64, .inner = 64, .b_transposed = true, .of_columns = true})
      .expect_right(2, 250, 4, 1);
  StagesOnHost({.rows = 128, .columns = 64, .inner = 64, .scaled = false}).expect_right(2, 130, 3, 1);
}

}  // namespace
}  // namespace samite::test
