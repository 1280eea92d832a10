#include "samite/codegen/march.h"

#include "samite/ir/visit.h"
#include "samite/passes/index_forms.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr int marched_rank = 3;
constexpr double most_in_caches = 1 << 24;

}  // namespace

bool reads_neighbours_along_first(const Kernel &lowered) {
  if (lowered.launch_rank != marched_rank) return false;
  std::optional<LocalId> first;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind != LoopKind::Serial && !first) first = loop->index;
  });
  if (!first) return false;
  const passes::IndexForms forms(lowered);
  const passes::Symbol index = passes::Symbol::local(*first);
  std::map<std::pair<std::uint32_t, std::size_t>, std::set<std::int64_t>> read;  // by array and dimension
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load) return;
    for (std::size_t d = 0; d < let->value.operands.size(); ++d)
      if (const passes::Affine at = forms(let->value.operands[d]).form; at.is_symbol_and_constant(index))
        read[{let->value.array, d}].insert(at.constant());
  });
  for (const auto &[place, distances] : read)
    if (distances.size() > 1) return true;
  return false;
}

bool outgrows_caches(std::span<const std::int64_t> extents) {
  double instances = 1;
  for (const std::int64_t extent : extents) instances *= static_cast<double>(extent);
  return instances > most_in_caches;
}

}  // namespace samite::codegen
