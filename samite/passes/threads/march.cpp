#include "samite/passes/threads/march.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <map>
#include <set>
#include <utility>

namespace samite::passes {

using namespace ir;

namespace {

constexpr int marched_rank = 3;
constexpr double most_in_caches = 1 << 24;

// Measured with a 7-point stencil on an H200: of 1 to 64, 4 to 6 are the fastest; more leave too few blocks in flight.
constexpr int worthwhile_march = 5;

// The loop over the first dimension of the launch; null if there is none.
const For *outermost_of_launch(const Kernel &lowered) {
  for (const Stmt &stmt : lowered.body)
    if (const For *loop = stmt.as<For>(); loop && loop->kind != LoopKind::Serial) return loop;
  return nullptr;
}

// Whether the kernel reads some array at several offsets along the index.
bool reads_neighbours_along(LocalId first, const Kernel &lowered) {
  const IndexForms forms(lowered);
  const Symbol index = Symbol::local(first);
  std::map<std::pair<std::uint32_t, std::size_t>, std::set<std::int64_t>> read;  // by array and dimension
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load) return;
    for (std::size_t d = 0; d < let->value.operands.size(); ++d)
      if (const Affine at = forms(let->value.operands[d]).form; at.is_symbol_and_constant(index))
        read[{let->value.array, d}].insert(at.constant());
  });
  for (const auto &[place, distances] : read)
    if (distances.size() > 1) return true;
  return false;
}

}  // namespace

Kernel march(Kernel lowered) {
  if (is_tile_kernel(lowered) || lowered.launch_rank != marched_rank) return lowered;
  if (uses_workspace(lowered) || sums_over_launch(lowered)) return lowered;
  const For *first = outermost_of_launch(lowered);
  if (!first || first->kind != LoopKind::Block || !reads_neighbours_along(first->index, lowered)) return lowered;
  for (Stmt &stmt : lowered.body) {
    if (stmt.as<For>() != first) continue;
    For marching = *first;
    marching.threads.march = worthwhile_march;
    stmt = Stmt(std::move(marching), stmt.where());
    break;
  }
  return lowered;
}

int marched(const Kernel &planned) {
  const For *first = is_tile_kernel(planned) ? nullptr : outermost_of_launch(planned);
  return first ? first->threads.march : 1;
}

bool outgrows_caches(std::span<const std::int64_t> extents) {
  double instances = 1;
  for (const std::int64_t extent : extents) instances *= static_cast<double>(extent);
  return instances > most_in_caches;
}

}  // namespace samite::passes
