// Writes statements one operation at a time, and folds constants as it goes.
//
// Passes that create code request operations and get values back. `open` and `close` start and end a nested block.
#pragma once

#include "samite/ir/kernel.h"

#include <initializer_list>
#include <utility>

namespace samite::passes {

class Builder {
 public:
  explicit Builder(ir::LocalId first_local = 0) : next_(first_local) {}

  // The source location of the operations from here on.
  void at(SourceLocation where) { where_ = where; }
  SourceLocation where() const { return where_; }

  // The value of an operation: folded if possible, else a new local.
  ir::Value operation(ir::Operation operation);
  // The result type is that of the first operand, or bool for comparisons.
  ir::Value operator()(ir::Op op, std::initializer_list<ir::Value> operands);
  ir::Value select(ir::Value condition, ir::Value a, ir::Value b) { return (*this)(ir::Op::Select, {condition, a, b}); }
  ir::Value cast(ir::Type type, ir::Value value);

  // A local that may be assigned (captured form), starting as `initial`.
  ir::LocalId variable(ir::Value initial);
  void assign(ir::LocalId local, ir::Value value) { append({ir::Assign{local, value}, where_}); }

  // A local array, in the current block.
  ir::LocalArrayId allocate(ir::Type type, ir::Value size);
  void local_store(ir::LocalArrayId array, ir::Value index, ir::Value value);
  ir::Value local_load(ir::Type type, ir::LocalArrayId array, ir::Value index);

  ir::LocalId new_local() { return next_++; }
  ir::LocalArrayId new_local_array() { return next_array_++; }
  void append(ir::Stmt stmt) { block_.push_back(std::move(stmt)); }

  // Starts a nested block; `close` returns it and continues with the outer one.
  ir::Block open() { return std::exchange(block_, {}); }
  ir::Block close(ir::Block outer) { return std::exchange(block_, std::move(outer)); }
  ir::Block take() { return std::move(block_); }

  ir::LocalId local_count() const { return next_; }
  ir::LocalArrayId local_array_count() const { return next_array_; }

 private:
  ir::Block block_;
  ir::LocalId next_;
  ir::LocalArrayId next_array_ = 0;
  SourceLocation where_;
};

}  // namespace samite::passes
