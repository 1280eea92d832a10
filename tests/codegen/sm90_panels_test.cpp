// The places of elements of factors in panels, determined in three ways that must agree: by the formula of place.h, by
// the copy engine's writes, and by the products' reads. The last two follow NVIDIA's manuals: a swizzle of 128 bytes
// exclusive-ors bits 4 to 6 of an address with bits 7 to 9.
#define __device__
#define __forceinline__ inline
#include "samite/device/tile/sm90_panels.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace samite {
namespace {

std::uint32_t swizzled(std::uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

// A box is written row by row.
template <class Rows>
void expect_copied() {
  for (int row = 0; row < Rows::rows; ++row)
    for (int column = 0; column < Rows::columns; ++column) {
      const int panel = column / Rows::of_panel, in_box = row * 128 + column % Rows::of_panel * Rows::bytes;
      const auto address = swizzled(static_cast<std::uint32_t>(panel * Rows::panel_bytes + in_box));
      ASSERT_EQ(address, static_cast<std::uint32_t>(Rows::place(row, column) * Rows::bytes)) << row << ' ' << column;
    }
}

// A product reads 32 bytes of terms of this many lines.
template <class Rows, bool along_terms>
void expect_read(int lines, int every_lines) {
  const std::uint32_t base = 3 * 1024;  // any possible start of the tile
  const int all_lines = along_terms ? Rows::rows : Rows::columns, all_terms = along_terms ? Rows::columns : Rows::rows,
            terms = 32 / Rows::bytes;
  for (int line = 0; line + lines <= all_lines; line += every_lines)
    for (int term = 0; term < all_terms; term += terms) {
      const u64 descriptor = factor_at(factor_format<Rows, along_terms>(), base) +
                             static_cast<u64>(factor_offset<Rows, along_terms>(line, term) / 16);
      ASSERT_EQ(descriptor >> 62, 1u);
      const auto start = static_cast<std::uint32_t>(descriptor & 0x3fff) << 4,
                 leading = static_cast<std::uint32_t>(descriptor >> 16 & 0x3fff) << 4,
                 stride = static_cast<std::uint32_t>(descriptor >> 32 & 0x3fff) << 4;
      for (int i = 0; i < lines; ++i)
        for (int t = 0; t < terms; ++t) {
          const auto n = static_cast<std::uint32_t>(i), k = static_cast<std::uint32_t>(t);
          const std::uint32_t bytes = Rows::bytes;
          const std::uint32_t address =
              along_terms ? start + n / 8 * stride + n % 8 * 128 + k * bytes
                          : start + n * bytes / 128 * leading + n * bytes % 128 + k / 8 * stride + k % 8 * 128;
          const int place = along_terms ? Rows::place(line + i, term + t) : Rows::place(term + t, line + i);
          ASSERT_EQ(swizzled(address) - base, static_cast<std::uint32_t>(place * Rows::bytes))
              << line << " + " << i << ", " << term << " + " << t;
        }
    }
}

template <int bytes, int lines, int terms>
void expect_along_terms() {
  using Rows = Panels<bytes, lines, terms>;
  expect_copied<Rows>();
  expect_read<Rows, true>(64, 64);
  expect_read<Rows, true>(lines, 8);
  expect_read<Rows, true>(8, 8);
}

TEST(Sm90Panels, AlongTerms) {
  expect_along_terms<2, 128, 64>(), expect_along_terms<2, 256, 64>(), expect_along_terms<2, 64, 128>();
  expect_along_terms<4, 128, 32>(), expect_along_terms<4, 192, 64>();
  expect_along_terms<1, 128, 128>(), expect_along_terms<1, 160, 256>();
}

template <int lines, int terms>
void expect_across_terms() {
  using Rows = Panels<2, terms, lines>;
  expect_copied<Rows>();
  expect_read<Rows, false>(64, 64);
  expect_read<Rows, false>(lines, 64);
  expect_read<Rows, false>(8, 64);
}

TEST(Sm90Panels, AcrossTerms) {
  expect_across_terms<64, 16>(), expect_across_terms<128, 64>(), expect_across_terms<192, 32>();
  expect_across_terms<256, 64>(), expect_across_terms<256, 128>();
}

}  // namespace
}  // namespace samite
