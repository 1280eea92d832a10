#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

auto product(int rows) {
  return TileKernel{"product",
                    {"a", "b", "c"},
                    [=](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                      Tile<float> x = tile::load(a, {0, 0}, {rows, 4}), y = tile::load(b, {0, 0}, {4, 8});
                      tile::store(c, {0, 0}, tile::matmul(x, y));
                    },
                    TileOptions{.threads = 64}};
}

// Empty at the beginning.
class Report : public testing::Test {
 protected:
  TemporaryFolder folder_;
  EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path() / "cache"};
};

TEST_F(Report, OfAKernelThatWasNotLaunchedIsEmpty) {
  EXPECT_EQ(report(product(3)).to_string(), "kernel 'product': nothing compiled");
}

TEST_F(Report, TellsWhatWasBuiltForEachVariant) {
  SAMITE_ON_THE_CPU();
  const Device cpu = Device::cpu();
  const auto kernel = product(13);
  const Buffer<float> a(cpu, {13, 4}, Gradient::tracked), b(cpu, {4, 8}), c(cpu, {13, 8}, Gradient::tracked);
  kernel.launch({1}, a, b, c);
  kernel.launch({1}, {.direction = Direction::adjoint}, a, b, c);
  const KernelReport found = report(kernel);
  ASSERT_EQ(found.variants.size(), 2u);

  const ReportedVariant &forward = found.variants[0], &adjoint = found.variants[1];
  EXPECT_EQ(forward.direction, Direction::forward);
  EXPECT_EQ(forward.target, "cpu");
  EXPECT_EQ(forward.from, "built");
  ASSERT_EQ(forward.objects.size(), 2u);
  EXPECT_EQ(forward.objects[0].operation, "");
  EXPECT_EQ(forward.objects[1].operation, "matmul f32 13x8 of f32 13x4, f32 4x8");
  for (const ReportedObject &object : forward.objects) {
    EXPECT_EQ(object.from, "built");
    EXPECT_GT(object.bytes, 0u);
    EXPECT_GT(object.milliseconds, 0);
    EXPECT_LE(object.milliseconds, forward.milliseconds);
  }
  EXPECT_GT(forward.image_bytes, 0u);
  double sum = 0;
  for (const ReportedVariant::Step &step : forward.steps) sum += step.milliseconds;
  EXPECT_LE(sum, forward.milliseconds * 1.01);

  EXPECT_THAT(adjoint.active, ElementsAre("a", "c"));
  ASSERT_EQ(adjoint.objects.size(), 2u);
  EXPECT_EQ(adjoint.objects[1].operation, "matmul f32 13x4 of f32 13x8, f32 4x8");
  EXPECT_THAT(found.to_string(), AllOf(HasSubstr("kernel 'product': 2 variants\nforward, cpu: "),
                                       HasSubstr("\n  matmul f32 13x8 of f32 13x4, f32 4x8: built in "),
                                       HasSubstr("\nadjoint of a, c, cpu: ")));
}

TEST_F(Report, TellsWhatWasReused) {
  SAMITE_ON_THE_CPU();
  const Device cpu = Device::cpu();
  const Buffer<float> a(cpu, {14, 4}), b(cpu, {4, 8}), c(cpu, {14, 8});
  const auto first = product(14);
  first.launch({1}, a, b, c);
  const auto again = product(14);
  again.launch({1}, a, b, c);
  const KernelReport found = report(again);
  EXPECT_EQ(found.variants.at(0).from, "memory");
  EXPECT_THAT(found.to_string(), HasSubstr("matmul f32 14x8 of f32 14x4, f32 4x8: reused from memory"));

  const TileKernel other{"other",
                         [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                           tile::store(c, {0, 0},
                                       -tile::matmul(tile::load(a, {0, 0}, {14, 4}), tile::load(b, {0, 0}, {4, 8})));
                         },
                         TileOptions{.threads = 64}};
  other.launch({1}, a, b, c);
  const ReportedVariant variant = report(other).variants.at(0);
  EXPECT_EQ(variant.from, "built");
  EXPECT_EQ(variant.objects.at(0).from, "built");
  EXPECT_EQ(variant.objects.at(1).from, "memory");
}

TEST(ReportedVariant, HasALineForProductsOfOneLineThatGoOneWay) {
  ReportedVariant variant{};
  const SourceLocation here{"a.cpp", 7}, there{"a.cpp", 9};
  variant.products = {{here, ""}, {there, "it is in no loop"}, {here, ""}, {here, "its rows are odd"}, {there, ""}};
  const std::string text = variant.to_string();
  EXPECT_EQ(text.substr(text.find("\n  2 products")),
            "\n  2 products at a.cpp:7: by groups of warps from bulk copies"
            "\n  the product at a.cpp:9: not by groups of warps from bulk copies, since it is in no loop"
            "\n  the product at a.cpp:7: not by groups of warps from bulk copies, since its rows are odd"
            "\n  the product at a.cpp:9: by groups of warps from bulk copies");
}

