// Loops over the elements of tiles by a block of CUDA's threads: each thread runs its share of the elements.
//
// In a loop over tiles in memory, a thread's elements begin at its own number, in steps of the block's threads.
//
// The loop's plan says how (`ir::ElementPlan`, passes/tiles/plan_element_loops.h): which accesses a thread makes for
// several elements at once, whether there is a version without bounds checks, and what runs once for each row.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/analysis/grouped_elements.h"
#include "samite/passes/analysis/row_values.h"
#include "samite/passes/analysis/tile_uses.h"

#include <map>
#include <optional>
#include <set>
#include <span>

namespace samite::codegen {

// Writes the statements of such a loop.
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
      : emission_(emission),
        places_(places),
        code_(code),
        in_registers_of_block_(passes::layouts_in_registers(emission.kernel)) {}

  void loop(const ir::For &loop);

  // Whether a loop's statements are being written; they differ from those outside as follows.
  bool is_open() const { return open_; }
  // The row or column of the thread's element; empty for other operations.
  std::optional<std::string> coordinate(const ir::Operation &operation) const;
  // The text for a condition of the loop's bounds; empty for other conditions.
  std::optional<std::string> condition(const ir::Value &condition) const;
  // For an access to several elements at once, else empty. `element` is the lvalue of one.
  std::optional<std::string> grouped_load(const ir::Operation &load, const std::string &element) const;
  bool grouped_store(const ir::Store &store, const std::string &element);
  bool grouped_addition(const ir::Accumulate &addition, const std::string &element);
  // An element of a tile.
  std::string element(ir::LocalArrayId array, const ir::Value &index) const;
  // The same for tiles in the block's memory. `element` is as in the function above.
  std::optional<std::string> grouped_load_in_block(const ir::Operation &load, const std::string &element) const;
  bool grouped_store_in_block(const ir::LocalStore &store, const std::string &element, const std::string &value) const;

 private:
  template <class Access>
  struct Own {
    passes::Grouped<Access> grouped;
    std::string name, row_stride;  // C++ text
  };
  // An access to a tile in the block's memory, at the loop's element.
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
  void elements_in_registers(const ir::For &loop, const std::set<ir::LocalArrayId> &tiles);
  void groups_in_registers(const ir::For &loop, const std::set<ir::LocalArrayId> &tiles, bool twice);
  void declare_for_thread(ir::LocalArrayId tile, std::int64_t count);
  void declare_for_group(const ir::For &loop, ir::LocalArrayId tile, std::int64_t count);
  bool makes_values_of_every_thread(const ir::For &loop) const;
  void group(const ir::For &loop);
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
  const std::map<ir::LocalArrayId, ir::FragmentLayout> in_registers_of_block_;
  bool open_ = false;
  // For the current loop over registers.
  std::optional<InRegisters> in_registers_;
  const passes::RowValues *row_values_ = nullptr;
  passes::GroupedElements grouped_;
  std::vector<Own<ir::Operation>> loads_;
  std::vector<Own<ir::Store>> stores_;
  std::vector<Own<ir::Accumulate>> additions_;
  std::vector<InBlock> loads_in_block_, stores_in_block_;
};

}  // namespace samite::codegen
