// How the reverse sweep undoes what the recomputation wrote to local arrays: internal to autodiff.
//
// A log is a list of writes in program order; the last one is undone first. Its values belong to the block that it was
// written in. A loop that logs its iterations stores those values on tapes, one element for each iteration.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace samite::autodiff {

struct Undo;
using UndoLog = std::vector<Undo>;

// One store: the element had the value `old` before. `array` is the primal's.
struct UndoStore {
  ir::LocalArrayId array;
  ir::Type type;
  ir::Value index, old;
};

// The stores of the side of a branch that was taken.
struct UndoBranch {
  ir::Value condition;
  UndoLog then_log, else_log;
};

// All that a statement wrote to an array: `copy` holds the array's elements from before. `array` is the primal's.
struct UndoCopy {
  ir::LocalArrayId array;
  ir::LocalArrayId copy;
};

struct Undo {
  std::variant<UndoStore, UndoBranch, UndoCopy> kind;
};

// The same log with every value `v` replaced by `f(v)`.
UndoLog map_values(const UndoLog &log, const std::function<ir::Value(const ir::Value &)> &f);

// The same log but for the writes to `array`.
UndoLog without(const UndoLog &log, ir::LocalArrayId array);

// What the statements of a block write to a local array from outside of the block.
struct LocalWrites {
  ir::LocalArrayId array;
  int stores = 0;        // in the text
  bool in_loop = false;  // some of them in a loop inside the block
};
std::vector<LocalWrites> local_writes(std::initializer_list<const ir::Block *> blocks);
std::vector<LocalWrites> local_writes(const ir::Stmt &stmt);

// By local array: the first statement with blocks, in the block that allocates the array, that loads from it inside;
// null where there is none. Nothing before that statement that runs again reads the array.
std::vector<const ir::Stmt *> first_readers(const ir::Kernel &kernel);

}  // namespace samite::autodiff
