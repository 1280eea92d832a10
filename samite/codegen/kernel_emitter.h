// The walk over one lowered kernel that writes its text: internal to codegen.
//
// Inside a thread loop of a target with explicit lanes, a local is written by its shape (`passes/uniformity.h`):
// Uniform as a scalar, Linear as the scalar of its first lane, Varying as a vector. `mask_` names the lanes that are
// active where the emitter stands, and code is reached only if at least one of them is, except in a branch that is
// flattened (see `control_flow.cpp`).
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/emission.h"
#include "samite/codegen/target.h"
#include "samite/codegen/tile_calls.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/index_forms.h"
#include "samite/passes/uniformity.h"

#include <map>
#include <optional>
#include <set>
#include <span>

namespace samite::codegen {

class KernelEmitter : private ElementCode {
 public:
  KernelEmitter(const ir::Kernel &kernel, passes::Uniformity uniformity, const Target &target,
                const EmitOptions &options);

  EmittedSource emit(const std::string &entry);

 private:
  using Shape = passes::Shape;

  // values.cpp
  Shape shape(const ir::Value &value) const { return uniformity_.of(value); }
  bool varying(const ir::Value &value) const { return shape(value) == Shape::Varying; }
  std::string name(ir::LocalId local) const;
  bool shared_by_lanes(const ir::Value &value) const { return shape(value) == Shape::Uniform; }
  static std::string type(ScalarType type, Shape shape);
  std::string scalar(const ir::Value &value) const;  // of a Linear value: its first lane's
  std::string vector(const ir::Value &value) const;
  std::string mixed(const ir::Value &value) const;  // as an operand beside a vector
  std::string as(const ir::Value &value, Shape shape) const;
  bool used(ir::LocalId local) const { return emission_.used(local); }

  // operations.cpp
  void let(const ir::Let &let, SourceLocation where) override;
  std::string expression(const ir::Operation &operation, Shape result, SourceLocation where);
  std::string wrapping(const ir::Operation &operation) const;
  std::string cast(const ir::Operation &operation, Shape result) const;
  std::string division(const ir::Operation &operation, Shape result, SourceLocation where);

  // statements.cpp
  void block(const ir::Block &block) override;
  void statement(const ir::Stmt &stmt);
  void store(const ir::Store &store, SourceLocation where);
  void accumulate(const ir::Accumulate &accumulate, SourceLocation where);
  void thread_loop(const ir::For &loop);

  // launch_loops.cpp
  void launch_loop(const ir::For &loop);
  void add_sums_of_blocks();
  void launch_body(const ir::For &loop);
  void name_instance();

  // side_by_side.cpp: several instances of one thread at once, each with a copy of what differs between them.
  void several(const ir::Block &block);
  void several(const ir::Stmt &stmt);
  void several(const ir::If &branch);
  void several(const ir::For &loop);
  template <class Write>
  void for_each_copy(Write write) {
    if (!side_by_side_) return write();
    for (copy_ = 0; copy_ < copies_; ++copy_) write();
    copy_ = -1;
  }
  void each_copy(const ir::Stmt &stmt);
  void copy_definitions(const ir::Stmt &stmt);
  bool same_for_copies(const std::vector<ir::Value> &values) const;
  struct Row {
    std::string offset;    // of the row's element at the first instance's index
    std::int64_t from_it;  // how far from there the first instance's element is
    std::string key(std::uint32_t array, std::int64_t element) const;
  };
  std::optional<Row> row(std::uint32_t array, std::span<const ir::Value> indices) const;
  bool aligned(const Row &row) const { return row.from_it % copies_ == 0; }
  std::string from_pack(const ir::Operation &load);
  bool load_pack(const ir::Let &let);
  bool take_pack(const ir::Let &let);
  std::string pack(std::uint32_t array, const Row &row, std::int64_t element);
  bool store_pack(const ir::Stmt &stmt);
  bool constant(std::uint32_t array) const { return emission_.constant(array); }

  // messages.cpp
  void print(const ir::Print &print, SourceLocation where);
  void check(const ir::Check &check, SourceLocation where);
  void say(const ir::Message &message, const std::vector<ir::Value> &instance, MessageSite site);
  std::string of_lane(const ir::Value &value) const;  // of the lane that is called k

  // memory_access.cpp
  struct Access {
    Shape shape = Shape::Uniform;   // Uniform: one element; Linear: neighbours, one a lane; Varying: anywhere
    std::string element;            // Uniform: an lvalue
    std::string pointer, offsets;   // else: a pointer for the first lane; Varying: and each lane's distance from it
    std::string mask;               // the lanes that may touch memory
    std::string in_bounds;          // Uniform in debug mode: a bool
    std::string arguments() const;  // mask, pointer and offsets, for the prelude's functions
  };
  Access access(std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);
  std::string element(std::uint32_t array, std::span<const ir::Value> indices) override {
    return access(array, indices, {}).element;
  }
  std::string thread_offset(std::uint32_t array, std::span<const ir::Value> indices) const;
  std::string index(const ir::Value &value) const;
  void check_bounds(Access &access, std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);
  std::string load(const ir::Operation &operation, SourceLocation where);
  std::string exchange(const ir::Operation &operation, SourceLocation where);
  std::string atomic(const ir::Operation &operation, SourceLocation where);
  // Arguments that name a line in a failure, and the instance; `blame_all` of what all lanes do at once.
  std::string blame(SourceLocation where);
  std::string blame_all(SourceLocation where);

