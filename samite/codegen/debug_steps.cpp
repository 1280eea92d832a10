#include "samite/codegen/debug_steps.h"

#include "samite/ir/parameter.h"
#include "samite/passes/threads/check_races.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace samite::codegen {
namespace {

// Keeps the first failure of a launch, as `report` of samite/device/cpu/failure.h does.
void keep_outside(Failure &failure, const Outside &outside, std::uint32_t dimension, std::uint32_t lane) {
  std::uint32_t none = 0;
  const std::atomic_ref state(failure.state);
  if (!state.compare_exchange_strong(none, 1, std::memory_order_acquire, std::memory_order_relaxed)) return;
  failure.kind = FailureKind::index_out_of_bounds;
  failure.array = outside.array;
  failure.dimension = dimension;
  failure.index = outside.indices[dimension * outside.lanes + lane];
  failure.extent = outside.extent[dimension];
  failure.file = outside.where.file;
  failure.line = outside.where.line;
  failure.instance = {};
  if (const FirstInstance *first = outside.first) {
    failure.instance = {first->index, first->rank, 0};
    if (first->along >= 0) failure.instance.index.at(static_cast<std::size_t>(first->along)) += lane;
  }
  state.store(2, std::memory_order_release);
}

void report_outside(Failure *failure, const Outside *outside) noexcept {
  for (std::uint32_t d = 0; d < outside->rank; ++d)
    for (std::uint64_t left = outside->active; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::int64_t index = outside->indices[d * outside->lanes + lane];
      if (index < 0 || index >= outside->extent[d]) return keep_outside(*failure, *outside, d, lane);
    }
}

std::int64_t element(const LaneClaims &claims, std::uint32_t dimension, std::uint32_t lane) {
  return claims.indices[dimension * claims.lanes + lane];
}

// Sequentially consistent: of two instances that claim a word each and then read the other's, one finds the other.
std::int64_t step(const LaneClaims &claims, std::uint32_t lane) {
  std::int64_t *word = claims.shadow;
  for (std::uint32_t d = 0; d < claims.rank; ++d) word += element(claims, d, lane) * claims.stride[d];
  const std::atomic_ref shared(*word);
  if (claims.claims == 0) return shared.load();
  constexpr int bits = passes::RaceWord::access_bits;
  constexpr std::int64_t last = (std::int64_t{1} << bits) - 1;
  std::int64_t found = 0;
  shared.compare_exchange_strong(found, (claims.number[lane] << bits) + std::min(claims.access, last));
  return found;
}

void report_race(Failure *failure, const LaneClaims &claims, std::uint32_t lane) {
  std::array<std::int64_t, ir::maximum_rank> instance{};
  for (std::uint32_t d = 0; d < claims.instance_rank; ++d) instance.at(d) = claims.instance[d * claims.lanes + lane];
  std::array<std::uint64_t, 2 + ir::maximum_rank> said{static_cast<std::uint64_t>(claims.access),
                                                       static_cast<std::uint64_t>(claims.words[lane])};
  for (std::uint32_t d = 0; d < claims.rank; ++d) said.at(2 + d) = static_cast<std::uint64_t>(element(claims, d, lane));
  failure->message(failure, claims.site, instance.data(), said.data());
}

void claim(Failure *failure, const LaneClaims *claims) noexcept {
  bool reported = false;
  for (std::uint64_t left = claims->active; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::int64_t word = claims->words[lane] = step(*claims, lane);
    const bool own = word == 0 || word >> passes::RaceWord::access_bits == claims->number[lane];
    if (own || reported || (claims->looking >> lane & 1) == 0) continue;
    report_race(failure, *claims, lane);
    reported = true;
  }
}

}  // namespace

const DebugSteps &debug_steps() {
  static constexpr DebugSteps steps{report_outside, claim};
  return steps;
}

}  // namespace samite::codegen
