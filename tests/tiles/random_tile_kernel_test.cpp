// Random tile kernels and their adjoints on the device that tests run on, against the interpreter.
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/jit/definition.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/test_device.h"
#include "tests/tiles/random_tile_check.h"
#include "tests/toolchain/environment.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

namespace samite::test::tiles {
namespace {

template <class T>
Buffer<T> buffer_of(const TileArray &array) {
  std::vector<T> values;
  for (const Element &element : array.elements) {
    if constexpr (std::integral<T>)
      values.push_back(static_cast<T>(element.integer));
    else if constexpr (sizeof(T) == 8)
      values.push_back(element.value);
    else
      values.push_back(static_cast<T>(static_cast<float>(element.value)));
  }
  Extents extents;
  switch (array.extents.size()) {
    case 1: extents = {array.extents[0]}; break;
    case 2: extents = {array.extents[0], array.extents[1]}; break;
    default: extents = {array.extents[0], array.extents[1], array.extents[2]}; break;
  }
  if constexpr (Differentiable<T>)
    return Buffer<T>(device(), extents, values, Gradient::tracked);
  else
    return Buffer<T>(device(), extents, values);
}
template <class T>
void fill(Buffer<T> &to, const TileArray &from) {
  to.copy_from(buffer_of<T>(from).to_vector());
}
template <class T>
void read(const Buffer<T> &from, TileArray &to) {
  const std::vector<T> values = from.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::integral<T>)
      to.elements[i] = {0, 0, static_cast<std::int64_t>(values[i])};
    else if constexpr (sizeof(T) == 8)
      to.elements[i] = {values[i], 0, 0};
    else
      to.elements[i] = {static_cast<double>(static_cast<float>(values[i])), 0, 0};
  }
}

// Forward by a launch of the kernel, in reverse by a tape that has recorded it.
void launch(const Run &run, std::vector<TileArray> &arrays) {
  const std::vector<TileArray> &from = run.adjoint ? run.before : arrays;
  auto buffers = std::make_tuple(buffer_of<float>(from[xf]), buffer_of<double>(from[xd]), buffer_of<half>(from[xh]),
                                 buffer_of<bfloat16>(from[xb]), buffer_of<std::int32_t>(from[xi]),
                                 buffer_of<f8e4m3>(from[xq]), buffer_of<float>(from[vf]), buffer_of<float>(from[yf]),
                                 buffer_of<double>(from[yd]), buffer_of<half>(from[yh]), buffer_of<bfloat16>(from[yb]),
                                 buffer_of<std::int32_t>(from[yi]), buffer_of<float>(from[wf]),
                                 buffer_of<double>(from[wd]), buffer_of<float>(from[zf]), buffer_of<double>(from[zd]));
  LaunchOptions options;
  options.memory_limit = memory_limit(run.recipe);
  options.deterministic = run.recipe.seed % 4 == 0;
  const auto forward = [&] {
    std::apply([&](const auto &...buffer) { run.kernel.launch({run.recipe.blocks}, options, buffer..., 2); }, buffers);
  };
  // Calls `function` with the numbers of each parameter with a gradient, and of its gradient.
  const auto for_each_gradient = [&](const auto &function) {
    std::size_t parameter = 0, gradient = parameter_facts().size();
    std::apply(
        [&](auto &...buffer) {
          const auto one = [&]<class T>(Buffer<T> &primal) {
            if constexpr (Differentiable<T>) function(primal, parameter, arrays[gradient++]);
            ++parameter;
          };
          (one(buffer), ...);
        },
        buffers);
  };
  if (!run.adjoint) {
    forward();
    std::size_t next = 0;
    std::apply([&](const auto &...buffer) { (read(buffer, arrays[next++]), ...); }, buffers);
    return;
  }
  Tape tape;
  tape.record(forward);
  tape.zero_gradients();
  const std::uint64_t written = run.kernel.definition()->written();
  std::vector<Tape::Cotangent> cotangents;
  for_each_gradient([&]<class T>(const Buffer<T> &primal, std::size_t parameter, const TileArray &weights) {
    if (written >> parameter & 1) cotangents.push_back({primal, buffer_of<T>(weights)});
  });
  tape.backward(cotangents);
  for_each_gradient([&](const auto &primal, std::size_t, TileArray &array) { read(primal.gradient(), array); });
}

void interpret(const Run &run, std::vector<TileArray> &arrays) {
  arrays = run_structured(run.structured, {run.recipe.blocks}, arrays);
}

// The first recipes reach each operation on tiles.
TEST(RandomTileKernel, RecipesReachEveryOperation) {
  std::set<ir::Op> reached;
  std::size_t longest = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomTileKernel kernel = random_tile_kernel(random_recipe(seed));
    std::size_t count = 0;
    ir::for_each_statement(kernel.definition()->forward().body, [&](const ir::Stmt &stmt) {
      ++count;
      if (const auto *let = stmt.as<ir::Let>()) reached.insert(let->value.op);
    });
    longest = std::max(longest, count);
  }
  for (int op = static_cast<int>(ir::Op::Coordinate); op <= static_cast<int>(ir::Op::Fourier); ++op)
    EXPECT_TRUE(reached.contains(static_cast<ir::Op>(op)) || static_cast<ir::Op>(op) == ir::Op::PutAdd)  // an adjoint's
        << ir::info(static_cast<ir::Op>(op)).name;
  EXPECT_GT(longest, 100u);
}

// Only tangents and adjoints, which need no compiler, so that many kernels can be drawn.
TEST(RandomTileKernel, DerivativesAreThoseThatTheInterpreterCarriesAlong) { expect_random_tiles(interpret, 40); }

// In parts, so that they run side by side.
class RandomTileKernels : public testing::TestWithParam<unsigned> {};

TEST_P(RandomTileKernels, AndTheirAdjointsDoWhatTheInterpreterDoes) {
  const LittleEffortAfterFirstPart little_effort(GetParam());
  expect_random_tiles(launch, 120, GetParam(), 4);
}

// A few kernels, compiled with every access checked.
TEST(RandomTileKernelModes, DebugModeChangesNothing) {
  const EnvironmentVariable little_effort("SAMITE_CPU_OPTIMIZATION", "0");
  set_debug_mode(true);
  expect_random_tiles(launch, 4);
  set_debug_mode(false);
}

// Each form that is dumped, adjoints included, can be read again.
TEST(RandomTileKernelModes, DumpsAreWhole) {
  const EnvironmentVariable little_effort("SAMITE_CPU_OPTIMIZATION", "0");
  const TemporaryFolder folder;
  const EnvironmentVariable dump("SAMITE_DUMP", folder.path().string());
  expect_random_tiles(launch, 4);
  int forms = 0;
  for (const auto &file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path().extension() != ".ir") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    EXPECT_EQ(to_string(ir::parse_kernel(text.str())), text.str()) << file.path().filename();
    ++forms;
  }
  EXPECT_GT(forms, 4 * 20);
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomTileKernels, testing::Range(0u, 4u));

}  // namespace
}  // namespace samite::test::tiles
