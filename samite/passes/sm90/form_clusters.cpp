#include "samite/passes/sm90/form_clusters.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/planned_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t blocks_of_cluster = 2, swizzled_rows = 8;

struct Shared {
  std::array<std::int64_t, 2> bytes{};  // of each factor's window; 0: it is not shared

  std::int64_t all() const { return bytes[0] + bytes[1]; }
  int factors() const { return (bytes[0] != 0 ? 1 : 0) | (bytes[1] != 0 ? 2 : 0); }
  // Only these factors; nothing if one of them is not shared.
  Shared of(int asked) const {
    if ((factors() & asked) != asked) return {};
    return {{(asked & 1) != 0 ? bytes[0] : 0, (asked & 2) != 0 ? bytes[1] : 0}};
  }
};

// The windows shared by blocks that differ only in the index of one loop over the launch.
class Sharing {
 public:
  explicit Sharing(const Kernel &producing) : forms_(producing) {}

  Shared along(const For &dimension) {
    dimension_ = &dimension;
    shared_ = {};
    bool together = true;
    for_each_statement(dimension.body, [&](const Stmt &stmt) {
      if (const auto *branch = stmt.as<If>()) together = together && same(branch->condition);
      if (const auto *loop = stmt.as<For>())
        together = together && same(loop->begin) && same(loop->end) && same(loop->step);
      if (const auto *loop = stmt.as<MainLoop>()) {
        together = together && loop->count && same(*loop->count);
        look(*loop);
      }
    });
    return together ? shared_ : Shared();
  }

 private:
  bool same(const Value &value) const { return forms_.same_in(value, *dimension_); }

  void look(const MainLoop &copies) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Type window = copies.factors[i].ring.type;
      // Each part begins with the swizzle's period.
      bool shared = window.shape()[0] % (swizzled_rows * blocks_of_cluster) == 0;
      for (const Value &index : copies.factors[i].indices) shared = shared && same(index);
      shared_.bytes[i] =
          shared ? shared_.bytes[i] + window.count() * static_cast<std::int64_t>(size_of(window.element())) : 0;
    }
  }

  IndexForms forms_;
  const For *dimension_ = nullptr;
  Shared shared_;
};

bool has_small_factors(const Kernel &kernel) {
  bool has = false;
  for_each_statement(kernel.roles.producing, [&](const Stmt &stmt) {
    if (const auto *loop = stmt.as<MainLoop>()) has = has || size_of(loop->factors[0].ring.type.element()) == 1;
  });
  return has;
}

Block with_parts(const Block &block, const Shared &shared) {
  return rewrite(block, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<MainLoop>();
    if (!loop) return stmt;
    MainLoop made = *loop;
    for (std::size_t i = 0; i < 2; ++i)
      if (shared.bytes[i] != 0) made.factors[i].parts = static_cast<int>(blocks_of_cluster);
    return {std::move(made), stmt.where()};
  });
}

// A dimension of the launch, and what its pairs of blocks share.
struct Pairs {
  int dimension = 0;
  Shared shared = {};
};

// Whether a strip of blocks would end between the blocks of a pair.
bool strips_part_pairs(const Kernel &kernel, int dimension) {
  return dimension == kernel.launch_rank - 1 && kernel.grid.strip_columns % blocks_of_cluster != 0;
}

// The pairs that share the most bytes, among those that the plan allows.
Pairs best_pairs(const Kernel &with_roles, const TilePlan &plan, std::uint64_t paired) {
  Kernel producing = with_roles;
  producing.body = with_roles.roles.producing;
  const std::vector<const For *> loops = launch_loops(producing.body, with_roles.launch_rank);
  Pairs best;
  if (loops.empty()) return best;
  Sharing sharing(producing);
  for (int d = std::max(with_roles.launch_rank - 2, 0); d < with_roles.launch_rank; ++d) {
    if (!(paired >> d & 1) || plan.cluster_dimension.value_or(d) != d || strips_part_pairs(with_roles, d)) continue;
    Shared shared = sharing.along(*loops[static_cast<std::size_t>(d)]);
    if (plan.shared_factors) shared = shared.of(*plan.shared_factors);
    if (shared.all() > best.shared.all()) best = {d, shared};
  }
  return best;
}

