#include "samite/passes/adjoint/exchanges_to_loads.h"

#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <optional>

namespace samite::passes {
namespace {

using namespace ir;

bool touches(const Stmt &stmt, std::uint32_t array) {
  bool found = false;
  for_each_statement(
      {stmt}, [&](const Stmt &inner) { found = found || array_read(inner) == array || array_written(inner) == array; });
  return found;
}

// Whether the statement only adds the value of the exchange back to its element.
bool puts_back(const Stmt &stmt, const Let &exchange) {
  const Accumulate *accumulate = stmt.as<Accumulate>();
  return accumulate && !accumulate->atomic && accumulate->array == exchange.value.array &&
         accumulate->indices == exchange.value.operands && accumulate->value.is_local() &&
         accumulate->value.id() == exchange.local;
}

// The statement of `block`, after `at`, that adds the value of the exchange at `at` back, if the array is not accessed
// before it.
std::optional<std::size_t> return_of(const Block &block, std::size_t at) {
  const Let &exchange = *block[at].as<Let>();
  for (std::size_t i = at + 1; i < block.size(); ++i) {
    if (puts_back(block[i], exchange)) return i;
    if (touches(block[i], exchange.value.array)) return std::nullopt;
  }
  return std::nullopt;
}

Block with_loads(const Block &block) {
  std::vector<bool> dropped(block.size());
  Block result;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (dropped[i]) continue;
    const Stmt &stmt = block[i];
    const auto *let = stmt.as<Let>();
    const auto back = let && is_plain_exchange(let->value) ? return_of(block, i) : std::nullopt;
    if (!back) {
      result.push_back(with_blocks(stmt, with_loads));
      continue;
    }
    dropped[*back] = true;
    Let load = *let;
    load.value = as_load(std::move(load.value));
    result.emplace_back(std::move(load), stmt.where());
  }
  return result;
}

}  // namespace

Kernel exchanges_to_loads(Kernel adjoint) {
  adjoint.body = with_loads(adjoint.body);
  return adjoint;
}

}  // namespace samite::passes
