// Random tile kernels and their adjoints as CUDA's blocks, run on the host, against the interpreter.
#include "tests/codegen/cuda_on_host.h"
#include "tests/tiles/random_tile_check.h"

namespace samite::test::tiles {
namespace {

// The elements of an array, as the kernel has them.
std::vector<unsigned char> bytes_of(const TileArray &array) {
  return with_host_type(array.type, [&]<class T>(T) {
    std::vector<unsigned char> bytes(array.elements.size() * sizeof(T));
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      T number{};
      if constexpr (!FloatingScalar<T>)
        number = static_cast<T>(array.elements[i].integer);
      else if constexpr (sizeof(T) >= 4)
        number = static_cast<T>(array.elements[i].value);
      else
        number = static_cast<T>(static_cast<float>(array.elements[i].value));
      std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof number);
    }
    return bytes;
  });
}
void read(const std::vector<unsigned char> &bytes, TileArray &array) {
  with_host_type(array.type, [&]<class T>(T) {
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      T number{};
      std::memcpy(&number, bytes.data() + i * sizeof(T), sizeof number);
      if constexpr (!FloatingScalar<T>)
        array.elements[i] = {0, 0, static_cast<std::int64_t>(number)};
      else if constexpr (sizeof(T) == 8)
        array.elements[i] = {number, 0, 0};
      else
        array.elements[i] = {static_cast<double>(static_cast<float>(number)), 0, 0};
    }
  });
}

void run_on_host(const Run &run, std::vector<TileArray> &arrays) {
  std::vector<std::vector<unsigned char>> memory;
  std::vector<Argument> arguments;
  for (const TileArray &array : arrays) {
    memory.push_back(bytes_of(array));
    if (array.extents.empty()) {
      arguments.push_back(scalar(static_cast<int>(array.elements[0].integer)));
      continue;
    }
    std::vector<long long> extents(array.extents.begin(), array.extents.end()), strides(extents.size(), 1);
    for (std::size_t d = extents.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
    arguments.push_back(strided(memory.back().data(), extents, strides));
  }
  codegen::EmitOptions options = cuda_options();
  options.arrays.resize(arrays.size(), options.arrays[0]);
  // For buffers that share no memory, with rows that do or do not begin at multiples of 16 bytes.
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    options.arrays[i].unaliased = run.recipe.seed % 2 == 0;
    options.arrays[i].aligned_rows =
        run.recipe.seed % 4 < 2 && !arrays[i].extents.empty() &&
        arrays[i].extents.back() * static_cast<std::int64_t>(size_of(arrays[i].type)) % 16 == 0 &&
        reinterpret_cast<std::uintptr_t>(memory[i].data()) % 16 == 0;
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(size_of(arrays[i].type));
    if (run.recipe.seed % 5 != 0 && !arrays[i].extents.empty() && arrays[i].extents.back() * bytes % 16 == 0)
      options.arrays[i].row_divisor = 16 / bytes;
  }
  options.cuda.grid_stride = run.recipe.seed % 3 == 0;
  CudaOnHost cuda(run.structured, options, run.recipe.seed % 6 == 0);
  cuda.workspace_per_thread = 1 << 14;
  constexpr ThreadOrder::Kind orders[] = {ThreadOrder::Kind::Alternating, ThreadOrder::Kind::FirstToLast,
                                          ThreadOrder::Kind::LastToFirst, ThreadOrder::Kind::Random};
  cuda.order = {orders[run.recipe.seed % 4], run.recipe.seed};
  const CudaResult result = cuda.run({run.recipe.blocks}, arguments);
  if (result.failure.state != 0) throw std::runtime_error("the kernel has failed");
  for (std::size_t i = 0; i < arrays.size(); ++i) read(memory[i], arrays[i]);
}

// In parts, so that they run side by side.
class CudaRandomTiles : public testing::TestWithParam<unsigned> {};

TEST_P(CudaRandomTiles, AndTheirAdjointsDoWhatTheInterpreterDoes) {
  expect_random_tiles(run_on_host, 24, GetParam(), 4);
}

INSTANTIATE_TEST_SUITE_P(Parts, CudaRandomTiles, testing::Range(0u, 4u));

}  // namespace
}  // namespace samite::test::tiles
