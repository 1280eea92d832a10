#include "samite/driver/tensor_map_cache.h"

#include <array>
#include <bit>
#include <tuple>
#include <type_traits>

namespace samite::driver {
namespace {

constexpr std::size_t place_count = 1024;
constexpr int place_bits = 10;
static_assert(place_count == std::size_t{1} << place_bits);

// Has no padding, so that equal bytes mean equal values.
static_assert(std::has_unique_object_representations_v<TiledTensor>);
using Words = std::array<std::uint64_t, sizeof(TiledTensor) / sizeof(std::uint64_t)>;

std::size_t place_of(const Words &words) noexcept {
  // Multiplicative hashing: odd multipliers from the fractional part of the golden ratio and its powers. The two sums
  // are independent, so that neither waits for the other.
  constexpr std::uint64_t first = 0x9e3779b97f4a7c15, second = 0xc2b2ae3d27d4eb4f;
  std::uint64_t a = first, b = second;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    a = (a ^ words[i]) * first;
    b = (b ^ words[i + 1]) * second;
  }
  if constexpr (std::tuple_size_v<Words> % 2 != 0) a = (a ^ words.back()) * first;
  return ((a ^ (b >> 29)) * first) >> (64 - place_bits);
}

}  // namespace

struct TensorMapCache::Place {
  Words tensor{};
  TensorMapBits bits{};
};

TensorMapCache::TensorMapCache(const Context &context)
    : context_(context), places_(std::make_unique<Place[]>(place_count)) {}

TensorMapCache::~TensorMapCache() = default;

TensorMapBits TensorMapCache::encode(const TiledTensor &tensor, SourceLocation where) {
  const Words words = std::bit_cast<Words>(tensor);
  Place &place = places_[place_of(words)];
  {
    std::lock_guard lock(mutex_);
    // An empty slot holds zeros, which describe no tensor.
    if (place.tensor == words && tensor.rank != 0) return place.bits;
  }
  const TensorMapBits bits = TensorMap::encode(context_, tensor, nullptr, where).bits();
  std::lock_guard lock(mutex_);
  place.tensor = words;
  place.bits = bits;
  return bits;
}

}  // namespace samite::driver
