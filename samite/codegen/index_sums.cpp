#include "samite/codegen/index_sums.h"

#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

namespace {

// Sums of sums, as in `x + dx - 1`; deeper ones are rare, and each level repeats the text of those below.
constexpr int most_levels = 3;

// The range of an i32, and the numbers above that wrap to negative ones.
constexpr passes::Range names_same_element{-(std::int64_t{1} << 31), (std::int64_t{1} << 32) - 1};

}  // namespace

IndexSums::IndexSums(Emission &emission, const Values &values)
    : emission_(emission), values_(values), sum_of_(emission.kernel.local_count, nullptr) {
  // In debug mode the program's own indices are checked.
  if (emission.options.debug) return;
  for_each_statement(emission.kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (let == nullptr || let->value.type != ScalarType::Int32) return;
    if (let->value.op == Op::Add || let->value.op == Op::Sub) sum_of_[let->local] = &let->value;
  });
}

std::string IndexSums::text(const Value &index) const {
  return index.is_local() && sum_of_[index.id()] != nullptr ? term(index, 0).text : values_.scalar(index);
}

IndexSums::Term IndexSums::term(const Value &value, int depth) const {
  if (value.is_local() && sum_of_[value.id()] != nullptr && depth < most_levels)
    if (auto wide = sum(*sum_of_[value.id()], depth)) return *wide;
  const std::string narrow = values_.scalar(value);
  return {depth == 0 ? narrow : "i64(" + narrow + ")", emission_.forms()(value).range};
}

std::optional<IndexSums::Term> IndexSums::sum(const Operation &operation, int depth) const {
  const bool adds = operation.op == Op::Add;
  const Term a = term(operation.operands[0], depth + 1), b = term(operation.operands[1], depth + 1);
  const passes::Range range = a.range + (adds ? b.range : b.range * -1);
  if (!names_same_element.contains(range)) return std::nullopt;
  return Term{fmt::format("({} {} {})", a.text, adds ? "+" : "-", b.text), range};
}

}  // namespace samite::codegen
