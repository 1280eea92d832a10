// Undoes the recomputation's writes to local arrays in the reverse sweep: internal to autodiff.
//
// A log is a list of writes in program order; the last one is undone first. Its values belong to the block that wrote
// it. A loop that logs its iterations stores those values on tapes, one element for each iteration.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace samite::autodiff {

struct Undo;
using UndoLog = std::vector<Undo>;

// One store: `old` is the element's previous value. `array` is the primal's.
struct UndoStore {
  ir::LocalArrayId array;
  ir::Type type;
  ir::Value index, old;
};

// The stores of the taken side of a branch.
struct UndoBranch {
  ir::Value condition;
  UndoLog then_log, else_log;
};

// All writes of a statement to an array: `copy` holds the array's previous elements. `array` is the primal's.
struct UndoCopy {
  ir::LocalArrayId array;
  ir::LocalArrayId copy;
};

struct Undo {
  std::variant<UndoStore, UndoBranch, UndoCopy> kind;
};

// The same log with every value `v` replaced by `f(v)`.
UndoLog map_values(const UndoLog &log, const std::function<ir::Value(const ir::Value &)> &f);

// The same log without the writes to `array`.
UndoLog without(const UndoLog &log, ir::LocalArrayId array);

// A block's writes to a local array from outside of the block.
struct LocalWrites {
  ir::LocalArrayId array;
  int stores = 0;        // in the text
  bool in_loop = false;  // some of them in a loop inside the block
};
std::vector<LocalWrites> local_writes(std::initializer_list<const ir::Block *> blocks);
std::vector<LocalWrites> local_writes(const ir::Stmt &stmt);

// By local array: the first nested statement, in the block that allocates the array, that loads from it inside; null if
// there is none. Before that statement, no statement that runs again reads the array.
std::vector<const ir::Stmt *> first_readers(const ir::Kernel &kernel);

}  // namespace samite::autodiff