TEST_F(Report, IsJsonToo) {
  SAMITE_ON_THE_CPU();
  const Device cpu = Device::cpu();
  const auto kernel = product(15);
  kernel.launch({1}, Buffer<float>(cpu, {15, 4}), Buffer<float>(cpu, {4, 8}), Buffer<float>(cpu, {15, 8}));
  const auto json = nlohmann::json::parse(report(kernel).to_json());
  EXPECT_EQ(json["kernel"], "product");
  const auto &variant = json["variants"].at(0);
  EXPECT_EQ(variant["direction"], "forward");
  EXPECT_EQ(variant["objects"].at(1)["operation"], "matmul f32 15x8 of f32 15x4, f32 4x8");
  EXPECT_GT(variant["steps"]["link"], 0);
  EXPECT_GT(variant["image_bytes"], 0);
}

class CudaReport : public CudaCompilerTest {};

TEST_F(CudaReport, TellsWhatThreadsNeed) {
  const auto kernel = product(16);
  kernel.definition()->variant({.cuda = 80, .arrays = {.unit_stride = 7}});
  const ReportedVariant variant = report(kernel).variants.at(0);
  EXPECT_EQ(variant.target, "sm_80");
  EXPECT_GT(variant.resources.registers, 0);
  EXPECT_EQ(variant.resources.spill_store_bytes + variant.resources.spill_load_bytes + variant.resources.local_bytes,
            0u);
  EXPECT_GT(variant.resources.shared_bytes, 0u);
  EXPECT_THAT(variant.objects, IsEmpty());
  EXPECT_THAT(variant.to_string(),
              AllOf(HasSubstr("forward, sm_80: "), HasSubstr(" registers, 0 B spilled"), HasSubstr("compile ")));
}

// A multiprocessor can run two blocks of 1,024 threads, if they need only half of its registers.
TEST_F(CudaReport, LargeBlocksLeaveRoomForAnother) {
  constexpr int room_for_two = 65536 / (2 * 1024);
  const TileKernel few{"softmax",
                       [](Array<float, 2> to, Array<const float, 2> from) {
                         Tile<float> x = tile::load(from, {block_index(), 0}, {8192});
                         Tile<float> e = exp(x - tile::max(x));
                         tile::store(to, {block_index(), 0}, e * (1 / tile::sum(e)));
                       },
                       TileOptions{.threads = 1024}};
  const TileKernel many{"product",
                        [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                          Tile<float> sum = tile::zeros<float>({128, 128});
                          for (Int k : range(a.extent(1) / 16))
                            tile::matmul(tile::load(a, {0, k}, {128, 16}), tile::load(b, {k, 0}, {16, 128}), sum);
                          tile::store(c, {0, 0}, sum);
                        },
                        TileOptions{.threads = 1024}};
  few.definition()->variant({.cuda = 90, .arrays = {.unit_stride = 3, .unaliased = 3, .aligned = 3}});
  many.definition()->variant({.cuda = 90, .arrays = {.unit_stride = 7, .unaliased = 7, .aligned = 7}});
  const ReportedVariant crowded = report(few).variants.at(0), alone = report(many).variants.at(0);
  EXPECT_LE(crowded.resources.registers, room_for_two);
  EXPECT_GT(alone.resources.registers, room_for_two) << "with half of the registers it would spill";
  for (const ReportedVariant &variant : {crowded, alone})
    EXPECT_EQ(variant.resources.spill_store_bytes + variant.resources.spill_load_bytes, 0u) << variant.to_string();
}

// The assembler is told the possible number of blocks if each thread may have all registers: it gives up none for a
// block that has no memory.
TEST_F(CudaReport, BlocksOfMuchMemoryLeaveNoRoomForOthers) {
  const auto text = [](std::int64_t inner) {
    const TileKernel product{"product",
                             [=](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                               Tile<float> sum = tile::zeros<float>({64, 64});
                               for (Int k : range(a.extent(1) / inner, pipelined(2)))
                                 tile::matmul(tile::load(a, {0, k}, {64, inner}), tile::load(b, {k, 0}, {inner, 64}),
                                              sum);
                               tile::store(c, {0, 0}, sum);
                             },
                             TileOptions{.threads = 128}};
    return product.definition()
        ->variant({.cuda = 90, .arrays = {.unit_stride = 7, .unaliased = 7, .aligned = 7}})
        ->text.source;
  };
  EXPECT_THAT(text(128), HasSubstr("__launch_bounds__(128, 1)")) << "128 KiB of 227";
  EXPECT_THAT(text(96), HasSubstr("__launch_bounds__(128, 2)")) << "96 KiB";
  EXPECT_THAT(text(32), HasSubstr("__launch_bounds__(128)")) << "32 KiB";
}

}  // namespace
}  // namespace samite::test
