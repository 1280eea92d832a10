#include "samite/passes/analysis/row_values.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <ranges>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

class RowFinder {
 public:
  RowFinder(const For &loop, const FragmentLayout &layout) : loop_(loop), columns_(layout.columns) {
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) { inside_.insert(local); });
      if (const auto array = array_written(stmt)) written_.insert(*array);
    });
    inside_.insert(loop.index);
    for (const Stmt &stmt : loop.body) look_at(stmt);
  }

  bool any() const { return !loads_.empty(); }

  // The loads, and the loop's statements that they need, in order.
  Block of_rows() const {
    std::set<LocalId> needed;
    Block backwards;
    for (const Stmt &stmt : std::views::reverse(loop_.body)) {
      bool wanted = loads_.contains(&stmt);
      if (!wanted) for_each_definition(stmt, [&](LocalId local, Type) { wanted = wanted || needed.contains(local); });
      if (!wanted) continue;
      need(stmt, needed);
      backwards.push_back(stmt);
    }
    return {backwards.rbegin(), backwards.rend()};
  }

  // The other statements, without those that became unused.
  Block others(std::vector<std::pair<LocalId, Type>> &results) const {
    std::set<LocalId> needed;
    Block backwards;
    for (const Stmt &stmt : std::views::reverse(loop_.body)) {
      if (loads_.contains(&stmt)) {
        for_each_definition(stmt, [&](LocalId local, const Type &type) {
          if (needed.contains(local)) results.emplace_back(local, type);
        });
        continue;
      }
      const auto *let = stmt.as<Let>();
      if (let && info(let->value.op).pure && !needed.contains(let->local)) continue;
      need(stmt, needed);
      backwards.push_back(stmt);
    }
    return {backwards.rbegin(), backwards.rend()};
  }

 private:
  bool of_row(const Value &value) const {
    return !value.is_local() || !inside_.contains(value.id()) || of_row_.contains(value.id());
  }

  bool is_row(const Operation &operation) const {
    return operation.op == Op::Div && operation.operands[0] == Value::local(loop_.type, loop_.index) &&
           operation.operands[1].is_constant() && operation.operands[1].as_int() == columns_;
  }

  // Whether a statement's result depends only on the row, and whether it loads.
  struct Kind {
    bool of_row = false, loads = false;
  };
  Kind kind_of(const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>()) {
      const Operation &operation = let->value;
      const bool load = operation.op == Op::Load && operation.attribute == 0 && !operation.type.is_tile() &&
                        !written_.contains(operation.array);
      const bool pure = info(operation.op).pure && operation.op != Op::LocalLoad;
      const bool operands = std::ranges::all_of(operation.operands, [&](const Value &v) { return of_row(v); });
      const bool known = is_row(operation) || ((pure || load) && operands);
      if (known) of_row_.insert(let->local);
      return {known, load};
    }
    const auto *branch = stmt.as<If>();
    if (!branch || !of_row(branch->condition)) return {};
    Kind kind{true, false};
    for (const Block *block : {&branch->then_block, &branch->else_block})
      for (const Stmt &inner : *block) {
        const Kind own = kind_of(inner);
        kind = {kind.of_row && own.of_row, kind.loads || own.loads};
      }
    for (const BranchResult &result : branch->results)
      kind.of_row = kind.of_row && of_row(result.then_value) && of_row(result.else_value);
    if (kind.of_row)
      for (const BranchResult &result : branch->results) of_row_.insert(result.local);
    return kind;
  }

  void look_at(const Stmt &stmt) {
    const Kind kind = kind_of(stmt);
    if (kind.of_row && kind.loads) loads_.insert(&stmt);
  }

  static void need(const Stmt &stmt, std::set<LocalId> &needed) {
    const Block one{stmt};
    for_each_statement(one, [&](const Stmt &inner) {
      for_each_operand(inner, [&](const Value &value) {
        if (value.is_local()) needed.insert(value.id());
      });
    });
  }

  const For &loop_;
  const std::int64_t columns_;
  std::set<LocalId> inside_, of_row_;
  std::set<std::uint32_t> written_;
  std::set<const Stmt *> loads_;
};

}  // namespace

std::optional<RowValues> row_values(const For &loop, const FragmentLayout &layout) {
  const FragmentPiece piece = piece_of(layout.unit);
  // All elements are inside the tile.
  if (layout.rows % (piece.rows * layout.down) != 0 || layout.columns % (piece.columns * layout.across) != 0)
    return std::nullopt;
  // The rows of a thread's elements: in each fragment, this many consecutive ones are in one row.
  std::int64_t in_row = 1;
  while (in_row < piece.registers && layout.row(0, in_row) == layout.row(0, 0)) ++in_row;
  const std::int64_t elements = layout.columns / (piece.columns * layout.across) * piece.registers;
  const std::int64_t of_piece = piece.registers / in_row;
  const auto row_of = [&](std::int64_t e) { return e / elements * of_piece + e % piece.registers / in_row; };
  const std::int64_t rows = layout.registers() / elements * of_piece;
  if (rows == layout.registers()) return std::nullopt;
  for (std::int64_t e = 0; e < layout.registers(); ++e) {
    const std::int64_t first = row_of(e) / of_piece * elements + row_of(e) % of_piece * in_row;
    if (layout.row(0, e) != layout.row(0, first)) return std::nullopt;
  }

  const RowFinder finder(loop, layout);
  if (!finder.any()) return std::nullopt;
  RowValues values{rows, elements, of_piece, piece.registers, in_row, finder.of_rows(), {}, loop};
  values.loop.body = finder.others(values.results);
  if (values.results.empty()) return std::nullopt;
  return values;
}

}  // namespace samite::passes
