// The type of a value: a scalar, or a tile of scalars that the threads of a block hold together.
//
// A tile has one to four extents, which are part of its type. Two types with equal extents are equal: extents are
// interned, so that a type is three bytes and copying one is free. An element-wise operation (`add`, `exp`, `select`)
// also takes tiles of equal extents; a Type converts to the scalar type of its elements.
#pragma once

#include "samite/base/scalar_type.h"

#include <array>
#include <initializer_list>
#include <span>
#include <string>

namespace samite::ir {

inline constexpr int maximum_tile_rank = 4;

// The extents of a tile, each at least 1; none for a scalar.
class TileShape {
 public:
  TileShape() = default;
  explicit TileShape(std::span<const std::int64_t> extents);
  TileShape(std::initializer_list<std::int64_t> extents)
      : TileShape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

  int rank() const { return rank_; }
  std::int64_t operator[](int dimension) const { return extents_[static_cast<std::size_t>(dimension)]; }
  std::int64_t count() const;     // elements; 1 for a scalar
  std::string to_string() const;  // "8x4"

  const std::int64_t *begin() const { return extents_.data(); }
  const std::int64_t *end() const { return extents_.data() + rank_; }

  friend bool operator==(const TileShape &, const TileShape &) = default;

 private:
  std::array<std::int64_t, maximum_tile_rank> extents_{};
  int rank_ = 0;
};

class Type {
 public:
  Type(ScalarType element) : element_(element) {}
  // Shapes live as long as the process; thread-safe.
  Type(ScalarType element, const TileShape &shape);

  ScalarType element() const { return element_; }
  bool is_tile() const { return shape_ != 0; }
  TileShape shape() const;
  std::int64_t count() const { return is_tile() ? shape().count() : 1; }
  // The same extents with another element type.
  Type of(ScalarType element) const {
    Type type = *this;
    type.element_ = element;
    return type;
  }
  // The type of the elements.
  operator ScalarType() const { return element_; }

  friend bool operator==(const Type &, const Type &) = default;
  // Whether it is that scalar, not a tile.
  friend bool operator==(const Type &a, ScalarType b) { return !a.is_tile() && a.element_ == b; }

 private:
  ScalarType element_;
  std::uint16_t shape_ = 0;
};

// "f32", or "tile<f32, 8, 4>".
std::string name(const Type &type);

}  // namespace samite::ir
