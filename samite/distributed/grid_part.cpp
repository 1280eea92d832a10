#include "samite/distributed/grid_part.h"

#include "samite/base/error.h"

#include <fmt/format.h>

namespace samite {
namespace {

Extents difference(const std::vector<std::int64_t> &end, const std::vector<std::int64_t> &begin) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < begin.size(); ++d) extents.push_back(end[d] - begin[d]);
  return Extents(extents);
}

}  // namespace

GridPart::GridPart(const Extents &padded, const std::vector<std::int64_t> &begin, const std::vector<std::int64_t> &end)
    : padded_(padded), extents_(difference(end, begin)), begin_(begin) {}

AnyBuffer GridPart::operator()(const AnyBuffer &array, SourceLocation where) const {
  if (!array.valid() || !(array.extents() == padded_))
    throw UserError(where, fmt::format("{} is no array of this grid: expected extents {}, a block with its ghosts",
                                       array.valid() ? array.to_string() : "an empty buffer", padded_.to_string()));
  AnyBuffer view = array;
  for (int d = 0; d < padded_.rank(); ++d) {
    const std::int64_t begin = begin_[static_cast<std::size_t>(d)];
    view = view.slice(d, begin, begin + extents_[d]);
  }
  return view;
}

std::string GridPart::to_string() const {
  std::vector<std::int64_t> end;
  for (int d = 0; d < padded_.rank(); ++d) end.push_back(begin_[static_cast<std::size_t>(d)] + extents_[d]);
  return fmt::format("{} to {} of {}", Extents(begin_).to_string(), Extents(end).to_string(), padded_.to_string());
}

}  // namespace samite
