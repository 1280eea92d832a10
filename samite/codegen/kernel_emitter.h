// The walk over one lowered kernel that writes its text: internal to codegen. What it writes of values, accesses, local
// arrays, sums, messages and tiles has a class each.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/local_arrays.h"
#include "samite/codegen/memory_access.h"
#include "samite/codegen/messages.h"
#include "samite/codegen/sums.h"
#include "samite/codegen/target.h"
#include "samite/codegen/tile_calls.h"
#include "samite/codegen/tile_places.h"
#include "samite/codegen/values.h"
#include "samite/passes/index_forms.h"

#include <map>
#include <optional>
#include <set>
#include <span>

namespace samite::codegen {

class KernelEmitter : private ElementCode, private Values {
 public:
  KernelEmitter(const ir::Kernel &kernel, passes::Uniformity uniformity, const Target &target,
                const EmitOptions &options);

  EmittedSource emit(const std::string &entry);

 private:
  // operations.cpp
  void let(const ir::Let &let, SourceLocation where) override;
  std::string expression(const ir::Operation &operation, Shape result, SourceLocation where);
  std::string wrapping(const ir::Operation &operation) const;
  std::string cast(const ir::Operation &operation, Shape result) const;
  std::string division(const ir::Operation &operation, Shape result, SourceLocation where);
  std::string load(const ir::Operation &operation, SourceLocation where);

  // statements.cpp
  void block(const ir::Block &block) override;
  void statement(const ir::Stmt &stmt);
  void store(const ir::Store &store, SourceLocation where);
  void accumulate(const ir::Accumulate &accumulate, SourceLocation where);
  void thread_loop(const ir::For &loop);

  // launch_loops.cpp
  void launch_loop(const ir::For &loop);
  void launch_body(const ir::For &loop);

  // packs.cpp: accesses to neighbours.
  void load_pack(const ir::LoadPack &load);
  void store_pack(const ir::StorePack &store);

  // tile_block.cpp
  void launch_blocks(const ir::For &outermost);

  // jammed_loop.cpp: vectors of instances that go through a thread loop side by side.
  void jammed_body(const ir::For &loop, const ThreadLoop &text);
  void jammed(const ir::Block &block, const std::vector<std::string> &masks);

  // rows.cpp: additions of all lanes to one element, which is the next one in each iteration of a uniform loop.
  struct Rows {
    const ir::Accumulate *statement;
    std::string name, count, step;  // C++ names: the rows, the iteration within a piece; elements from row to row
    std::size_t number = 0;         // of a warp's, which share a name
  };
  std::vector<Rows> rows_of(const ir::For &loop);
  const Rows *rows_for(const ir::Accumulate &accumulate) const;
  void loop_in_pieces(const ir::For &loop, std::vector<Rows> rows);

  // warp_rows.cpp: the same where the lanes are the threads of a warp.
  bool warps_may_work_together(const ir::For &loop) const;
  bool loop_of_warp(const ir::For &loop);  // false, and nothing written, where a warp gains nothing by it
  void add_row(const Rows &rows, const ir::Accumulate &accumulate, SourceLocation where);

  // warp_tiles.cpp: loads of one element by all threads of a warp, another one in each iteration of a loop.
  struct WarpTile {
    std::vector<const ir::Operation *> loads;
    std::string row_type, rows, row;  // C++ names: of what an iteration loads, of all of it, of one iteration's
  };
  WarpTile warp_tile_of(const ir::For &loop);
  void declare_tile(WarpTile &tile);
  void fill_tile(const ir::For &loop, const WarpTile &tile);
  std::string from_tile(const ir::Operation &load) const;  // empty where it is in none that is open
  std::string goes_together(const ir::For &loop, const std::vector<Rows> &rows, const WarpTile &tile);

  // control_flow.cpp
  void branch(const ir::If &branch);
  void divergent_branch(const ir::If &branch);
  void loop(const ir::For &loop);
  void native_loop(const ir::For &loop);
  void open_counted(const ir::For &loop);
  void loop(const ir::While &loop);
  void divergent_loop(const ir::For &loop);
  void divergent_loop(const ir::While &loop);
  void late_loop(const ir::For &loop);
  std::string continues(const ir::For &loop, Shape shape) const;
  // About how many instructions a block becomes. NVIDIA's compiler unrolls loops of any size, which takes its time.
  static std::size_t instructions(const ir::Block &block);
  static std::size_t instructions_of_one(const ir::For &loop);  // for one of the instances that go through the loop
  static constexpr std::size_t largest_unrolled = 64;
  void keep_small(const ir::For &loop);
  void declare_carried(const std::vector<ir::Carried> &carried, bool divergent);
  void advance_carried(const std::vector<ir::Carried> &carried, bool divergent);
  void name_results(const std::vector<ir::Carried> &carried, bool divergent);
  bool worth_flattening(const ir::Block &block) const;

  // ElementCode
  std::string element(std::uint32_t array, std::span<const ir::Value> indices) override {
    return memory_.access(array, indices, {}).element;
  }

  std::string fresh(std::string_view prefix) { return emission_.fresh(prefix); }
  bool used(ir::LocalId local) const { return emission_.used(local); }
  ArrayFacts facts(std::uint32_t array) const { return emission_.facts(array); }

  Emission emission_;
  const ir::Kernel &kernel_;
  const EmitOptions &options_;
  SourceWriter &out_;
  Failures failures_;
  MemoryAccess memory_;
  Messages messages_;
  Sums sums_;
  const TilePlaces places_;
  TileCalls tile_calls_;
  ElementLoops element_loops_;
  LocalArrays local_arrays_;
  const passes::IndexForms index_forms_;
  const Target &target_;
  passes::Uniformity of_warp_;  // where a warp lies along the last dimension
  const bool uses_workspace_;
  std::vector<Rows> rows_;  // of the loops that are open
  std::size_t statements_in_thread_loops_ = 0;
  std::vector<WarpTile> tiles_;  // whose rows are named where the emitter stands
  std::size_t tile_bytes_ = 0;   // of a thread, in all tiles of the kernel
  int loops_around_lanes_ = 0;   // serial ones that are open
  int thread_loops_ = 0, launch_dimension_ = 0;
};

}  // namespace samite::codegen
