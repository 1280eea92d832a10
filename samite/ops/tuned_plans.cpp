#include "samite/ops/tuned_plans.h"

#include "samite/toolchain/object_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace samite::ops {
namespace {

void add(Hasher &hasher, const PlannedProduct &product) {
  const auto &[operation, shape, factors, device] = product;
  const std::uint64_t flags = std::uint64_t{factors.transposed.a} | std::uint64_t{factors.transposed.b} << 1 |
                              std::uint64_t{factors.block_scales} << 2 |
                              std::uint64_t{factors.precision == tile::Precision::tf32} << 3 |
                              std::uint64_t{factors.row_blocks} << 4 | std::uint64_t{factors.scales_beside} << 5 |
                              std::uint64_t{factors.differentiated} << 6;
  for (const std::int64_t extent : {shape.batches, shape.rows, shape.columns, shape.inner})
    hasher.add(static_cast<std::uint64_t>(extent));
  hasher.add(operation.high).add(operation.low).add(static_cast<std::uint64_t>(factors.type)).add(flags);
}

Hash128 key_in_process(const PlannedProduct &product) {
  Hasher hasher;
  add(hasher, product);
  return hasher.add(static_cast<std::uint64_t>(product.device.kind()))
      .add(static_cast<std::uint64_t>(product.device.index()))
      .result();
}

struct Chosen {
  std::shared_mutex mutex;
  std::unordered_map<Hash128, MatmulPlan> plans;
};
Chosen &chosen() {
  static Chosen one;
  return one;
}

std::string text_of(const MatmulPlan &plan) {
  return fmt::format("plan {} {} {} {} {}\n", plan.rows, plan.columns, plan.inner, plan.threads, plan.stages);
}

// Only candidates: whatever a file contains, nothing else is launched.
std::optional<MatmulPlan> found_on_disk(const PlannedProduct &product, const PlanDevice &device) {
  const std::optional<std::string> text = object_cache()->find(detail::key_on_disk(product));
  if (!text) return std::nullopt;
  for (const MatmulPlan &plan : matmul_candidates(product.shape, product.factors, device))
    if (text_of(plan) == *text) return plan;
  return std::nullopt;
}

}  // namespace

Hash128 identity_of_operation(std::string_view name, std::string_view types) { return hash_of({name, types}); }

MatmulPlan chosen_plan(const PlannedProduct &product) {
  const Hash128 key = key_in_process(product);
  Chosen &all = chosen();
  {
    const std::shared_lock lock(all.mutex);
    if (const auto found = all.plans.find(key); found != all.plans.end()) return found->second;
  }
  const PlanDevice device = plan_device(product.device);
  const auto on_disk = found_on_disk(product, device);
  const MatmulPlan plan = on_disk ? *on_disk : matmul_plan(product.shape, product.factors, device);
  const std::unique_lock lock(all.mutex);
  return all.plans.emplace(key, plan).first->second;
}

void keep_plan(const PlannedProduct &product, const MatmulPlan &plan) {
  const Hash128 key = detail::key_on_disk(product);
  object_cache()->remove(key);
  object_cache()->publish(key, text_of(plan));
  Chosen &all = chosen();
  const std::unique_lock lock(all.mutex);
  all.plans.insert_or_assign(key_in_process(product), plan);
}

namespace detail {

Hash128 key_on_disk(const PlannedProduct &product) {
  Hasher hasher;
  hasher.add("plan of a product").add(SAMITE_VERSION).add(product.device.name());
  add(hasher, product);
  const PlanDevice device = plan_device(product.device);
  return hasher.add(static_cast<std::uint64_t>(device.compute_capability))
      .add(static_cast<std::uint64_t>(device.multiprocessors))
      .result();
}

void forget_chosen_plans() {
  const std::unique_lock lock(chosen().mutex);
  chosen().plans.clear();
}

}  // namespace detail
}  // namespace samite::ops