Kernel without_clusters(Kernel kernel) {
  kernel.plan.cluster_blocks = 1;
  kernel.plan.cluster_dimension = kernel.plan.shared_factors = std::nullopt;
  return kernel;
}

// The reason that no blocks of the kernel load windows for each other. Empty if they may.
std::string why_no_clusters(const Kernel &kernel, const Architecture &architecture, std::uint64_t paired) {
  if (kernel.roles.producers == 0 || !architecture.clusters) return why_no_producers(kernel, architecture);
  if (kernel.grid.step_parts != 0)
    return fmt::format("clusters of {} blocks share the steps of its main loop", kernel.grid.step_parts);
  if (has_product_steps(kernel)) return "an iteration of its main loop does more than multiply";
  if (paired == 0)
    return "the launch has no pairs of blocks: neither of its last two dimensions has an even number of them, or the "
           "device has no room for a cluster";
  return "";
}

// The reason that the plan's pairs have no windows in common.
std::string why_no_pairs(const Kernel &kernel) {
  if (kernel.plan.cluster_dimension && strips_part_pairs(kernel, *kernel.plan.cluster_dimension))
    return fmt::format("strips of {} columns end between the blocks of a pair", kernel.grid.strip_columns);
  return "no pairs of its blocks need the same windows";
}

// The same plan with pairs that the kernel has: with other factors, along another dimension, or without clusters.
TilePlan nearest_clusters(const Kernel &kernel, std::uint64_t paired) {
  TilePlan nearest = kernel.plan;
  nearest.cluster_blocks = static_cast<int>(blocks_of_cluster);
  for (const bool same_factors : {true, false})
    for (const bool same_dimension : {true, false}) {
      if (!same_factors) nearest.shared_factors = std::nullopt;
      nearest.cluster_dimension = same_dimension ? kernel.plan.cluster_dimension : std::nullopt;
      const Pairs pairs = best_pairs(kernel, nearest, paired);
      if (pairs.shared.all() == 0) continue;
      nearest.cluster_dimension = pairs.dimension, nearest.shared_factors = pairs.shared.factors();
      return nearest;
    }
  return without_clusters(kernel).plan;
}

[[noreturn]] void refuse_clusters(const Kernel &kernel, const std::string &reason, const TilePlan &nearest) {
  const TilePlan asked{.cluster_blocks = kernel.plan.cluster_blocks,
                       .cluster_dimension = kernel.plan.cluster_dimension,
                       .shared_factors = kernel.plan.shared_factors};
  throw PlanRefused(kernel, to_string(asked), reason, nearest);
}

}  // namespace

Kernel form_clusters(Kernel with_roles, const Architecture &architecture, std::uint64_t paired) {
  if (with_roles.grid.cluster_blocks != 0) return with_roles;
  const int blocks = with_roles.plan.cluster_blocks.value_or(0);
  const bool asked = blocks > 1;
  if (!asked && with_roles.roles.producers == 0) return with_roles;
  if (blocks == 1) return without_clusters(std::move(with_roles));
  const std::string why_not = why_no_clusters(with_roles, architecture, paired);
  if (asked && !why_not.empty()) refuse_clusters(with_roles, why_not, without_clusters(with_roles).plan);
  if (!why_not.empty() || (!asked && has_small_factors(with_roles))) return without_clusters(std::move(with_roles));
  if (blocks > blocks_of_cluster)
    refuse_clusters(with_roles, "windows are shared by pairs of blocks", nearest_clusters(with_roles, paired));
  const Pairs best = best_pairs(with_roles, with_roles.plan, paired);
  if (best.shared.all() == 0) {
    if (asked) refuse_clusters(with_roles, why_no_pairs(with_roles), nearest_clusters(with_roles, paired));
    return without_clusters(std::move(with_roles));
  }
  with_roles.grid.cluster_blocks = static_cast<int>(blocks_of_cluster);
  with_roles.grid.cluster_dimension = best.dimension;
  with_roles.plan.cluster_blocks = static_cast<int>(blocks_of_cluster);
  with_roles.plan.cluster_dimension = best.dimension;
  with_roles.plan.shared_factors = best.shared.factors();
  with_roles.roles.producing = with_parts(with_roles.roles.producing, best.shared);
  with_roles.body = with_parts(with_roles.body, best.shared);
  return with_roles;
}

}  // namespace samite::passes
