#include "samite/passes/analysis/block_hazards.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

using Arrays = std::set<std::uint32_t>;

class Hazards {
 public:
  Hazards(const Kernel &kernel, const SharesMemory &shares_memory)
      : registers_(arrays_without_barriers(kernel)),
        shared_(arrays_in(kernel, {MemorySpace::shared, MemorySpace::device})),
        shares_memory_(shares_memory) {}

  // `reading`: arrays that some threads may have read and others may still have to read. Updated from before the block
  // to after it.
  void walk(const Block &block, Arrays &reading) {
    for (const Stmt &stmt : block) {
      if (copies_ && !goes_beside_copies(stmt)) wait(reading);
      visit(
          stmt, [&](const Let &let) { read(let, reading); }, [&](const TileCall &call) { called(call, stmt, reading); },
          [&](const TileLoad &load) { loaded(load, reading); },
          [&](const ProductOfWindows auto &) { multiplied(stmt, reading); }, [&](const Store &) { reading.clear(); },
          [&](const Accumulate &) { reading.clear(); }, [&](const Print &) { reading.clear(); },
          [&](const Check &) { reading.clear(); }, [&](const If &branch) { either(branch, reading); },
          [&](const For &loop) { loops(loop, reading); }, [&](const While &loop) { loops(loop, reading); },
          [](const auto &) {});
    }
    if (copies_) wait(reading);
  }

  std::set<LocalId> found;

 private:
  void wait(Arrays &reading) {
    reading.clear();
    copies_ = false;
  }

  void read(const Let &let, Arrays &reading) {
    const Typing typing = info(let.value.op).typing;
    // A barrier follows statements that one thread runs for all, and reads of a tile in shared memory.
    if (let.value.op == Op::Exchange || typing == Typing::Atomic ||
        (let.value.op == Op::LocalLoad && shared_.contains(let.value.array)))
      reading.clear();
    else if (typing == Typing::Load)
      reading.insert(let.value.array);
  }

  void called(const TileCall &call, const Stmt &stmt, Arrays &reading) {
    if (!is_in_registers(stmt, registers_) || exchanges_parts(call, registers_)) reading.clear();
  }
  void multiplied(const Stmt &product, Arrays &reading) {
    if (!is_in_registers(product, registers_)) reading.clear();
  }
  void loaded(const TileLoad &load, Arrays &reading) {
    reading.insert(load.array);
    copies_ = copies_ || !registers_.contains(load.result.array);
  }

  void either(const If &branch, Arrays &reading) {
    Arrays otherwise = reading;
    walk(branch.then_block, reading);
    walk(branch.else_block, otherwise);
    reading.insert(otherwise.begin(), otherwise.end());
  }

  // The state at the end of an iteration is that at the start of the next one.
  template <class Iteration>
  void again_and_again(Arrays &reading, const Iteration &iteration) {
    for (std::size_t before = reading.size() + 1; before != reading.size();) {
      before = reading.size();
      Arrays after = reading;
      iteration(after);
      reading.insert(after.begin(), after.end());
    }
  }

  void loops(const For &loop, Arrays &reading) {
    if (loop.kind == LoopKind::Thread) return elements(loop, reading);
    // Accesses of different blocks are unordered anyway.
    if (loop.kind == LoopKind::Block) return walk(loop.body, reading);
    again_and_again(reading, [&](Arrays &own) { walk(loop.body, own); });
    if (loop.ahead != 0) reading.clear();
  }
  void loops(const While &loop, Arrays &reading) {
    walk(loop.condition_block, reading);
    again_and_again(reading, [&](Arrays &own) {
      walk(loop.body, own);
      walk(loop.condition_block, own);
    });
  }

  void elements(const For &loop, Arrays &reading) {
    Arrays read;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      if (auto array = array_read(stmt)) read.insert(*array);
      const auto array = array_written(stmt);
      if (!array) return;
      if (std::ranges::any_of(reading, [&](std::uint32_t other) { return shares_memory_(other, *array); }))
        found.insert(loop.index);
    });
    // Loops over registers only have no barrier after them.
    if (others_see(loop, registers_)) return reading.clear();
    reading.insert(read.begin(), read.end());
  }

  const std::set<LocalArrayId> registers_, shared_;
  const SharesMemory &shares_memory_;
  bool copies_ = false;  // copies to shared memory are in flight
};

}  // namespace

bool touches_no_memory(const Stmt &stmt) {
  auto *let = stmt.as<Let>();
  return let ? info(let->value.op).pure : stmt.as<Allocate>() != nullptr;
}

bool others_see(const For &loop, const std::set<LocalArrayId> &registers) {
  bool in_registers = false, elsewhere = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (const auto array = local_array_touched(stmt)) (registers.contains(*array) ? in_registers : elsewhere) = true;
    elsewhere = elsewhere || array_written(stmt);
  });
  return elsewhere || !in_registers;
}

bool is_in_registers(const Stmt &stmt, const std::set<LocalArrayId> &registers) {
  const TileMemory *result = result_of(stmt);
  if (!result || !registers.contains(result->array)) return false;
  const auto *call = stmt.as<TileCall>();
  return multiplies_by_groups(stmt) ||
         (call && info(call->op).typing == Typing::Reduce && registers.contains(call->operands[0].array));
}

bool exchanges_parts(const TileCall &call, const std::set<LocalArrayId> &registers) {
  return info(call.op).typing == Typing::Reduce && call.operands.size() == 2 && registers.contains(call.result.array);
}

bool goes_beside_copies(const Stmt &stmt) { return stmt.as<TileLoad>() || touches_no_memory(stmt); }

std::set<LocalId> loops_after_reads(const Kernel &placed, const SharesMemory &shares_memory) {
  Hazards hazards(placed, shares_memory);
  Arrays reading;
  hazards.walk(placed.body, reading);
  return std::move(hazards.found);
}

}  // namespace samite::passes
