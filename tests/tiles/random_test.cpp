// Tiles of random numbers are those that the host draws.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

constexpr std::int64_t drawn_rows = 3, drawn_columns = 7, count = drawn_rows * drawn_columns;
constexpr std::uint64_t seed = 0x123456789abcull, first = 0xfffffffaull;  // the streams exceed 32 bits

template <class T>
void check_numbers(double normal_tolerance) {
  TileKernel draw{"draw", [](Array<T, 2> uniform, Array<T, 2> normal, UInt64 from) {
                    const auto stream = from + UInt64(block_index()) * static_cast<std::uint64_t>(count);
                    tile::store(uniform, {block_index(), 0},
                                tile::random_uniform<T>({drawn_rows, drawn_columns}, seed, {.stream = stream}));
                    tile::store(
                        normal, {block_index(), 0},
                        tile::random_normal<T>({drawn_rows, drawn_columns}, seed, {.stream = stream, .draw = 5}));
                  }};
  auto uniform = poisoned<T>({2 * drawn_rows, drawn_columns}), normal = poisoned<T>({2 * drawn_rows, drawn_columns});
  draw.launch({2}, uniform, normal, first);
  std::vector<double> uniforms, normals;
  for (std::uint64_t e = 0; e < 2 * static_cast<std::uint64_t>(count); ++e) {
    uniforms.push_back(HostRandom(seed, first + e).template uniform<T>());
    normals.push_back(HostRandom(seed, first + e, 5).template normal<T>());
  }
  expect_near(uniform, uniforms, 0);
  expect_near(normal, normals, normal_tolerance);
}

TEST(TileRandom, IsWhatTheHostDraws) {
  check_numbers<float>(1e-5);
  check_numbers<double>(1e-13);
}

}  // namespace
}  // namespace samite::test
