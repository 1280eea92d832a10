// The kernels that copy whole arrays for bulk copies: on the host, next to protected memory, and as compiled by
// NVIDIA's compiler.
#include "samite/jit/array_copies.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/guarded.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace samite::test {
namespace {

struct CopyCase {
  std::array<std::int64_t, 4> extent;  // of the copy
  std::int64_t gap = 0, offset = 0;    // elements between the array's lines, and before its first
  bool backwards = false;              // its lines from the last to the first
};

void PrintTo(const CopyCase &c, std::ostream *out) {
  *out << fmt::format("{}x{}x{}x{} gap {} offset {}{}", c.extent[0], c.extent[1], c.extent[2], c.extent[3], c.gap,
                      c.offset, c.backwards ? " backwards" : "");
}

const CudaTextOnHost &kernel(const char *function, int bytes) {
  static std::map<std::string, std::unique_ptr<CudaTextOnHost>> made;
  auto &own = made[fmt::format("{}{}", function, bytes)];
  if (!own)
    own = std::make_unique<CudaTextOnHost>(
        fmt::format("namespace samite {{ void kernel(const void *given) {{ {}<{}>(*static_cast<const ArrayCopy "
                    "*>(given)); }} }}",
                    function, bytes),
        "kernel");
  return *own;
}

// `by_rows`: the last dimension has no gaps; else the one before it.
template <class T>
void expect_copied(const CopyCase &c, bool by_rows) {
  SCOPED_TRACE(testing::PrintToString(c) + fmt::format(", {} bytes, {}", sizeof(T), by_rows));
  const auto &e = c.extent;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t together = e[by_rows ? 3 : 2], lines = e[by_rows ? 2 : 3], line = together + c.gap,
                     count = c.offset + (e[0] * e[1] * lines - 1) * line + together;
  for (const bool at_end : {false, true}) {
    const Guarded from(static_cast<std::size_t>(count * bytes), at_end);
    std::mt19937 engine(1);
    for (std::int64_t i = 0; i < count * bytes; ++i) from.data()[i] = static_cast<std::byte>(engine());

    jit::ArrayCopyArguments own{};
    own.row_bytes = (e[3] * bytes + 15) / 16 * 16;
    const Guarded to(static_cast<std::size_t>(own.row_bytes * e[0] * e[1] * e[2]), false);
    std::ranges::copy(e, own.extent);
    own.stride[by_rows ? 3 : 2] = bytes;
    own.stride[by_rows ? 2 : 3] = (c.backwards ? -line : line) * bytes;
    own.stride[1] = line * lines * bytes;
    own.stride[0] = own.stride[1] * e[1];
    const std::byte *first = from.data() + (c.offset + (c.backwards ? (lines - 1) * line : 0)) * bytes;
    own.from = reinterpret_cast<std::uintptr_t>(first);
    own.to = reinterpret_cast<std::uintptr_t>(to.data());
    kernel(by_rows ? "copy_rows" : "copy_transposed", static_cast<int>(bytes))
        .run(static_cast<unsigned>(jit::array_copy_blocks(own, by_rows)), jit::array_copy_threads, &own);

    const auto at = [](const std::byte *place) {
      T value;
      std::memcpy(&value, place, sizeof value);
      return value;
    };
    for (std::int64_t w = 0; w < e[0]; ++w)
      for (std::int64_t z = 0; z < e[1]; ++z)
        for (std::int64_t y = 0; y < e[2]; ++y)
          for (std::int64_t x = 0; x < e[3]; ++x)
            ASSERT_EQ(at(to.data() + ((w * e[1] + z) * e[2] + y) * own.row_bytes + x * bytes),
                      at(first + w * own.stride[0] + z * own.stride[1] + y * own.stride[2] + x * own.stride[3]))
                << w << ' ' << z << ' ' << y << ' ' << x << (at_end ? ", at the end" : "");
  }
}

void expect_copied(const CopyCase &c) {
  for (const bool by_rows : {true, false}) {
    expect_copied<std::uint8_t>(c, by_rows);
    expect_copied<std::uint16_t>(c, by_rows);
    expect_copied<std::uint32_t>(c, by_rows);
  }
}

TEST(CudaCopyArray, OfOddExtents) {
  for (const std::int64_t rows : {1, 7, 65})
    for (const std::int64_t columns : {1, 7, 8, 16, 33, 127, 130}) expect_copied({.extent = {1, 1, rows, columns}});
  expect_copied({.extent = {1, 1, 3, 4095}});
  expect_copied({.extent = {1, 1, 300, 70}});
}

TEST(CudaCopyArray, FromAnyElementOn) {
  for (std::int64_t offset = 0; offset < 17; ++offset)
    expect_copied({.extent = {1, 1, 5, 40}, .gap = offset % 3, .offset = offset});
}

TEST(CudaCopyArray, OfViewsAndBatches) {
  expect_copied({.extent = {1, 1, 9, 31}, .gap = 5, .offset = 2, .backwards = true});
  expect_copied({.extent = {1, 3, 9, 31}, .gap = 1});
  expect_copied({.extent = {2, 3, 5, 67}, .gap = 2, .offset = 1});
  expect_copied({.extent = {5, 1, 1, 1}});
}

class CudaCopyArrayCompiled : public CudaCompilerTest {};

TEST_F(CudaCopyArrayCompiled, WithoutSpills) {
  if (std::ranges::count(nvrtc().architectures, 90) == 0) GTEST_SKIP() << "no compute capability 9.0";
  for (const ScalarType type : {ScalarType::Int8, ScalarType::BFloat16, ScalarType::Float32})
    for (const bool by_rows : {false, true}) {
      const jit::ArrayCopy copy = jit::array_copy({2, 0, false}, type, by_rows, 90);
      const CudaImageReport &report = copy.code->image().report();
      if (std::getenv("SAMITE_TEST_SHOW")) fmt::print("{} {}: {}\n", name(type), by_rows, report.to_string());
      ASSERT_EQ(report.kernels.size(), 1u);
      const CudaKernelResources &needs = report.kernels[0];
      EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes + needs.local_bytes, 0u);
      EXPECT_LE(needs.registers, 64);  // four blocks of a multiprocessor
      EXPECT_LE(needs.shared_bytes, 17u << 10);
    }
}

}  // namespace
}  // namespace samite::test
