// Operations on whole tiles, as calls of the functions in samite/device/tile/.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/product_loops.h"

#include <cstdint>

namespace samite::codegen {

// Whose functions are called, those of cpu_… or of cuda_….
//
// What is much to compile becomes a function of its own on the CPU (`EmittedSource::objects`), compiled once for all
// kernels that call it. CUDA's compiler inlines all of them anyway, so that sums stay in registers, and takes one text
// in less time than it takes several and links them. Its functions are told how many threads a block has: a loop over
// known threads is compiled for these alone.
enum class TileFunctions : std::uint8_t { of_cpu, of_cuda };

// A statement in which as many of a block's threads wait for each other; 0: all of them.
std::string barrier_text(const ir::Kernel &kernel, int threads);

class TileCalls {
 public:
  TileCalls(Emission &emission, const TilePlaces &places, TileFunctions functions)
      : emission_(emission),
        places_(places),
        functions_(functions),
        threads_(functions == TileFunctions::of_cuda ? fmt::format(", {}", emission.kernel.block_threads) : ""),
        maps_(passes::tensor_maps(emission.kernel)) {}

  void call(const ir::TileCall &call, SourceLocation where);
  void multiply_ahead(const ir::TileCall &call, SourceLocation where);
  void load_stream(const ir::LoadStream &stream, SourceLocation where);
  void bring_windows(const ir::BringWindows &bring);
  void release_windows(const ir::ReleaseWindows &release);
  void prefetch(const ir::Prefetch &fetch);

  // Where threads have roles: what both have of the loop of products.
  void make_rings();

  // Where teams take the launch's indices in turn: around what one does for an index.
  void begin_index_of_team();
  void end_index_of_team();

  // Of the objects, before the text that calls them.
  std::string declarations() const;

 private:
  // tile_loads.cpp
  void load(const ir::TileCall &call, SourceLocation where);
  std::string window(const ir::Type &type, std::uint32_t array, const std::vector<ir::Value> &indices) const;
  std::string load_arguments(const ir::TileMemory &to, bool in_units) const;
  void note_load(const ir::Type &type, std::uint32_t array, SourceLocation where);

  // product_loop.cpp
  void product_loop(const ir::TileCall &call);
  void product_of_windows(const ir::TileCall &call);
  void product_in_stage(const ir::TileCall &call);
  std::string bulk_windows(const passes::TensorMapNeeded &needed, const std::vector<ir::Value> &indices) const;
  std::string bulk_windows(const ir::TileCall &call, std::size_t brought) const;
  std::string kind_of_loop(const ir::TileCall &call) const;
  // Whether no other loop of products follows for the index of the launch, as far as the loops around it tell.
  std::string is_last_of_index() const;

  // tile_objects.cpp: the name to call `function` by, which is of samite/device/tile/, with its template arguments.
  std::string heavy(const ir::TileCall &call, const std::string &function);

  Emission &emission_;
  const TilePlaces &places_;
  const TileFunctions functions_;
  const std::string threads_;  // the last template argument
  std::string declarations_;
  std::string team_ring_;                      // where a team is in the ring that all share
  std::vector<const ir::TileCall *> running_;  // products that have begun
  const std::vector<passes::TensorMapNeeded> maps_;
};

}  // namespace samite::codegen
