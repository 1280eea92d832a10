#include "samite/runtime/extents.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

namespace samite {

Extents::Extents(std::span<const std::int64_t> extents, SourceLocation where) {
  if (extents.empty()) throw UserError(where, "extents need at least one dimension, none given");
  if (extents.size() > maximum_rank)
    throw UserError(where, fmt::format("extents have at most {} dimensions, {} given: ({})", maximum_rank,
                                       extents.size(), fmt::join(extents, ", ")));
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[d] < 0)
      throw UserError(where, fmt::format("extents may not be negative: dimension {} of ({}) is {}", d,
                                         fmt::join(extents, ", "), extents[d]));

  // In the order in which count() multiplies, so that it cannot overflow even if a later extent is zero.
  std::int64_t product = 1;
  for (std::int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent, &product))
      throw UserError(where,
                      fmt::format("extents ({}) hold more elements than 64 bits can count", fmt::join(extents, ", ")));

  std::copy(extents.begin(), extents.end(), values_.begin());
  rank_ = static_cast<int>(extents.size());
}

std::string Extents::to_string() const { return fmt::format("({})", fmt::join(begin(), end(), ", ")); }

std::ostream &operator<<(std::ostream &stream, const Extents &extents) { return stream << extents.to_string(); }

}  // namespace samite
