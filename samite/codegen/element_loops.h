// Loops over the elements of tiles, of a block of CUDA's threads: each thread runs its share of the elements.
//
// A loop over tiles in memory gives every thread the elements from its own number on, in steps of the block's threads.
//
// A loop over tiles in registers is there twice. Where the first and the last element of the tile are inside of all
// arrays that the loop touches, every element is: then nothing is asked for each of them, and what lies together in an
// array too is loaded and stored together (`passes/grouped_elements.h`). Else each is asked for, and as many branches
// as there are elements take compilers long: such a loop over a product's sums is not written out, and they go around
// in their registers. Where what lies together is inside as a whole or not at all, it is asked once for that; with few
// such packs of a thread the loop is there once. What is loaded for whole rows is loaded once for each, before the loop
// (`passes/row_values.h`).
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/grouped_elements.h"
#include "samite/passes/row_values.h"

#include <optional>
#include <set>
#include <span>

namespace samite::codegen {

// What writes the statements of such a loop.
class ElementCode {
 public:
  virtual void block(const ir::Block &block) = 0;
  virtual void let(const ir::Let &let, SourceLocation where) = 0;
  // An lvalue: an element of an array parameter.
  virtual std::string element(std::uint32_t array, std::span<const ir::Value> indices) = 0;

 protected:
  ~ElementCode() = default;
};

class ElementLoops {
 public:
  ElementLoops(Emission &emission, const TilePlaces &places, ElementCode &code)
      : emission_(emission), places_(places), code_(code) {}

  void loop(const ir::For &loop);

  // While a loop's statements are written: how they differ from those outside.
  bool is_open() const { return open_; }
  // A row or a column of the thread's element; nothing where the operation is neither.
  std::optional<std::string> coordinate(const ir::Operation &operation) const;
  // How a condition of the loop's bounds is asked for; nothing where it is none.
  std::optional<std::string> condition(const ir::Value &condition) const;
  // Of accesses that are done for several elements at once, else nothing. `element` is the lvalue of one.
  std::optional<std::string> grouped_load(const ir::Operation &load, const std::string &element) const;
  bool grouped_store(const ir::Store &store, const std::string &element);
  bool grouped_addition(const ir::Accumulate &addition, const std::string &element);
  // An element of a tile.
  std::string element(ir::LocalArrayId array, const ir::Value &index) const;
  // The same of tiles in the block's memory. `element` is text as of the function above.
  std::optional<std::string> grouped_load_in_block(const ir::Operation &load, const std::string &element) const;
  bool grouped_store_in_block(const ir::LocalStore &store, const std::string &element, const std::string &value) const;

 private:
  template <class Access>
  struct Own {
    passes::Grouped<Access> grouped;
    std::string name, row_stride;  // C++ text
  };
  // An access to a tile in the block's memory, at the element of the loop.
  struct InBlock {
    const void *access;  // an operation or a statement
    ir::LocalArrayId array;
    std::string name;
  };
  struct InRegisters {
    ir::LocalId index;
    ir::LocalArrayId tile;
    std::int64_t columns;
  };

  void loop_in_memory(const ir::For &loop);
  void loop_of_launch(const ir::For &loop);
  void loop_in_registers(const ir::For &loop, const std::set<ir::LocalArrayId> &tiles);
  void compute_rows(ir::LocalArrayId tile);
  static std::int64_t front_of_rotation(const ir::FragmentLayout &layout);
  void elements_in_registers(const ir::For &loop, const std::set<ir::LocalArrayId> &tiles);
  bool makes_values_of_every_thread(const ir::For &loop) const;
  std::set<ir::LocalArrayId> tiles_in_registers(const ir::For &loop) const;
  void group(const ir::For &loop, const ir::FragmentLayout &layout);
  void group_in_block(const ir::For &loop, const ir::FragmentLayout &layout);
  bool lies_together(ir::LocalArrayId array, const ir::FragmentLayout &layout) const;
  void ask_corners(const ir::For &loop, const ir::FragmentLayout &layout, const std::string &whole);
  void find_first_of_thread(const ir::For &loop, ir::LocalArrayId tile);
  void ask_of_pack(const ir::For &loop, ir::LocalArrayId tile);
  void index_of_element(const ir::For &loop, ir::LocalArrayId tile);
  void elements_of_thread(const ir::For &loop, ir::LocalArrayId tile);
  void block_of_element(const ir::For &loop, const ir::Block &block, ir::LocalArrayId tile);
  template <class Access>
  std::string place(const Own<Access> &own, const std::string &element) const;

  Emission &emission_;
  const TilePlaces &places_;
  ElementCode &code_;
  bool open_ = false;
  // Of the loop over registers that is open.
  std::optional<InRegisters> in_registers_;
  const passes::RowValues *row_values_ = nullptr;
  passes::GroupedElements grouped_;
  std::vector<Own<ir::Operation>> loads_;
  std::vector<Own<ir::Store>> stores_;
  std::vector<Own<ir::Accumulate>> additions_;
  std::vector<InBlock> loads_in_block_, stores_in_block_;
};

}  // namespace samite::codegen
