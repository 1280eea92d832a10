#include "samite/ir/type.h"

#include "samite/base/error.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>

namespace samite::ir {
namespace {

// Shapes by their number, from 1. A deque, so that shapes do not move.
struct Shapes {
  std::mutex mutex;
  std::deque<TileShape> known{TileShape()};
};
Shapes &shapes() {
  static Shapes shapes;
  return shapes;
}

}  // namespace

TileShape::TileShape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  internal_check(extents.size() <= maximum_tile_rank, "a tile of more than four dimensions");
  std::ranges::copy(extents, extents_.begin());
}

std::int64_t TileShape::count() const {
  std::int64_t count = 1;
  for (std::int64_t extent : *this) count *= extent;
  return count;
}

std::string TileShape::to_string() const {
  std::string text;
  for (std::int64_t extent : *this) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

Type::Type(ScalarType element, const TileShape &shape) : element_(element) {
  if (shape.rank() == 0) return;
  auto &[mutex, known] = shapes();
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(known, shape);
  if (found == known.end()) {
    internal_check(known.size() <= std::numeric_limits<std::uint16_t>::max(), "more than 65535 shapes of tiles");
    found = known.insert(known.end(), shape);
  }
  shape_ = static_cast<std::uint16_t>(found - known.begin());
}

TileShape Type::shape() const {
  if (!is_tile()) return {};
  auto &[mutex, known] = shapes();
  std::lock_guard lock(mutex);
  return known[shape_];
}

std::string name(const Type &type) {
  std::string text(samite::name(type.element()));
  if (!type.is_tile()) return text;
  for (std::int64_t extent : type.shape()) text += ", " + std::to_string(extent);
  return "tile<" + text + ">";
}

}  // namespace samite::ir
