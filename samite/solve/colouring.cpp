#include "samite/solve/colouring.h"

#include <cstddef>

namespace samite::solvers::detail {
namespace {

constexpr std::int32_t none = -1;

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

// The rows of each column, by rows of `offsets` and `indices`.
struct Columns {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> rows;

  Columns(std::int64_t columns, const std::vector<std::int64_t> &row_offsets, const std::vector<std::int32_t> &indices)
      : offsets(at(columns) + 1), rows(indices.size()) {
    for (const std::int32_t column : indices) ++offsets[at(column) + 1];
    for (std::size_t j = 1; j < offsets.size(); ++j) offsets[j] += offsets[j - 1];
    std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t i = 0; i + 1 < row_offsets.size(); ++i)
      for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
        rows[at(next[at(indices[at(k)])]++)] = static_cast<std::int32_t>(i);
  }
};

// The colours that the present column must not have.
class Forbidden {
 public:
  void add(std::int32_t colour, std::int64_t column) {
    if (colour == none) return;
    if (at(colour) >= last_.size()) last_.resize(at(colour) + 1, none);
    last_[at(colour)] = column;
  }
  std::int32_t least_other(std::int64_t column) const {
    std::size_t colour = 0;
    while (colour < last_.size() && last_[colour] == column) ++colour;
    return static_cast<std::int32_t>(colour);
  }

 private:
  std::vector<std::int64_t> last_;  // by colour: the last column that must not have it
};

}  // namespace

std::vector<std::int32_t> colours_of_columns(std::int64_t columns, const std::vector<std::int64_t> &offsets,
                                             const std::vector<std::int32_t> &indices) {
  const Columns by_column(columns, offsets, indices);
  std::vector<std::int32_t> colours(at(columns), none);
  Forbidden forbidden;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t r = by_column.offsets[at(j)]; r < by_column.offsets[at(j) + 1]; ++r) {
      const std::int32_t row = by_column.rows[at(r)];
      for (std::int64_t k = offsets[at(row)]; k < offsets[at(row) + 1]; ++k)
        forbidden.add(colours[at(indices[at(k)])], j);
    }
    colours[at(j)] = forbidden.least_other(j);
  }
  return colours;
}

std::vector<std::int32_t> star_colours(const std::vector<std::int64_t> &offsets,
                                       const std::vector<std::int32_t> &indices) {
  const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
  std::vector<std::int32_t> colours(at(count), none);
  const auto each_neighbour = [&](std::int64_t of, const auto &f) {
    for (std::int64_t k = offsets[at(of)]; k < offsets[at(of) + 1]; ++k)
      if (indices[at(k)] != of) f(indices[at(k)]);
  };
  Forbidden forbidden;
  for (std::int64_t v = 0; v < count; ++v) {
    each_neighbour(v, [&](std::int32_t w) {
      const std::int32_t of_w = colours[at(w)];
      forbidden.add(of_w, v);
      each_neighbour(w, [&](std::int32_t x) {
        if (x == v || colours[at(x)] == none) return;
        if (of_w == none) return forbidden.add(colours[at(x)], v);
        // v, w, x, y must not have two colours only.
        each_neighbour(x, [&](std::int32_t y) {
          if (y != w && colours[at(y)] == of_w) forbidden.add(colours[at(x)], v);
        });
      });
    });
    colours[at(v)] = forbidden.least_other(v);
  }
  return colours;
}

}  // namespace samite::solvers::detail
