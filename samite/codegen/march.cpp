#include "samite/codegen/march.h"

#include "samite/ir/visit.h"

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
  std::vector<const Operation *> sums(lowered.local_count, nullptr);
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind != LoopKind::Serial && !first) first = loop->index;
    const Let *let = stmt.as<Let>();
    if (let && (let->value.op == Op::Add || let->value.op == Op::Sub)) sums[let->local] = &let->value;
  });
  if (!first) return false;
  // The index of the first dimension and a constant.
  const auto distance = [&](const Value &index) -> std::optional<std::int64_t> {
    if (!index.is_local()) return std::nullopt;
    if (index.id() == *first) return 0;
    const Operation *sum = sums[index.id()];
    if (!sum || !(sum->operands[0] == Value::local(index.type(), *first)) || !sum->operands[1].is_constant())
      return std::nullopt;
    return sum->op == Op::Add ? sum->operands[1].as_int() : -sum->operands[1].as_int();
  };
  std::map<std::pair<std::uint32_t, std::size_t>, std::set<std::int64_t>> read;  // by array and dimension
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load) return;
    for (std::size_t d = 0; d < let->value.operands.size(); ++d)
      if (auto from = distance(let->value.operands[d])) read[{let->value.array, d}].insert(*from);
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
