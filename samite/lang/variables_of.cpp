#include "samite/lang/variables_of.h"

#include "samite/ir/visit.h"

namespace samite::lang {

void Dependencies::follow() {
  const ir::Block &statements = trace_.top_statements();
  for (; followed_ < statements.size(); ++followed_) statement(statements[followed_], {});
}

Dependencies::Set Dependencies::of(const ir::Value &value) const {
  if (!value.is_local()) return {};
  if (trace_.is_variable(value.id())) return {{value.id()}, {}};
  return value.id() < locals_.size() ? locals_[value.id()] : Set{};
}

void Dependencies::set(ir::LocalId local, Set to, bool keep) {
  if (local >= locals_.size()) locals_.resize(local + 1);
  if (keep) to.add(locals_[local]);
  if (locals_[local] == to) return;
  locals_[local] = std::move(to);
  changed_ = true;
}

void Dependencies::nested(const ir::Block &block, const Set &control) {
  ++depth_;
  for (const ir::Stmt &stmt : block) statement(stmt, control);
  --depth_;
}

void Dependencies::repeated(const ir::While &loop, const Set &control) {
  const bool before = changed_;
  do {
    changed_ = false;
    nested(loop.condition_block, control);
    Set inside = control;
    inside.add(of(loop.condition));
    nested(loop.body, inside);
  } while (changed_);
  changed_ = before;
}

void Dependencies::statement(const ir::Stmt &stmt, const Set &control) {
  Set used = control;
  ir::for_each_operand(stmt, [&](const ir::Value &value) { used.add(of(value)); });
  if (auto array = ir::array_read(stmt)) used.arrays.insert(*array);
  const auto local_array = ir::local_array_touched(stmt);
  if (local_array && *local_array >= local_arrays_.size()) local_arrays_.resize(*local_array + 1);

  if (auto *assign = stmt.as<ir::Assign>()) return set(assign->local, std::move(used), depth_ > 0);
  if (stmt.as<ir::LocalStore>()) {
    Set &array = local_arrays_[*local_array];
    used.add(array);
    changed_ |= !(used == array);
    array = std::move(used);
    return;
  }
  if (local_array) used.add(local_arrays_[*local_array]);
  ir::for_each_definition(stmt, [&](ir::LocalId local, ir::Type) { set(local, used, depth_ > 0); });

  if (auto *branch = stmt.as<ir::If>()) {
    nested(branch->then_block, used);
    nested(branch->else_block, used);
  } else if (auto *loop = stmt.as<ir::For>()) {
    repeated({{}, loop->begin, loop->body, {}}, used);
  } else if (auto *loop = stmt.as<ir::While>()) {
    repeated(*loop, control);
  } else if (auto *labelled = stmt.as<ir::Labelled>()) {
    // Statements after a jump depend on the condition of the jump.
    nested(labelled->body, control);
    ir::for_each_statement(labelled->body, [&](const ir::Stmt &inner) {
      if (auto *branch = inner.as<ir::If>()) used.add(of(branch->condition));
    });
    nested(labelled->body, used);
  } else if (auto *custom = stmt.as<ir::CustomAdjoint>()) {
    nested(custom->primal, used);
    for (const ir::CustomResult &result : custom->results) {
      Set of_result = used;
      of_result.add(of(result.value));
      set(result.local, std::move(of_result), true);
    }
  } else if (auto *call = stmt.as<ir::AdjointCall>()) {
    nested(call->primal, used);
  }
}

}  // namespace samite::lang
