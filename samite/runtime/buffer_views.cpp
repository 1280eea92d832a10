// The views of a buffer: other extents and strides over the same storage.
#include "samite/base/error.h"
#include "samite/runtime/any_buffer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace samite {

AnyBuffer AnyBuffer::slice(int dimension, std::int64_t begin, std::int64_t end, std::int64_t step,
                           SourceLocation where) const {
  require_valid(where);
  std::int64_t limit = extent(dimension, where);
  bool inside = step > 0 ? 0 <= begin && begin <= end && end <= limit : -1 <= end && end <= begin && begin < limit;
  if (step == 0 || !inside)
    throw UserError(where, fmt::format("slice from {} to {} with step {} of dimension {} does not fit {}: expected {}",
                                       begin, end, step, dimension, to_string(),
                                       step == 0  ? std::string("a step other than 0")
                                       : step > 0 ? fmt::format("0 <= begin <= end <= {}", limit)
                                                  : fmt::format("-1 <= end <= begin < {}", limit)));

  // Unsigned, because the lowest step has no positive counterpart.
  auto distance = static_cast<std::uint64_t>(step > 0 ? end - begin : begin - end);
  auto magnitude = step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  auto length = static_cast<std::int64_t>(distance == 0 ? 0 : (distance - 1) / magnitude + 1);

  auto axis = static_cast<std::size_t>(dimension);
  std::vector<std::int64_t> extents(extents_.begin(), extents_.end());
  extents[axis] = length;
  AnyBuffer view = *this;
  view.extents_ = Extents(std::span<const std::int64_t>(extents), where);
  if (length > 1) view.strides_[axis] *= step;  // with fewer elements the product might overflow and does not matter
  if (view.count() > 0) view.data_ += begin * strides_[axis] * static_cast<std::int64_t>(size_of(type_));
  return view;
}

AnyBuffer AnyBuffer::permute(std::initializer_list<int> order, SourceLocation where) const {
  require_valid(where);
  std::array<bool, maximum_rank> seen{};
  bool complete = order.size() == static_cast<std::size_t>(rank());
  for (int d : order) {
    complete = complete && d >= 0 && d < rank() && !seen[static_cast<std::size_t>(d)];
    if (complete) seen[static_cast<std::size_t>(d)] = true;
  }
  if (!complete)
    throw UserError(where, fmt::format("({}) is no order of the {} dimensions of {}: expected each of 0 to {} once",
                                       fmt::join(order, ", "), rank(), to_string(), rank() - 1));

  std::vector<std::int64_t> extents;
  AnyBuffer view = *this;
  for (int d : order) {
    view.strides_[extents.size()] = strides_[static_cast<std::size_t>(d)];
    extents.push_back(extents_[d]);
  }
  view.extents_ = Extents(std::span<const std::int64_t>(extents), where);
  return view;
}

AnyBuffer AnyBuffer::transpose() const {
  switch (rank()) {
    case 2: return permute({1, 0});
    case 3: return permute({2, 1, 0});
    case 4: return permute({3, 2, 1, 0});
    default: return *this;
  }
}

AnyBuffer AnyBuffer::broadcast(const Extents &extents, SourceLocation where) const {
  require_valid(where);
  int added = extents.rank() - rank();
  if (added < 0)
    throw UserError(where, fmt::format("cannot broadcast {} to {}: expected at least {} dimensions, {} given",
                                       to_string(), extents.to_string(), rank(), extents.rank()));
  AnyBuffer view = *this;
  view.extents_ = extents;
  view.strides_ = {};
  for (int d = 0; d < rank(); ++d) {
    auto from = static_cast<std::size_t>(d), to = from + static_cast<std::size_t>(added);
    if (extents_[d] == extents[d + added])
      view.strides_[to] = strides_[from];
    else if (extents_[d] != 1)
      throw UserError(where, fmt::format("cannot broadcast {} to {}: dimension {} has extent {}, which is neither 1 "
                                         "nor the {} asked for",
                                         to_string(), extents.to_string(), d, extents_[d], extents[d + added]));
  }
  return view;
}

AnyBuffer AnyBuffer::reshape(const Extents &extents, SourceLocation where) const {
  require_valid(where);
  if (extents.rank() == 0) throw UserError(where, "reshape() needs at least one dimension, none given");
  if (extents.count() != count())
    throw UserError(where, fmt::format("cannot reshape {} to {}: expected {} elements, {} given", to_string(),
                                       extents.to_string(), count(), extents.count()));
  if (!is_contiguous())
    throw UserError(where, fmt::format("cannot reshape {} without a copy: its strides are ({}); reshape a clone()",
                                       to_string(), fmt::join(strides(), ", ")));
  AnyBuffer view = *this;
  view.extents_ = extents;
  view.strides_ = row_major_strides(extents);
  return view;
}

}  // namespace samite
