// Operations on whole tiles, as calls of functions in samite/device/tile/.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/sm90/product_loops.h"

#include <cstdint>

namespace samite::codegen {

// The target of the functions: cpu_… or cuda_….
//
// On the CPU, operations that take long to compile become separate functions (`EmittedSource::objects`), compiled once
// for all kernels that call them. CUDA's compiler inlines them all, so that sums stay in registers, and compiles one
// text faster than several linked ones. Its functions take the number of a block's threads as a template argument, so
// that loops over threads are specialised.
enum class TileFunctions : std::uint8_t { of_cpu, of_cuda };

// A statement that synchronises this many of a block's threads; 0: all of them.
std::string barrier_text(const ir::Kernel &kernel, int threads);

class TileCalls {
 public:
  TileCalls(Emission &emission, const TilePlaces &places, TileFunctions functions)
      : emission_(emission),
        places_(places),
        functions_(functions),
        threads_(functions == TileFunctions::of_cuda ? fmt::format(", {}", emission.kernel.block_threads) : ""),
        maps_(passes::tensor_maps(emission.kernel)) {}

  void call(const ir::TileCall &call);
  void load(const ir::TileLoad &load, SourceLocation where);
  void main_loop(const ir::MainLoop &loop, SourceLocation where);
  void window_product(const ir::WindowProduct &product);
  void stage_product(const ir::StageProduct &product);
  void load_stream(const ir::LoadStream &stream, SourceLocation where);
  void bring_windows(const ir::BringWindows &bring);
  void release_windows(const ir::ReleaseWindows &release);
  void prefetch(const ir::Prefetch &fetch);

  // If threads have roles: the data of the main loop that both roles use.
  void make_rings();

  // If teams alternate over the launch's indices: around the code for an index.
  void begin_index_of_team();
  void end_index_of_team();

  // Declarations of the objects, before the text that calls them.
  std::string declarations() const;

 private:
  // tile_loads.cpp
  void multiply_ahead(const ir::MainLoop &loop, SourceLocation where);
  std::string window(const ir::Type &type, std::uint32_t array, const std::vector<ir::Value> &indices) const;
  std::string load_arguments(const ir::TileMemory &to, bool in_units) const;
  void note_load(const ir::Type &type, std::uint32_t array, SourceLocation where);

  // product_loop.cpp
  std::string bulk_windows(const passes::TensorMapNeeded &needed, const std::vector<ir::Value> &indices) const;
  std::string bulk_windows(const ir::Transfer &factor) const;
  std::string kind_of_loop(const ir::MainLoop &loop) const;
  // Whether the loops in which a team hands over are in their last iterations.
  std::string is_last_of_index(const ir::MainLoop &main) const;

  // tile_objects.cpp: the name to call `function` by, a function of samite/device/tile/ with its template arguments.
  std::string heavy(const ir::TileCall &call, const std::string &function);

  Emission &emission_;
  const TilePlaces &places_;
  const TileFunctions functions_;
  const std::string threads_;  // the last template argument
  std::string declarations_;
  std::string team_ring_;                           // a team's position in the shared ring
  std::vector<const ir::WindowProduct *> running_;  // started products
  const std::vector<passes::TensorMapNeeded> maps_;
};

}  // namespace samite::codegen
