#include "samite/distributed/ghost_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace samite::distributed {
namespace {

// A dimension of a block's array: [0, width) and [end, padded) are ghosts.
struct Dimension {
  std::int64_t width, end, padded;
  bool before, after;  // whether a neighbour sends ghosts

  // The elements that no neighbour along this dimension sends.
  std::int64_t low() const { return before ? width : 0; }
  std::int64_t high() const { return after ? end : padded; }
  // The elements of the block that need no ghosts of this dimension.
  std::int64_t interior_begin() const { return before ? 2 * width : width; }
  std::int64_t interior_end() const { return after ? end - width : end; }
};

std::vector<Dimension> dimensions_of(const BlockShape &shape) {
  std::vector<Dimension> dimensions;
  for (int d = 0; d < shape.block.rank(); ++d) {
    const auto index = static_cast<std::size_t>(d);
    const std::int64_t width = shape.ghosts[index], end = width + shape.block[d];
    dimensions.push_back(
        {width, end, end + width, width > 0 && shape.neighbours[index][0], width > 0 && shape.neighbours[index][1]});
  }
  return dimensions;
}

template <class Range>
Box box_of(const std::vector<Dimension> &dimensions, const Range &range) {
  Box box;
  box.rank = static_cast<int>(dimensions.size());
  for (std::size_t d = 0; d < dimensions.size(); ++d) std::tie(box.begin[d], box.end[d]) = range(d);
  return box;
}

using Range = std::pair<std::int64_t, std::int64_t>;

bool has_neighbour(const std::vector<Dimension> &dimensions, const std::vector<int> &direction) {
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    if ((direction[d] < 0 && !dimensions[d].before) || (direction[d] > 0 && !dimensions[d].after)) return false;
  return true;
}

std::vector<int> opposite(std::vector<int> direction) {
  for (int &each : direction) each = -each;
  return direction;
}

void add_message(std::vector<GhostMessage> &messages, std::int64_t &count, int rank, const Box &box) {
  messages.push_back({rank, box, count});
  count += box.count();
}

void add_messages(GhostPlan &plan, const BlockShape &shape, const std::vector<Dimension> &dimensions) {
  std::int64_t directions = 1;
  for (std::size_t d = 0; d < dimensions.size(); ++d) directions *= 3;
  for (std::int64_t number = 0; number < directions; ++number) {
    std::vector<int> direction(dimensions.size());
    std::int64_t rest = number;
    for (std::size_t d = dimensions.size(); d-- > 0; rest /= 3) direction[d] = static_cast<int>(rest % 3) - 1;
    if (std::ranges::count(direction, 0) == static_cast<std::ptrdiff_t>(direction.size())) continue;
    if (has_neighbour(dimensions, direction))
      add_message(plan.sent, plan.sent_count, shape.rank_in(direction), box_of(dimensions, [&](std::size_t d) {
                    const Dimension &at = dimensions[d];
                    return direction[d] < 0   ? Range{at.width, 2 * at.width}
                           : direction[d] > 0 ? Range{at.end - at.width, at.end}
                                              : Range{at.low(), at.high()};
                  }));
    // The neighbour on the other side sends in this direction, too.
    if (has_neighbour(dimensions, opposite(direction)))
      add_message(plan.received, plan.received_count, shape.rank_in(opposite(direction)),
                  box_of(dimensions, [&](std::size_t d) {
                    const Dimension &at = dimensions[d];
                    return direction[d] < 0   ? Range{at.end, at.padded}
                           : direction[d] > 0 ? Range{0, at.width}
                                              : Range{at.low(), at.high()};
                  }));
  }
}

// Calls `visit` for each side with a neighbour. In earlier dimensions, boxes leave out elements that those have
// covered.
template <class Visit>
void for_each_side(const std::vector<Dimension> &dimensions, const Visit &visit) {
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].before) visit(d, -1);
    if (dimensions[d].after) visit(d, 1);
  }
}

GridPart part_of(const Extents &padded, const std::vector<Dimension> &dimensions, const Box &elements) {
  std::vector<std::int64_t> begin, end, margin;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    begin.push_back(elements.begin[d]);
    end.push_back(elements.end[d]);
    margin.push_back(dimensions[d].width);
  }
  return {padded, begin, end, margin};
}

void add_parts(GhostPlan &plan, const std::vector<Dimension> &dimensions) {
  std::vector<std::int64_t> extents;
  for (const Dimension &each : dimensions) extents.push_back(each.padded);
  const Extents padded{extents};
  const Box interior = box_of(
      dimensions, [&](std::size_t d) { return Range{dimensions[d].interior_begin(), dimensions[d].interior_end()}; });
  const Box block = box_of(dimensions, [&](std::size_t d) { return Range{dimensions[d].width, dimensions[d].end}; });
  for (int d = 0; d < interior.rank; ++d)
    if (interior.extent(d) <= 0) {
      plan.border.push_back(part_of(padded, dimensions, block));
      return;
    }
  plan.interior = part_of(padded, dimensions, interior);
  for_each_side(dimensions, [&](std::size_t side_of, int side) {
    const Box layer = box_of(dimensions, [&](std::size_t d) {
      if (d < side_of) return Range{interior.begin[d], interior.end[d]};
      if (d > side_of) return Range{block.begin[d], block.end[d]};
      return side < 0 ? Range{block.begin[d], interior.begin[d]} : Range{interior.end[d], block.end[d]};
    });
    plan.border.push_back(part_of(padded, dimensions, layer));
  });
}

}  // namespace

std::int64_t Box::count() const {
  std::int64_t count = 1;
  for (int d = 0; d < rank; ++d) count *= extent(d);
  return count;
}

GhostPlan ghost_plan(const BlockShape &shape) {
  const std::vector<Dimension> dimensions = dimensions_of(shape);
  GhostPlan plan;
  add_messages(plan, shape, dimensions);
  plan.own = box_of(dimensions, [&](std::size_t d) { return Range{dimensions[d].low(), dimensions[d].high()}; });
  for_each_side(dimensions, [&](std::size_t side_of, int side) {
    plan.ghosts.push_back(box_of(dimensions, [&](std::size_t d) {
      const Dimension &at = dimensions[d];
      if (d < side_of) return Range{at.low(), at.high()};
      if (d > side_of) return Range{0, at.padded};
      return side < 0 ? Range{0, at.width} : Range{at.end, at.padded};
    }));
  });
  add_parts(plan, dimensions);
  return plan;
}

}  // namespace samite::distributed
