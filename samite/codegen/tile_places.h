// Where the tiles of a block of CUDA's threads lie, as `passes/place_tiles.h` says: in each thread's registers, in rows
// of whole units, or element after element; and how C++ names that.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/ir/layout.h"

#include <optional>
#include <set>

namespace samite::codegen {

// A type of samite/device/tile/: the elements of a tile that each thread has.
std::string fragments_type(const ir::FragmentLayout &fragments);

class TilePlaces {
 public:
  explicit TilePlaces(const ir::Kernel &kernel);

  // The layout of an array, where it is of that kind; else null.
  const ir::FragmentLayout *fragments_of(ir::LocalArrayId array) const { return layout<ir::FragmentLayout>(array); }
  const ir::RowLayout *rows_of(ir::LocalArrayId array) const { return layout<ir::RowLayout>(array); }
  const ir::PanelLayout *panels_of(ir::LocalArrayId array) const { return layout<ir::PanelLayout>(array); }

  // The rows of a tile as a type, also where it lies element after element.
  std::string rows_type(const ir::TileMemory &memory) const;
  // Of memory that has buffers: how many, and how many bytes lie from one to the next.
  int stages_of(ir::LocalArrayId array) const;
  std::int64_t bytes_of_buffer(ir::LocalArrayId array) const;

  void declare(const ir::Allocate &allocate, SourceWriter &out) const;
  // Of what is in the block's shared memory; else nothing.
  std::optional<ScalarType> type_in_memory(ir::LocalArrayId array) const {
    const ir::Allocate *known = allocations_[array];
    return known && known->space == ir::MemorySpace::shared ? std::optional(known->type) : std::nullopt;
  }
  // Of a tile whose layout has rows or panels: the columns of these.
  std::optional<std::int64_t> columns_of(ir::LocalArrayId array) const;
  // The element of register `r` of a tile in registers, in one in the block's memory that has the same rows; nothing
  // where it has others, or no rows of units.
  std::optional<std::string> place_of_register(ir::LocalArrayId array, ir::LocalArrayId in_registers) const;
  // An lvalue. `in_registers` is the number of a thread's own element.
  std::string element(ir::LocalArrayId array, const std::string &index, const std::string &in_registers) const;

 private:
  template <class Layout>
  const Layout *layout(ir::LocalArrayId array) const {
    return allocations_[array] ? std::get_if<Layout>(&allocations_[array]->layout) : nullptr;
  }

  std::vector<const ir::Allocate *> allocations_;  // by LocalArrayId
  std::set<ir::LocalArrayId> rings_of_values_, rings_of_threads_, set_by_products_;
};

}  // namespace samite::codegen
