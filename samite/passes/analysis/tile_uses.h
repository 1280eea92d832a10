// Records how a lowered kernel uses the memory of its blocks, array by array, in one walk over the kernel. Each pass
// that places tiles takes what it needs from the record.
//
// Positions count statements in program order; the end of a loop has a position too.
#pragma once

#include "samite/ir/visit.h"

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
  const ir::For *threads;  // the enclosing loop over elements; null outside of such loops
  bool own_element;        // the loop covers all elements of the tile, and this is its current one
  bool loads;
  ir::Value index;
};

// A statement that uses the tile as a whole: as its result, or as one of its operands.
struct TileOperand {
  int time;
  const ir::Stmt *statement;
  const ir::TileMemory *tile;
  ir::TileAccess access;
  std::size_t operand;  // its number, for a result 0

  bool is_result() const { return access == ir::TileAccess::result; }
  // Whether it is the first factor of a product, or the first operand that another call reads.
  bool is_first() const { return access != ir::TileAccess::result && operand == 0; }
  bool is_brought() const { return access == ir::TileAccess::ring || access == ir::TileAccess::barriers; }
  const ir::TileCall *call() const { return statement->as<ir::TileCall>(); }
};

struct TileUse {
  const ir::Allocate *allocation = nullptr;
  SourceLocation where;
  int allocated = 0;
  std::size_t scope = 0;
  std::vector<TileTouch> touches;
  std::vector<TileOperand> operands;
  std::vector<int> brought;  // when copies load windows to it, or it signals that
  // When each thread has read the values that others wrote to it in a call without a barrier after it: at the next
  // barrier of its block.
  int parts_read = 0;

  // Whether other threads' copies write to it, or it has their barriers.
  bool is_brought() const { return !brought.empty() || std::ranges::any_of(operands, &TileOperand::is_brought); }
  ScalarType type() const { return allocation->type.element(); }
  // Elements; 0 if that is not a constant.
  std::int64_t count() const { return allocation->size.is_constant() ? allocation->size.as_int() : 0; }
  // Whether only loops over its own elements and calls use it.
  bool by_own_elements() const;
  // The loops over its own elements, by their index.
  std::set<ir::LocalId> loops() const;
};

// From a loop's statement to its end.
struct LoopSpan {
  const ir::Stmt *loop;
  int begin, end;
  bool over_elements;
};

// Nested blocks of statements. Registers of definitions in one block are free in its siblings.
class Scopes {
 public:
  std::size_t inside(std::size_t scope);
  void take(std::size_t scope, std::int64_t registers) { scopes_[scope].registers += registers; }
  // The largest number of registers in use in `scope` or a block within it.
  std::int64_t registers_around(std::size_t scope) const;

 private:
  struct Scope {
    std::size_t around;  // the enclosing one, which comes before
    std::int64_t registers;
  };
  std::vector<Scope> scopes_{{0, 0}};
};

// Keeps references to its kernel.
class TileUses {
 public:
  explicit TileUses(const ir::Kernel &lowered);

  // Memory of a block, except in device memory.
  std::map<ir::LocalArrayId, TileUse> arrays;
  std::vector<LoopSpan> loops;  // inner before outer
  Scopes scopes;
  int end = 0;

 private:
  // Buffers count as the allocation that they alias.
  std::map<ir::LocalArrayId, ir::LocalArrayId> buffers_;

  ir::LocalArrayId memory_of(ir::LocalArrayId array) const;
  void walk(const ir::Block &block, const ir::For *threads, std::size_t scope);
  bool makes_value_of_every_thread(const ir::TileCall &call) const;
  void use_tiles(const ir::Stmt &stmt);
  void touch(ir::LocalArrayId array, const ir::Value &index, const ir::For *threads, bool loads);
};

// The live range of a tile's elements: from the first access to the last.
struct TileLife {
  int first = 0, last = 0;  // 0: no access
  bool at(int time) const { return first < time && time <= last; }
};
// A loop over elements reads and overwrites each place in one iteration, so it is a single moment. A value from before
// any other loop is live until its last iteration has ended.
std::map<ir::LocalArrayId, TileLife> lives(const TileUses &uses);

// The local arrays of a kernel that are in one of these spaces.
std::set<ir::LocalArrayId> arrays_in(const ir::Kernel &kernel, std::initializer_list<ir::MemorySpace> spaces);
// The layouts of those in registers.
std::map<ir::LocalArrayId, ir::FragmentLayout> layouts_in_registers(const ir::Kernel &kernel);
// Whether a statement, or a nested one, loads or stores a tile's elements, or calls an operation on it.
bool touches_tile(const ir::Stmt &statement, ir::LocalArrayId array);
// Tiles that need no barrier of the block: those in registers, and rings of bulk copies, which have their own barriers.
std::set<ir::LocalArrayId> arrays_without_barriers(const ir::Kernel &kernel);

}  // namespace samite::passes
