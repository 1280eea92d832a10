#include "samite/solve/matrix_market.h"

#include "samite/base/error.h"
#include "samite/solve/assembly.h"
#include "samite/solve/kernel_types.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <vector>

namespace samite::solvers {
namespace {

struct Header {
  bool has_numbers = true;
  double mirrored = 0;  // factor of the other triangle; 0: there is none
};

class Reader {
 public:
  Reader(std::istream &stream, const std::string &name, SourceLocation where)
      : stream_(stream), name_(name), where_(where) {}

  Header header() {
    std::string line = next_line();
    std::ranges::transform(line, line.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::istringstream words(line);
    std::string banner, object, format, field, symmetry;
    words >> banner >> object >> format >> field >> symmetry;
    if (banner != "%%matrixmarket" || object != "matrix" || format != "coordinate")
      refuse("\"%%MatrixMarket matrix coordinate …\" is expected, \"" + line + "\" is given");
    if (field != "real" && field != "integer" && field != "pattern")
      refuse("a real, integer or pattern matrix is expected, \"" + field + "\" is given");
    if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric")
      refuse("a general, symmetric or skew-symmetric matrix is expected, \"" + symmetry + "\" is given");
    return {field != "pattern", symmetry == "general" ? 0.0 : symmetry == "symmetric" ? 1.0 : -1.0};
  }

  // The next line that is neither empty nor a comment.
  std::istringstream numbers() {
    std::string line;
    do {
      line = next_line();
    } while (line.starts_with('%') || line.find_first_not_of(" \t\r") == std::string::npos);
    return std::istringstream(line);
  }

  [[noreturn]] void refuse(const std::string &what) const {
    throw UserError(where_, fmt::format("{}:{}: {}", name_, line_, what));
  }

 private:
  std::string next_line() {
    ++line_;
    std::string line;
    if (!std::getline(stream_, line)) refuse("the file ends here");
    return line;
  }

  std::istream &stream_;
  const std::string &name_;
  SourceLocation where_;
  std::int64_t line_ = 0;
};

}  // namespace

SparseMatrix read_matrix_market(std::istream &stream, const std::string &name, Device device, ScalarType type,
                                SourceLocation where) {
  Reader reader(stream, name, where);
  const Header header = reader.header();
  std::int64_t rows = -1, columns = -1, entries = -1;
  if (!(reader.numbers() >> rows >> columns >> entries) || rows < 0 || columns < 0 || entries < 0 ||
      rows > 2147483647 || columns > 2147483647)
    reader.refuse("the numbers of rows, columns and entries are expected");
  std::vector<std::int32_t> row_indices, column_indices;
  std::vector<double> values;
  const auto add = [&](std::int64_t row, std::int64_t column, double value) {
    row_indices.push_back(static_cast<std::int32_t>(row - 1));
    column_indices.push_back(static_cast<std::int32_t>(column - 1));
    values.push_back(value);
  };
  for (std::int64_t k = 0; k < entries; ++k) {
    std::istringstream line = reader.numbers();
    std::int64_t row = 0, column = 0;
    if (!(line >> row >> column)) reader.refuse("a row and a column are expected");
    if (row < 1 || row > rows || column < 1 || column > columns)
      reader.refuse(fmt::format("an entry at ({}, {}) is outside of {} x {}", row, column, rows, columns));
    double value = 1;
    if (header.has_numbers && !(line >> value)) reader.refuse("a number is expected behind the row and the column");
    add(row, column, value);
    if (header.mirrored != 0 && row != column) add(column, row, header.mirrored * value);
  }
  return detail::with_floating_type(type, "numbers of a matrix", where, [&]<class T>(T) {
    const std::size_t count = values.size();
    const Buffer<std::int32_t> by_row(device, {count}, row_indices), by_column(device, {count}, column_indices);
    const std::vector<T> numbers(values.begin(), values.end());
    return Assembly(rows, columns, by_row, by_column, {}, where).assemble(Buffer<T>(device, {count}, numbers), where);
  });
}

SparseMatrix read_matrix_market(const std::filesystem::path &file, Device device, ScalarType type,
                                SourceLocation where) {
  std::ifstream stream(file);
  if (!stream) throw UserError(where, "a matrix cannot be read from " + file.string());
  return read_matrix_market(stream, file.string(), device, type, where);
}

void write_matrix_market(std::ostream &stream, const SparseMatrix &a) {
  const BlockExtents block = a.block();
  const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  fmt::print(stream, "%%MatrixMarket matrix coordinate real general\n{} {} {}\n", a.rows(), a.columns(),
             a.values().count());
  detail::with_floating_type(a.type(), "", {}, [&]<class T>(T) {
    const std::vector<T> values = Buffer<T>(a.values()).to_vector();
    std::size_t next = 0;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
      for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k)
        for (int i = 0; i < block.rows; ++i)
          for (int j = 0; j < block.columns; ++j)
            fmt::print(stream, "{} {} {}\n", static_cast<std::int64_t>(row) * block.rows + i + 1,
                       std::int64_t{indices[static_cast<std::size_t>(k)]} * block.columns + j + 1, values[next++]);
  });
}

void write_matrix_market(const std::filesystem::path &file, const SparseMatrix &a, SourceLocation where) {
  std::ofstream stream(file);
  write_matrix_market(stream, a);
  if (!stream.flush()) throw UserError(where, "a matrix cannot be written to " + file.string());
}

}  // namespace samite::solvers
