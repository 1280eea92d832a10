// Debug mode's race checks on CUDA: their words are zero when a launch begins, and found races are reported.
#include "samite/codegen/cuda_channel.h"
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/heard_warnings.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

struct MeetArguments {
  ArrayArgument<std::int32_t> y;
  ArrayArgument<std::int64_t> writers;
};
struct WriteArguments {
  ArrayArgument<std::int32_t> y;
};

class CudaRaces : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped() || !fake()) return;
    auto code = kernel_code<MeetArguments>("meet", {});
    code.run = [](void **parameters) {
      MeetArguments arguments;
      LaunchBox box;
      std::memcpy(&arguments, parameters[0], sizeof arguments);
      std::memcpy(&box, parameters[1], sizeof box);
      for (std::int64_t i = 0; i < box.end[0]; ++i)
        meet(arguments, i, **static_cast<codegen::CudaChannel **>(parameters[2]));
    };
    fake()->understand(code);
    for (const char *name : {"squares", "squares_adjoint"})
      understand<WriteArguments>(name, [](const WriteArguments &, const LaunchBox &) {});
    understand<WriteArguments>("alone", [](const WriteArguments &a, const LaunchBox &box) {
      for (std::int64_t i = 0; i < box.end[0]; ++i) a.y.data[i / 2] = static_cast<std::int32_t>(i);
    });
  }

  // The action of an instance; the later one reports.
  static void meet(const MeetArguments &a, std::int64_t i, codegen::CudaChannel &channel) {
    a.y.data[i / 2 * a.y.stride] = static_cast<std::int32_t>(i);
    EXPECT_EQ(a.writers.extent, a.y.extent);
    std::int64_t &word = a.writers.data[i / 2 * a.writers.stride];
    if (word == 0) {
      word = (i + 1) << passes::RaceWord::access_bits;
      return;
    }
    constexpr std::uint64_t size = 5;
    auto *record = reinterpret_cast<std::uint64_t *>(&channel + 1) + channel.used;
    channel.used += size;
    const std::uint64_t words[size] = {size << 32, static_cast<std::uint64_t>(i), 0, static_cast<std::uint64_t>(word),
                                       static_cast<std::uint64_t>(i / 2)};
    std::copy(std::begin(words), std::end(words), record);
  }
};
SAMITE_CUDA_SUITE(CudaRaces);

TEST_P(CudaRaces, AreFoundInEachLaunchAnew) {
  int line = __LINE__ + 3;
  Kernel kernel{"meet", {"y"}, [](Array<std::int32_t, 1> y) {
                  Int i = thread_index();
                  y(i / 2) = i;
                }};
  Buffer<std::int32_t> y{device(), {8}};
  for (int i = 0; i < 3; ++i) kernel.launch({1}, {.debug = true}, y);
  Launch launch = kernel.record({1}, {.debug = true}, y);
  for (int i = 0; i < 3; ++i) launch.launch();
  const std::string message = message_of<UserError>([&] { kernel.launch({2}, {.debug = true}, y); });
  EXPECT_THAT(message, HasSubstr("cuda_races_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("instances (1) and (0)"), HasSubstr("instances (0) and (1)")));
  EXPECT_THAT(message, HasSubstr(" race for y(0) of array 'y': both write it here"));
  // Every other element of a larger buffer.
  EXPECT_THROW(kernel.launch({8}, {.debug = true}, Buffer<std::int32_t>{device(), {8, 2}}.slice(1, 0, 1).reshape({8})),
               UserError);
}

TEST_P(CudaRaces, OfTileKernelsAreLookedForInWhatNvidiasCompilerTakes) {
  TileKernel kernel{"squares", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                      auto [i, j] = block_index<2>();
                      Tile<float> sum = tile::load(y, {i, j}, {16, 16});
                      for (Int k : range(x.extent(1) / 16))
                        tile::matmul(tile::load(x, {i, k}, {16, 16}), tile::load(x, {k, j}, {16, 16}), sum);
                      tile::store(y, {i, j}, sum);
                    }};
  Buffer<float> y{device(), {32, 32}, Gradient::tracked}, x{device(), {32, 32}, Gradient::tracked};
  auto [forward, adjoint] = kernel.record_with_adjoint({2, 2}, {.debug = true}, y, x);
  EXPECT_EQ(forward.variant().races.shadows.size(), 3u) << "of y, which is read and written";
  EXPECT_TRUE(adjoint.variant().key.races);
  if (fake()) return;
  forward.launch();
  adjoint.launch();
}

TEST_P(CudaRaces, OfMoreArraysThanParametersHaveRoomForAreNotLookedFor) {
  using Wide = Array<float, 4>;
  Kernel kernel{"wide", [](Wide a, Wide b, Wide c, Wide d, Wide e, Wide f, Wide g, Wide h, Wide i, Wide j) {
                  Int k = thread_index();
                  for (const Wide *array : {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j}) {
                    (*array)(k, 0, 0, 0) *= 2;
                    atomic_add((*array)(k, 0, 0, 0), 1);
                  }
                }};
  if (fake()) understand<WriteArguments>("wide", [](const WriteArguments &, const LaunchBox &) {});
  HeardWarnings heard;
  Buffer<float> x{device(), {2, 1, 1, 1}};
  EXPECT_FALSE(kernel.record({2}, {.debug = true}, x, x, x, x, x, x, x, x, x, x).variant().races.any());
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr("launch it on the CPU"));
}

TEST_P(CudaRaces, AreNotLookedForInGraphs) {
  Kernel kernel{"alone", {"y"}, [](Array<std::int32_t, 1> y) {
                  Int i = thread_index();
                  y(i / 2) = i;
                }};
  Buffer<std::int32_t> y{device(), {8}};
  const Stream stream = Stream::standard(device());
  Graph graph = capture(stream, [&] { kernel.launch({4}, {.debug = true}, y); });
  const auto variant = kernel.definition()->variants().back();
  EXPECT_TRUE(variant->key.debug);
  EXPECT_FALSE(variant->races.any());
  graph.launch();
  graph.launch();
  graph.set(0, kernel.record({2}, {.debug = true}, y));
  graph.launch();
  EXPECT_THAT(y.at(1), testing::AnyOf(2, 3));
}

}  // namespace
}  // namespace samite::test
