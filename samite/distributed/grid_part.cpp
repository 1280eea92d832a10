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

GridPart::GridPart(const Extents &padded, const std::vector<std::int64_t> &begin, const std::vector<std::int64_t> &end,
                   const std::vector<std::int64_t> &margin)
    : padded_(padded), elements_(difference(end, begin)) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < begin.size(); ++d) {
    begin_.push_back(begin[d] - margin[d]);
    extents.push_back(end[d] - begin[d] + 2 * margin[d]);
  }
  extents_ = Extents(extents);
}

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
