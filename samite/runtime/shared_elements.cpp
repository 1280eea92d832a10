#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace samite {
namespace {

struct Axis {
  std::int64_t extent, stride;  // the stride in bytes, positive
};

// The elements at first + the sum of index times stride, in bytes; the largest stride first.
struct View {
  std::int64_t first;
  std::vector<Axis> axes;

  std::int64_t last() const {
    std::int64_t last = first;
    for (const Axis &axis : axes) last += (axis.extent - 1) * axis.stride;
    return last;
  }
};

View view_of(const ElementRegion &region, const std::byte *origin) {
  View view{region.data - origin, {}};
  const auto bytes = static_cast<std::int64_t>(region.element_bytes);
  for (int d = 0; d < region.extents.rank(); ++d) {
    const std::int64_t extent = region.extents[d], stride = region.strides[static_cast<std::size_t>(d)] * bytes;
    if (extent == 1 || stride == 0) continue;
    if (stride < 0) view.first += (extent - 1) * stride;
    view.axes.push_back({extent, std::abs(stride)});
  }
  std::ranges::sort(view.axes, std::greater{}, &Axis::stride);
  return view;
}

// Compares halves recursively, until their address ranges or the common divisor of their strides decide.
class Comparison {
 public:
  bool share(const View &a, const View &b) {
    if (a.last() < b.first || b.last() < a.first) return false;
    if (a.axes.empty() && b.axes.empty()) return true;
    std::int64_t divisor = 0;
    for (const View *view : {&a, &b})
      for (const Axis &axis : view->axes) divisor = std::gcd(divisor, axis.stride);
    if ((a.first - b.first) % divisor != 0) return false;
    if (--questions_ < 0) return true;
    const bool first_is_wider = b.axes.empty() || (!a.axes.empty() && a.last() - a.first >= b.last() - b.first);
    return first_is_wider ? share_halves(a, b) : share_halves(b, a);
  }

 private:
  bool share_halves(const View &wider, const View &other) {
    View low = wider, high = wider;
    const Axis axis = wider.axes.front();
    const std::int64_t half = axis.extent / 2;
    resize(low, half);
    high.first += half * axis.stride;
    resize(high, axis.extent - half);
    return share(low, other) || share(high, other);
  }
  static void resize(View &view, std::int64_t extent) {
    view.axes.front().extent = extent;
    if (extent == 1) view.axes.erase(view.axes.begin());
  }

  int questions_ = 20'000;
};

}  // namespace

bool share_elements(const AnyBuffer &a, const AnyBuffer &b) {
  return a.overlaps(b) && share_elements(region_of(a), region_of(b));
}

bool share_elements(const ElementRegion &a, const ElementRegion &b) {
  const auto [begin, end] = byte_range(a.data, a.extents, a.strides, a.element_bytes);
  const auto [other_begin, other_end] = byte_range(b.data, b.extents, b.strides, b.element_bytes);
  if (begin == end || other_begin == other_end || begin >= other_end || other_begin >= end) return false;
  return Comparison().share(view_of(a, begin), view_of(b, begin));
}

ElementRegion region_of(const AnyBuffer &view) noexcept {
  ElementRegion region{static_cast<const std::byte *>(view.data()), view.extents(), {}, size_of(view.type())};
  std::ranges::copy(view.strides(), region.strides.begin());
  return region;
}

}  // namespace samite
