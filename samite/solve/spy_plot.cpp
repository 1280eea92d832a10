#include "samite/solve/spy_plot.h"

#include "samite/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <vector>

namespace samite::solvers {
namespace {

// How much of each cell's numbers is stored, 0 to 1.
struct Cells {
  std::int64_t rows, columns;
  std::vector<double> shares;
};

std::int64_t whole_parts(std::int64_t count, std::int64_t each) {
  return std::max<std::int64_t>((count + each - 1) / each, 1);
}

Cells cells_of(const SparseMatrix &a, std::int64_t rows_of_cell, std::int64_t columns_of_cell) {
  Cells cells{whole_parts(a.rows(), rows_of_cell), whole_parts(a.columns(), columns_of_cell), {}};
  cells.shares.resize(static_cast<std::size_t>(cells.rows * cells.columns));
  const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  const BlockExtents block = a.block();
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    const auto of = static_cast<std::size_t>(row / block.rows);
    for (auto k = static_cast<std::size_t>(offsets[of]); k < static_cast<std::size_t>(offsets[of + 1]); ++k)
      for (int j = 0; j < block.columns; ++j) {
        const std::int64_t column = std::int64_t{indices[k]} * block.columns + j;
        cells.shares[static_cast<std::size_t>(row / rows_of_cell * cells.columns + column / columns_of_cell)] += 1;
      }
  }
  for (std::int64_t i = 0; i < cells.rows; ++i)
    for (std::int64_t j = 0; j < cells.columns; ++j) {
      const std::int64_t height = std::min(rows_of_cell, a.rows() - i * rows_of_cell),
                         width = std::min(columns_of_cell, a.columns() - j * columns_of_cell);
      if (height > 0 && width > 0)
        cells.shares[static_cast<std::size_t>(i * cells.columns + j)] /= static_cast<double>(height * width);
    }
  return cells;
}

void check_picture(const char *what, const SparseMatrix &a, int size, SourceLocation where) {
  a.pattern(where);
  if (size < 1)
    throw UserError(where, std::string(what) + ": a picture is at least 1 wide, " + std::to_string(size) + " is given");
}

using Bytes = std::vector<std::uint8_t>;

void put_number(Bytes &bytes, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(number >> shift));
}

// PNG, second edition (ISO/IEC 15948), annex D.
std::uint32_t checksum(const Bytes &bytes) {
  std::uint32_t sum = 0xffffffffU;
  for (const std::uint8_t byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1U) != 0 ? 0xedb88320U ^ (sum >> 1) : sum >> 1;
  }
  return ~sum;
}

void put_chunk(Bytes &png, const char *type, const Bytes &content) {
  put_number(png, static_cast<std::uint32_t>(content.size()));
  Bytes checked(type, type + 4);
  checked.insert(checked.end(), content.begin(), content.end());
  png.insert(png.end(), checked.begin(), checked.end());
  put_number(png, checksum(checked));
}

// As blocks that are stored as they are (RFC 1950 and 1951): the picture is small.
Bytes stored(const Bytes &content) {
  constexpr std::size_t most = 65535;
  Bytes result{0x78, 0x01};
  for (std::size_t at = 0; at < content.size(); at += most) {
    const std::size_t count = std::min(most, content.size() - at);
    const auto low = static_cast<std::uint8_t>(count & 255), high = static_cast<std::uint8_t>(count >> 8);
    const std::array<std::uint8_t, 5> head{static_cast<std::uint8_t>(at + count == content.size()), low, high,
                                           static_cast<std::uint8_t>(~low), static_cast<std::uint8_t>(~high)};
    result.insert(result.end(), head.begin(), head.end());
    result.insert(result.end(), content.begin() + static_cast<std::ptrdiff_t>(at),
                  content.begin() + static_cast<std::ptrdiff_t>(at + count));
  }
  std::uint32_t a = 1, b = 0;
  for (const std::uint8_t byte : content) a = (a + byte) % 65521, b = (b + a) % 65521;
  put_number(result, b << 16 | a);
  return result;
}

Bytes png_of(const Cells &cells) {
  Bytes rows;
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    rows.push_back(0);  // no filter
    for (std::int64_t j = 0; j < cells.columns; ++j) {
      // A single entry of many is to be seen, too.
      const double share = cells.shares[static_cast<std::size_t>(i * cells.columns + j)];
      const double darkness = share > 0 ? 0.4 + 0.6 * std::sqrt(share) : 0;
      rows.push_back(static_cast<std::uint8_t>(std::lround(255 * (1 - darkness))));
    }
  }
  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, head;
  put_number(head, static_cast<std::uint32_t>(cells.columns)), put_number(head, static_cast<std::uint32_t>(cells.rows));
  const std::array<std::uint8_t, 5> grey_of_8_bits{8, 0, 0, 0, 0};
  head.insert(head.end(), grey_of_8_bits.begin(), grey_of_8_bits.end());
  put_chunk(png, "IHDR", head);
  put_chunk(png, "IDAT", stored(rows));
  put_chunk(png, "IEND", {});
  return png;
}

}  // namespace

std::string spy_plot(const SparseMatrix &a, int columns, SourceLocation where) {
  check_picture("spy_plot", a, columns, where);
  const std::int64_t each = whole_parts(a.columns(), columns);
  // Small matrices have a character for each number.
  const Cells cells = cells_of(a, each == 1 && a.rows() <= columns ? 1 : 2 * each, each);
  std::string text;
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    for (std::int64_t j = 0; j < cells.columns; ++j) {
      const double share = cells.shares[static_cast<std::size_t>(i * cells.columns + j)];
      text += share == 0 ? ' ' : share < 0.25 ? '.' : share < 0.75 ? ':' : '#';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

void write_spy_plot(const SparseMatrix &a, const std::filesystem::path &path, int pixels, SourceLocation where) {
  check_picture("write_spy_plot", a, pixels, where);
  const std::int64_t each = whole_parts(std::max(a.rows(), a.columns()), pixels);
  const Bytes png = png_of(cells_of(a, each, each));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(png.data()), static_cast<std::streamsize>(png.size()));
  file.close();
  if (!file) throw UserError(where, "write_spy_plot: " + path.string() + " cannot be written");
}

}  // namespace samite::solvers
