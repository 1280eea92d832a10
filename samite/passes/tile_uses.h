// Records how a lowered kernel uses the memory of its blocks, array by array, in one walk over the kernel. Each pass
// that places tiles takes what it needs from the record.
//
// Positions count statements in program order; the end of a loop has a position too.
#pragma once

#include "samite/ir/kernel.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

// A load or store of one element.
struct TileTouch {
  int time;
  const ir::For *threads;  // the loop over elements around it; null outside of such loops
  bool own_element;        // the loop goes over all elements of the tile, and this is the one that it is at
  bool loads;
  ir::Value index;
};

// A call that reads the tile as one of its operands, or writes it as its result.
struct TileOperand {
  int time;
  const ir::TileCall *call;
  std::optional<std::size_t> operand;  // nothing: the result
  const ir::TileMemory &memory() const { return operand ? call->operands[*operand] : call->result; }
  bool is_brought() const { return operand && call->brings(*operand); }
};

struct TileUse {
  const ir::Allocate *allocation = nullptr;
  SourceLocation where;
  int allocated = 0;
  std::size_t scope = 0;
  std::vector<TileTouch> touches;
  std::vector<TileOperand> operands;
  std::vector<int> brought;  // when copies bring windows to it, or it says that they have
  // When each thread has read what others wrote to it in a call that no barrier follows: at the next one of its block.
  int parts_read = 0;

  // Whether copies of other threads write to it, or it has their barriers.
  bool is_brought() const { return !brought.empty() || std::ranges::any_of(operands, &TileOperand::is_brought); }
  ScalarType type() const { return allocation->type.element(); }
  // Elements; 0 where that is no constant.
  std::int64_t count() const { return allocation->size.is_constant() ? allocation->size.as_int() : 0; }
  // Whether nothing but loops over its own elements and calls touch it.
  bool by_own_elements() const;
  // The loops that touch its own elements, by their index.
  std::set<ir::LocalId> loops() const;
};

// From a loop's statement to its end.
struct LoopSpan {
  const ir::Stmt *loop;
  int begin, end;
  bool over_elements;
};

// Blocks of statements that lie in each other. Registers of what one of them defines are free for its neighbours.
class Scopes {
 public:
  std::size_t inside(std::size_t scope);
  void take(std::size_t scope, std::int64_t registers) { scopes_[scope].registers += registers; }
  // Those in use at one time, at most, where `scope` or a block within it is.
  std::int64_t registers_around(std::size_t scope) const;

 private:
  struct Scope {
    std::size_t around;  // comes before
    std::int64_t registers;
  };
  std::vector<Scope> scopes_{{0, 0}};
};

// Refers to the kernel that it is of.
class TileUses {
 public:
  explicit TileUses(const ir::Kernel &lowered);

  // Memory of a block, but that in device memory.
  std::map<ir::LocalArrayId, TileUse> arrays;
  std::vector<LoopSpan> loops;  // inner before outer
  Scopes scopes;
  int end = 0;

 private:
  // Buffers count as the memory that they are of.
  std::map<ir::LocalArrayId, ir::LocalArrayId> buffers_;

  ir::LocalArrayId memory_of(ir::LocalArrayId array) const;
  void walk(const ir::Block &block, const ir::For *threads, std::size_t scope);
  bool makes_value_of_every_thread(const ir::TileCall &call) const;
  void called(const ir::TileCall &call, std::optional<std::size_t> operand);
  void touch(ir::LocalArrayId array, const ir::Value &index, const ir::For *threads, bool loads);
};

// When a tile's elements are needed: from what first touches it to what last does.
struct TileLife {
  int first = 0, last = 0;  // 0: nothing touches it
  bool at(int time) const { return first < time && time <= last; }
};
// Each iteration of a loop over elements puts what it makes in the place of what it reads: one moment. What was made
// before any other loop is there until its last iteration has ended.
std::map<ir::LocalArrayId, TileLife> lives(const TileUses &uses);

// The local arrays of a kernel that are in one of these spaces.
std::set<ir::LocalArrayId> arrays_in(const ir::Kernel &kernel, std::initializer_list<ir::MemorySpace> spaces);
// Of those in registers: how the threads have them.
std::map<ir::LocalArrayId, ir::FragmentLayout> layouts_in_registers(const ir::Kernel &kernel);
// Whether a statement, or one inside of it, loads or stores a tile's elements, or calls something with it.
bool touches_tile(const ir::Stmt &statement, ir::LocalArrayId array);
// Those whose threads need no barrier of the block: in registers, and rings of windows that bulk copies bring, which
// have barriers of their own.
std::set<ir::LocalArrayId> arrays_without_barriers(const ir::Kernel &kernel);

}  // namespace samite::passes
