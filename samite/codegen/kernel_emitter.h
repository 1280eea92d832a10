// The walk over one lowered kernel that writes its text: internal to codegen. What it writes of values, accesses, local
// arrays, sums, messages and tiles has a class each.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/local_arrays.h"
#include "samite/codegen/loop_text.h"
#include "samite/codegen/memory_access.h"
#include "samite/codegen/messages.h"
#include "samite/codegen/rows.h"
#include "samite/codegen/sums.h"
#include "samite/codegen/target.h"
#include "samite/codegen/tile_calls.h"
#include "samite/codegen/tile_places.h"
#include "samite/codegen/values.h"
#include "samite/codegen/warp_loops.h"

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
  void roles();
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
  void indices_in_strips(const ir::For &rows, const ir::For &columns, std::string_view number);
  void nest_body(const std::vector<const ir::For *> &nest);

  // jammed_loop.cpp: vectors of instances that go through a thread loop side by side.
  void jammed_body(const ir::For &loop, const ThreadLoop &text);
  void jammed(const ir::Block &block, const std::vector<std::string> &masks);

  // loop_in_pieces.cpp
  void loop_in_pieces(const ir::For &loop, const std::vector<Row> &rows);

  // control_flow.cpp
  void branch(const ir::If &branch);
  void divergent_branch(const ir::If &branch);
  void loop(const ir::For &loop);
  void native_loop(const ir::For &loop);
  void loop(const ir::While &loop);
  void divergent_loop(const ir::For &loop);
  void divergent_loop(const ir::While &loop);
  void late_loop(const ir::For &loop);
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
  LoopText loop_text_;
  Rows rows_;
  WarpLoops warp_loops_;
  const Target &target_;
  int loops_around_lanes_ = 0;  // serial ones that are open
  int thread_loops_ = 0;
};

}  // namespace samite::codegen
