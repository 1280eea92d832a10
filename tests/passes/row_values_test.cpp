// Values that a loop over a product's sums loads for whole rows.
#include "samite/passes/analysis/row_values.h"

#include "samite/ir/visit.h"

#include <gmock/gmock.h>

#include <functional>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::SizeIs;

std::size_t loads_in(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &stmt) {
    const auto *let = stmt.as<Let>();
    count += let && let->value.op == Op::Load;
  });
  return count;
}

// The elements that a thread has: which row's result each reads.
TEST(RowValues, ElementsReadTheResultsOfTheirRows) {
  for (const auto unit : {FragmentLayout::Unit::matrices, FragmentLayout::Unit::group_matrices,
                          FragmentLayout::Unit::fours, FragmentLayout::Unit::rows}) {
    const FragmentPiece piece = piece_of(unit);
    const FragmentLayout layout{unit, piece.rows * 4, piece.columns * 6, 2, 1};
    For loop{0,
             ScalarType::Int32,
             Value::constant(ScalarType::Int32, 0),
             Value::constant(ScalarType::Int32, layout.rows * layout.columns),
             Value::constant(ScalarType::Int32, 1),
             {},
             {}};
    const Value index = Value::local(ScalarType::Int32, 0),
                columns = Value::constant(ScalarType::Int32, layout.columns);
    const Value row = Value::local(ScalarType::Int32, 1);
    loop.body.emplace_back(Let{1, {Op::Div, ScalarType::Int32, {index, columns}}}, SourceLocation());
    loop.body.emplace_back(Let{2, {Op::Load, ScalarType::Float32, {row, Value::constant(ScalarType::Int32, 0)}}},
                           SourceLocation());
    loop.body.emplace_back(LocalStore{0, index, Value::local(ScalarType::Float32, 2)}, SourceLocation());
    const auto found = row_values(loop, layout);
    ASSERT_TRUE(found) << name(unit);
    ASSERT_THAT(found->results, SizeIs(1));
    EXPECT_EQ(found->results[0].first, 2u);
    EXPECT_EQ(loads_in(found->of_rows), 1u);
    EXPECT_EQ(loads_in(found->loop.body), 0u);
    EXPECT_THAT(found->loop.body, SizeIs(1));
    for (const int thread : {0, 5, 31})
      for (std::int64_t e = 0; e < layout.registers(); ++e) {
        const std::int64_t slot = e / found->elements * found->of_piece + e % found->registers / found->in_row;
        ASSERT_LT(slot, found->rows);
        const std::int64_t first = slot / found->of_piece * found->elements + slot % found->of_piece * found->in_row;
        ASSERT_EQ(layout.row(thread, e), layout.row(thread, first)) << name(unit) << ' ' << e;
      }
  }
}

TEST(RowValues, AnythingElseStaysInTheLoop) {
  const FragmentLayout layout{FragmentLayout::Unit::matrices, 64, 64, 1, 2};
  const auto found = [&](const std::function<void(Block &)> &body) {
    For loop{0,
             ScalarType::Int32,
             Value::constant(ScalarType::Int32, 0),
             Value::constant(ScalarType::Int32, 4096),
             Value::constant(ScalarType::Int32, 1),
             {},
             {}};
    body(loop.body);
    return row_values(loop, layout).has_value();
  };
  const Value index = Value::local(ScalarType::Int32, 0), zero = Value::constant(ScalarType::Int32, 0);
  const auto divided = [&](Op op, std::int64_t by) {
    return Stmt(Let{1, {op, ScalarType::Int32, {index, Value::constant(ScalarType::Int32, by)}}}, SourceLocation());
  };
  const Value at = Value::local(ScalarType::Int32, 1), loaded = Value::local(ScalarType::Float32, 2);
  const auto load = [&](const Value &row, const Value &column) {
    return Stmt(Let{2, {Op::Load, ScalarType::Float32, {row, column}}}, SourceLocation());
  };
  const Stmt use(LocalStore{0, index, loaded}, SourceLocation());
  EXPECT_TRUE(found([&](Block &body) { body = {divided(Op::Div, 64), load(at, zero), use}; }));
  EXPECT_FALSE(found([&](Block &body) { body = {divided(Op::Rem, 64), load(at, zero), use}; })) << "of columns";
  EXPECT_FALSE(found([&](Block &body) { body = {divided(Op::Div, 32), load(at, zero), use}; })) << "of half rows";
  EXPECT_FALSE(found([&](Block &body) { body = {divided(Op::Div, 64), load(at, index), use}; })) << "of elements";
  EXPECT_FALSE(found([&](Block &body) { body = {divided(Op::Div, 64), load(at, zero)}; })) << "nothing needs it";
  EXPECT_FALSE(found([&](Block &body) {
    body = {divided(Op::Div, 64), load(at, zero), use, {Store{0, {zero, zero}, loaded}, SourceLocation()}};
  })) << "of an array that the loop writes";
}

}  // namespace
}  // namespace samite::passes
