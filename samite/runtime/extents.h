// The extents of a buffer, or of the index space that a kernel runs over: one to four dimensions, outermost first.
//
// A fixed-size value without heap memory. Every Extents is valid: a fifth dimension, a negative extent, or a product
// beyond 64 bits is a UserError in the constructor, so count() needs no check. An extent of 0 is allowed. Only a
// default-constructed Extents has rank 0; it belongs to an empty buffer.
#pragma once

#include "samite/base/source_location.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace samite {

inline constexpr int maximum_rank = 4;

// One of them, from an integer of any type: values.size(), say. One beyond 64 bits counts as negative.
struct Extent {
  template <std::integral N>
  constexpr Extent(N value) noexcept : value(static_cast<std::int64_t>(value)) {}

  std::int64_t value;
};

class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<Extent> extents, SourceLocation where = std::source_location::current())
      : Extents(values(extents), where) {}
  explicit Extents(std::span<const std::int64_t> extents, SourceLocation where = std::source_location::current());

  int rank() const noexcept { return rank_; }
  // Not checked: 0 <= dimension < rank().
  std::int64_t operator[](int dimension) const noexcept { return values_[static_cast<std::size_t>(dimension)]; }
  const std::int64_t *begin() const noexcept { return values_.data(); }
  const std::int64_t *end() const noexcept { return values_.data() + rank_; }

  // The number of index tuples; 0 for rank 0.
  std::int64_t count() const noexcept {
    if (rank_ == 0) return 0;
    std::int64_t product = 1;
    for (std::int64_t extent : *this) product *= extent;
    return product;
  }

  std::string to_string() const;  // "(512, 512)"

  friend bool operator==(const Extents &, const Extents &) = default;

 private:
  static std::span<const std::int64_t> values(std::initializer_list<Extent> extents) noexcept {
    static_assert(sizeof(Extent) == sizeof(std::int64_t));
    return extents.size() == 0 ? std::span<const std::int64_t>() : std::span(&extents.begin()->value, extents.size());
  }

  std::array<std::int64_t, maximum_rank> values_{};  // zero beyond rank_, so that == may compare all
  int rank_ = 0;
};

std::ostream &operator<<(std::ostream &stream, const Extents &extents);

}  // namespace samite
