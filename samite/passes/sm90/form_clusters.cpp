#include "samite/passes/sm90/form_clusters.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/launch_loops.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/product_loops.h"

#include <algorithm>
#include <array>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t blocks_of_cluster = 2, swizzled_rows = 8;

struct Shared {
  std::array<bool, 2> factors{};
  std::int64_t bytes = 0;  // of their windows
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
      shared_.factors[i] = window.shape()[0] % (swizzled_rows * blocks_of_cluster) == 0;
      for (const Value &index : copies.factors[i].indices) shared_.factors[i] = shared_.factors[i] && same(index);
      if (shared_.factors[i]) shared_.bytes += window.count() * static_cast<std::int64_t>(size_of(window.element()));
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
      if (shared.factors[i]) made.factors[i].parts = static_cast<int>(blocks_of_cluster);
    return {std::move(made), stmt.where()};
  });
}

}  // namespace

Kernel form_clusters(Kernel with_roles, const Architecture &architecture, std::uint64_t paired) {
  if (!architecture.clusters || with_roles.roles.producers == 0 || with_roles.grid.cluster_blocks != 0 ||
      with_roles.grid.step_parts != 0 || paired == 0)
    return with_roles;
  if (has_product_steps(with_roles) || has_small_factors(with_roles)) return with_roles;
  Kernel producing = with_roles;
  producing.body = with_roles.roles.producing;
  const std::vector<const For *> loops = launch_loops(producing.body, with_roles.launch_rank);
  if (loops.empty()) return with_roles;
  Sharing sharing(producing);
  Shared best;
  for (int d = std::max(with_roles.launch_rank - 2, 0); d < with_roles.launch_rank; ++d) {
    if (!(paired >> d & 1)) continue;
    const Shared shared = sharing.along(*loops[static_cast<std::size_t>(d)]);
    if (shared.bytes <= best.bytes) continue;
    best = shared;
    with_roles.grid.cluster_dimension = d;
  }
  if (best.bytes == 0) return with_roles;
  with_roles.grid.cluster_blocks = static_cast<int>(blocks_of_cluster);
  with_roles.roles.producing = with_parts(with_roles.roles.producing, best);
  with_roles.body = with_parts(with_roles.body, best);
  return with_roles;
}

}  // namespace samite::passes
