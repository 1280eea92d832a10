// CUDA's printer. A thread runs each instance, or a block's threads together run an instance of a tile kernel. Every
// value is a scalar, and control flow is C++'s own. The loops over the launch become the grid.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/launch_sums.h"
#include "samite/codegen/launch_text.h"
#include "samite/codegen/thread_access.h"
#include "samite/codegen/thread_arrays.h"
#include "samite/codegen/walk.h"
#include "samite/codegen/warp_loops.h"

#include <span>
#include <vector>

namespace samite::codegen {

class ThreadsEmitter final : public Walk, private ElementCode {
 public:
  // `values` must outlive this.
  ThreadsEmitter(const ir::Kernel &kernel, const EmitOptions &options, const Values &values);

 private:
  void open_kernel(const std::string &entry) override;
  void close_kernel() override;
  void body() override;

  // thread_statements.cpp
  void block(const ir::Block &block) override;
  void store(const ir::Store &store, SourceLocation where) override;
  void accumulate(const ir::Accumulate &accumulate, SourceLocation where) override;
  void allocate(const ir::Allocate &allocate, SourceLocation where) override { arrays_.allocate(allocate, where); }
  void local_store(const ir::LocalStore &store, SourceLocation where) override { arrays_.store(store, where); }
  void of_threads(const ir::Stmt &stmt) override;
  void load_pack(const ir::LoadPack &load);
  void store_pack(const ir::StorePack &store);
  void barrier(const ir::Barrier &barrier);
  void print(const ir::Print &print, SourceLocation where) override;
  void check(const ir::Check &check, SourceLocation where) override;
  void say(const ir::Message &message, const std::vector<ir::Value> &instance, MessageSite site);
  std::string condition(const ir::Value &value) override;

  // thread_operations.cpp
  void let(const ir::Let &let, SourceLocation where) override;
  static std::string wrapping(const ir::Operation &operation);
  std::string access(const ir::Operation &operation, SourceLocation where) override;
  void check_divisor(const ir::Value &divisor, SourceLocation where) override;

  // launch_loops.cpp
  void loop(const ir::For &loop) override;
  void launch_loop(const ir::For &loop);
  void keep_small(const ir::For &loop) override;

  // tile_block.cpp
  void launch_blocks(const ir::For &outermost);
  void launch_axes(const std::vector<const ir::For *> &nest);
  // The type that counts the launch's blocks, and the loop whose iterations a cluster's blocks run, if any.
  struct Numbering {
    std::string_view type;
    const ir::For *clustered = nullptr;
  };
  std::string extent_of(const ir::For &loop, const Numbering &numbering);
  void define_index(const ir::For &loop, const Numbering &numbering, const std::string &value);
  void define_quotient(const std::string &name, const std::string &number, const std::string &by);
  void indices_in_rows(std::span<const ir::For *const> nest, const Numbering &numbering, std::string place);
  void indices_in_strips(const ir::For &rows, const ir::For &columns, const Numbering &numbering,
                         const std::string &place);
  void nest_body(const std::vector<const ir::For *> &nest);

  // ElementCode
  std::string element(std::uint32_t array, std::span<const ir::Value> indices) override {
    return access_.element(array, indices, {}).lvalue;
  }

  // Whether each instance of the launch is a block.
  bool of_blocks() const { return options_.cuda.tile_threads != 0; }
  bool of_team() const { return kernel_.roles.teams != 0 && !emitting_producers_; }

  ThreadAccess access_;
  LaunchSums sums_;
  ElementLoops element_loops_;
  ThreadArrays arrays_;
  Rows rows_;
  WarpLoops warp_loops_;
  // Products of warp groups read tiles that threads have written to shared memory.
  bool shows_to_products_ = false;
  bool emitting_producers_ = false;
};

}  // namespace samite::codegen