  // local_arrays.cpp
  struct LocalArray {
    ScalarType type;
    ir::Value size;
    bool in_lanes;  // its elements are vectors
    bool shared;    // by all threads of a block: its elements are those of an array
    bool of_strip;  // an element for each instance of a strip: its elements are vectors of neighbours
  };
  void open_workspace_scope(const ir::Block &block);
  void allocate(const ir::Allocate &allocate, SourceLocation where);
  std::string local_load(const ir::Operation &operation, SourceLocation where);
  void local_store(const ir::LocalStore &store, SourceLocation where);
  std::string local_mask(const ir::Value &index, const LocalArray &array, SourceLocation where);
  const LocalArray &local_array(ir::LocalArrayId array) const;
  Access shared_access(ir::LocalArrayId array, const ir::Value &index) const;

  // tile_block.cpp
  void launch_blocks(const ir::For &outermost);

  // A sum over a whole thread loop, or over a serial loop around thread loops, that is added to its element when that
  // is over.
  struct Sum {
    const ir::Accumulate *first;
    SourceLocation where;
    std::string name;
  };
  using Element = std::vector<std::uint64_t>;
  static Element element_of(const ir::Accumulate &accumulate);
  std::vector<Sum> sums_of(const ir::For &loop) const;
  const Sum *sum_for(const ir::Accumulate &accumulate) const;
  void declare_sums(std::vector<Sum> sums);
  void open_sum(Sum sum);
  void add_sums(std::size_t outer);  // of those that are open, all but the first `outer`, which stay

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
  bool warps_may_work_together() const;
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
  void loop(const ir::While &loop);
  void divergent_loop(const ir::For &loop);
  void divergent_loop(const ir::While &loop);
  void late_loop(const ir::For &loop);
  std::string continues(const ir::For &loop, Shape shape) const;
  // About how many instructions a block becomes. NVIDIA's compiler unrolls loops of any size, which takes its time.
  static std::size_t instructions(const ir::Block &block);
  static constexpr std::size_t largest_unrolled = 64;
  void keep_small(const ir::For &loop);
  void declare_carried(const std::vector<ir::Carried> &carried, bool divergent);
  void advance_carried(const std::vector<ir::Carried> &carried, bool divergent);
  void name_results(const std::vector<ir::Carried> &carried, bool divergent);
  bool worth_flattening(const ir::Block &block) const;
  std::string fresh(std::string_view prefix) { return emission_.fresh(prefix); }

  Emission emission_;
  const ir::Kernel &kernel_;
  const EmitOptions &options_;
  SourceWriter &out_;
  const TilePlaces places_;
  TileCalls tile_calls_;
  ElementLoops element_loops_;
  const passes::IndexForms index_forms_;
  passes::Uniformity uniformity_;
  const Target &target_;
  // Where every instance is a thread's own: what a local that is a sum, difference or product is of, by LocalId; and
  // whether it is only used to index.
  std::vector<const ir::Operation *> sum_of_;
  std::vector<bool> only_index_;
  passes::Uniformity of_warp_;                           // where a warp lies along the last dimension
  std::vector<std::optional<LocalArray>> local_arrays_;  // by LocalArrayId, once it is allocated
  std::vector<bool> only_added_to_;                      // by parameter
  const bool uses_workspace_;
  std::vector<Sum> sums_;
  std::map<Element, std::size_t> sum_of_element_;  // the place in sums_
  std::vector<Rows> rows_;                         // of the loops that are open
  std::size_t statements_in_thread_loops_ = 0;
  std::vector<WarpTile> tiles_;  // whose rows are named where the emitter stands
  std::size_t tile_bytes_ = 0;   // of a thread, in all tiles of the kernel
  std::string mask_;             // empty outside of lanes
  bool side_by_side_ = false;    // where the emitter stands, instances of one thread run side by side
  int copies_ = 1, copy_ = -1;   // how many, and which one is written; -1: none of them, or all
  std::vector<bool> copied_;     // by LocalId: whether each of them has its own
  ir::Value first_index_ = ir::Value::zero(ScalarType::Int64);  // of the innermost loop over the launch
  std::map<std::string, std::string> packs_;                    // by key: what has been loaded of constant arrays
  std::set<std::string> coming_packs_;                          // and what will be, in the block that is open
  int loops_around_lanes_ = 0;                                  // serial ones that are open
  int thread_loops_ = 0, launch_dimension_ = 0;
  std::vector<ir::Value> launch_indices_;  // of the loops over the launch that are open, outermost first

  bool in_lanes() const { return !mask_.empty(); }
  ArrayFacts facts(std::uint32_t array) const { return emission_.facts(array); }
};

}  // namespace samite::codegen
