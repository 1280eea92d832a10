// 128-bit content hashes: the names of cached things.
//
// Two contents with the same hash would load the wrong code. Parts are therefore hashed with their lengths ("ab","c"
// differs from "a","bc"), and 128 bits make an accidental collision impossible in practice. This is XXH3: fast, stable
// between versions and machines, but no defence against a deliberate collision.
//
// Values; a Hasher belongs to one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace samite {

struct Hash128 {
  std::uint64_t high = 0, low = 0;

  std::string hex() const;  // 32 digits
  friend auto operator<=>(const Hash128 &, const Hash128 &) = default;
};

// The inverse of `hex`; returns nothing unless `text` is 32 hexadecimal digits.
std::optional<Hash128> hash_from_hex(std::string_view text);

class Hasher {
 public:
  Hasher();
  Hasher(Hasher &&) noexcept;
  Hasher &operator=(Hasher &&) noexcept;
  ~Hasher();

  Hasher &add(std::string_view part);
  Hasher &add(std::uint64_t part);
  Hash128 result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Hash128 hash_of(std::initializer_list<std::string_view> parts);

}  // namespace samite

template <>
struct std::hash<samite::Hash128> {
  std::size_t operator()(const samite::Hash128 &value) const noexcept { return value.low; }
};
