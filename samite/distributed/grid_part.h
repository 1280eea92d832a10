// A part of a rank's block, for a launch of its own: the interior, whose elements need no ghosts, or a part of the
// border, whose elements do.
//
//   grid.exchange(now, [&](const GridPart &part) {
//     diffuse.launch(part.extents(), part(next), part(now));     // leaves out a margin as wide as the ghosts
//   });
//
// A part's views have a margin as wide as the grid's ghosts around the elements that it is for. So a kernel that leaves
// out such a margin of a block's array computes the elements of one part from its views, without a change. A kernel
// that counts its indices from the first element behind the margin, `y + 1` for y = thread_index(), is launched over
// elements(): it has no condition to check, which on many CPUs is several times faster. Each element of a block belongs
// to one part. An immutable value.
#pragma once

#include "samite/runtime/buffer.h"

#include <cstdint>
#include <vector>

namespace samite {

class GridPart {
 public:
  // The elements [begin, end) of an array of `padded` extents, and a margin of these widths around them.
  GridPart(const Extents &padded, const std::vector<std::int64_t> &begin, const std::vector<std::int64_t> &end,
           const std::vector<std::int64_t> &margin);

  const Extents &extents() const noexcept { return extents_; }    // of its views
  const Extents &elements() const noexcept { return elements_; }  // of them without the margin
  // The first element of its views, in the array of the block with its ghosts.
  const std::vector<std::int64_t> &begin() const noexcept { return begin_; }

  // The part's view of an array of the block. UserError for an array of other extents.
  AnyBuffer operator()(const AnyBuffer &array, SourceLocation where = std::source_location::current()) const;
  template <Scalar T>
  Buffer<T> operator()(const Buffer<T> &array, SourceLocation where = std::source_location::current()) const {
    return Buffer<T>((*this)(AnyBuffer(array), where));
  }

  std::string to_string() const;  // "(2, 2) to (10, 10) of (12, 12)"

 private:
  Extents padded_, elements_, extents_;
  std::vector<std::int64_t> begin_;
};

}  // namespace samite
