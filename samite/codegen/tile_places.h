// The storage of a tile in a block of CUDA's threads, as chosen by `passes/tiles/place_tiles.h`: registers of each
// thread, rows of whole units, or contiguous elements; and its spelling in C++.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/ir/layout.h"

#include <optional>
#include <set>

namespace samite::codegen {

// A type of samite/device/tile/: a thread's elements of a tile.
std::string fragments_type(const ir::FragmentLayout &fragments);

class TilePlaces {
 public:
  explicit TilePlaces(const ir::Kernel &kernel);

  // The layout of an array, if it is of that kind; else null.
  const ir::FragmentLayout *fragments_of(ir::LocalArrayId array) const { return layout<ir::FragmentLayout>(array); }
  const ir::RowLayout *rows_of(ir::LocalArrayId array) const { return layout<ir::RowLayout>(array); }
  const ir::PanelLayout *panels_of(ir::LocalArrayId array) const { return layout<ir::PanelLayout>(array); }

  // The rows of a tile as a type, also for contiguous elements.
  std::string rows_type(const ir::TileMemory &memory) const;
  // For memory with buffers: their number, and the bytes between them.
  int stages_of(ir::LocalArrayId array) const;
  std::int64_t bytes_of_buffer(ir::LocalArrayId array) const;

  void declare(const ir::Allocate &allocate, SourceWriter &out) const;
  // The type of an array in the block's shared memory; else empty.
  std::optional<ScalarType> type_in_memory(ir::LocalArrayId array) const {
    const ir::Allocate *known = allocations_[array];
    return known && known->space == ir::MemorySpace::shared ? std::optional(known->type) : std::nullopt;
  }
  // For a tile whose layout has rows or panels: their columns.
  std::optional<std::int64_t> columns_of(ir::LocalArrayId array) const;
  // The element in the block's memory that corresponds to register `r` of a tile in registers, if both have the same
  // rows; empty otherwise, or if there are no rows of units.
  std::optional<std::string> place_of_register(ir::LocalArrayId array, ir::LocalArrayId in_registers) const;
  // An lvalue. `in_registers` is the number of one of a thread's elements.
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
