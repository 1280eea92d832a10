#include "samite/codegen/likely.h"

#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr std::size_t smallest_fallback = 64;  // statements

std::size_t statements_of(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &) { ++count; });
  return count;
}

// Whether it only computes values, so that it may run twice.
bool only_computes(const Stmt &stmt) {
  bool computes = true;
  for_each_statement({stmt}, [&](const Stmt &part) {
    const Let *let = part.as<Let>();
    computes = computes && (let ? info(let->value.op).pure || let->value.op == Op::Load
                                : part.as<If>() || part.as<For>() || part.as<While>());
  });
  return computes;
}

bool has_fallback(const If &branch, std::size_t before, const passes::Uniformity &lanes) {
  if (branch.results.empty() || branch.then_block.empty() || !lanes.divergent(branch)) return false;
  const std::size_t fallback = statements_of(branch.else_block);
  return fallback >= smallest_fallback && fallback >= 2 * before && fallback >= statements_of(branch.then_block);
}

}  // namespace

bool Likely::of(const If &branch) const { return std::ranges::find(branches, &branch) != branches.end(); }

std::size_t Likely::statements_of_fallbacks() const {
  std::size_t count = 0;
  for (const If *branch : branches) count += statements_of(branch->else_block);
  return count;
}

Likely likely_of(const For &loop, const passes::Uniformity &lanes) {
  Likely likely;
  std::size_t before = 0;
  for (const Stmt &stmt : loop.body) {
    if (!only_computes(stmt)) break;
    const If *branch = stmt.as<If>();
    if (branch && has_fallback(*branch, before, lanes)) likely.branches.push_back(branch);
    before += statements_of({stmt});
  }
  return likely;
}

}  // namespace samite::codegen
