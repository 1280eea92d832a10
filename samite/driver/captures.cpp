#include "samite/driver/captures.h"

#include <utility>

namespace samite::driver {

void Captures::begin(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  kept_[id];
  ++running_;
}

Captures::Kept Captures::end(std::uint64_t id) noexcept {
  std::lock_guard lock(mutex_);
  auto known = kept_.extract(id);
  if (known.empty()) return {};
  --running_;
  return std::move(known.mapped());
}

void Captures::keep(std::uint64_t id, Launched launched) {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(id);
  if (found != kept_.end()) found->second.push_back(std::move(launched));
}

}  // namespace samite::driver
