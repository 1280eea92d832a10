#include "samite/passes/analysis/slice.h"

#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {

using namespace ir;

Slices::Slices(const Kernel &structured) : defined_(structured.local_count, none) { add(structured.body, none); }

void Slices::add(const Block &block, std::size_t around) {
  for (const Stmt &stmt : block) {
    const std::size_t number = statements_.size();
    statements_.push_back(stmt);
    around_.push_back(around);
    for_each_definition(stmt, [&](LocalId local, Type) { defined_[local] = number; });
    if (const If *branch = stmt.as<If>()) {
      add(branch->then_block, number);
      add(branch->else_block, number);
    } else if (const For *loop = stmt.as<For>()) {
      add(loop->body, number);
    } else if (const While *loop = stmt.as<While>()) {
      add(loop->condition_block, number);
      add(loop->body, number);
    }
  }
}

std::size_t Slices::size(const std::vector<Stmt> &wanted) const {
  std::vector<bool> needed(statements_.size());
  std::vector<std::size_t> open;
  auto need = [&](std::size_t number) {
    if (number == none || needed[number]) return;
    needed[number] = true;
    open.push_back(number);
  };
  for (std::size_t i = 0; i < statements_.size(); ++i)
    if (std::any_of(wanted.begin(), wanted.end(),
                    [&](const Stmt &stmt) { return &stmt.kind() == &statements_[i].kind(); }))
      need(i);
  while (!open.empty()) {
    const std::size_t number = open.back();
    open.pop_back();
    need(around_[number]);
    for_each_operand(statements_[number], [&](const Value &value) {
      if (value.is_local()) need(defined_[value.id()]);
    });
  }
  return static_cast<std::size_t>(std::count(needed.begin(), needed.end(), true));
}

}  // namespace samite::passes
