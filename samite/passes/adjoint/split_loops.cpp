#include "samite/passes/adjoint/split_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/simplify.h"

#include <algorithm>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

struct Touched {
  std::multiset<std::uint32_t> reads, writes;
};

Touched touched_by(const Block &block) {
  Touched touched;
  for_each_statement(block, [&](const Stmt &stmt) {
    if (const auto array = array_read(stmt)) touched.reads.insert(*array);
    if (const auto array = array_written(stmt)) touched.writes.insert(*array);
  });
  return touched;
}

bool is_value(const Let &let) {
  return (info(let.value.op).pure || let.value.op == Op::Load) && let.value.op != Op::LocalLoad;
}

// Whether it only affects arrays of the launch, and is independent of the code before and after it.
bool stands_alone(const For &loop) {
  bool multiplies = false, alone = loop.carried.empty();
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>()) {
      multiplies = multiplies || let->value.op == Op::MatMul;
      alone = alone && is_value(*let);
    } else {
      alone = alone && (stmt.as<If>() || stmt.as<For>() || stmt.as<Store>() || stmt.as<Accumulate>());
    }
  });
  return multiplies && alone;
}

}  // namespace

std::vector<Kernel> split_loops(const Kernel &structured) {
  const Touched all = touched_by(structured.body);
  std::vector<std::size_t> apart;
  for (std::size_t i = 0; i < structured.body.size(); ++i) {
    const auto *loop = structured.body[i].as<For>();
    if (!loop || !stands_alone(*loop)) continue;
    const Touched own = touched_by(loop->body);
    const bool writes_alone = std::ranges::all_of(own.writes, [&](std::uint32_t array) {
      return all.writes.count(array) == own.writes.count(array) && !all.reads.contains(array);
    });
    const bool reads_what_stays =
        std::ranges::none_of(own.reads, [&](std::uint32_t array) { return all.writes.contains(array); });
    if (writes_alone && reads_what_stays) apart.push_back(i);
  }
  if (apart.size() < 2) return {structured};

  std::vector<Kernel> kernels;
  for (std::size_t number = 0; number < apart.size(); ++number) {
    Kernel kernel = structured;
    kernel.body.clear();
    if (number > 0) kernel.name += "_" + std::to_string(number + 1);
    for (std::size_t i = 0; i < structured.body.size(); ++i) {
      const bool is_apart = std::ranges::find(apart, i) != apart.end();
      const auto *let = structured.body[i].as<Let>();
      const bool stays = is_apart ? i == apart[number] : number == 0 || (let && is_value(*let));
      if (stays) kernel.body.push_back(structured.body[i]);
    }
    kernels.push_back(simplify(kernel));
  }
  return kernels;
}

}  // namespace samite::passes
