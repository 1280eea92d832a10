#include "samite/base/hash.h"

// xxhash is compiled in, so that no process needs libxxhash.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>

namespace samite {

struct Hasher::State {
  alignas(64) XXH3_state_t xxh;
};

std::string Hash128::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = digits[(high >> (4 * i)) & 15];
    text[31 - i] = digits[(low >> (4 * i)) & 15];
  }
  return text;
}

std::optional<Hash128> hash_from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto half = [&](std::string_view digits, std::uint64_t &value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  Hash128 value;
  if (!half(text.substr(0, 16), value.high) || !half(text.substr(16), value.low)) return std::nullopt;
  return value;
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::Hasher(Hasher &&) noexcept = default;
Hasher &Hasher::operator=(Hasher &&) noexcept = default;
Hasher::~Hasher() = default;

Hasher &Hasher::add(std::uint64_t part) {
  XXH3_128bits_update(&state_->xxh, &part, sizeof part);
  return *this;
}

Hasher &Hasher::add(std::string_view part) {
  add(static_cast<std::uint64_t>(part.size()));
  XXH3_128bits_update(&state_->xxh, part.data(), part.size());
  return *this;
}

Hash128 Hasher::result() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(&state_->xxh);
  return {digest.high64, digest.low64};
}

Hash128 hash_of(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  for (const std::string_view part : parts) hasher.add(part);
  return hasher.result();
}

}  // namespace samite
