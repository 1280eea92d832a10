// The walk over one lowered kernel that writes its text: internal to codegen.
//
// Inside a thread loop of a target with explicit lanes, a local is written by its shape (`passes/uniformity.h`):
// Uniform as a scalar, Linear as the scalar of its first lane, Varying as a vector. `mask_` names the lanes that are
// active where the emitter stands, and code is reached only if at least one of them is, except in a branch that is
// flattened (see `control_flow.cpp`).
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/source_writer.h"
#include "samite/codegen/target.h"
#include "samite/codegen/tiles.h"
#include "samite/passes/index_forms.h"
#include "samite/passes/uniformity.h"

#include <map>
#include <optional>
#include <set>
#include <span>

namespace samite::codegen {

class KernelEmitter {
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
  bool used(ir::LocalId local) const { return used_[local]; }

  // operations.cpp
  void let(const ir::Let &let, SourceLocation where);
  std::string expression(const ir::Operation &operation, Shape result, SourceLocation where);
  std::string wrapping(const ir::Operation &operation) const;
  std::string cast(const ir::Operation &operation, Shape result) const;
  std::string division(const ir::Operation &operation, Shape result, SourceLocation where);

  // statements.cpp
  void block(const ir::Block &block);
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
  bool constant(std::uint32_t array) const { return !written_[array] && facts(array).unaliased; }

  // messages.cpp
  void print(const ir::Print &print, SourceLocation where);
  void check(const ir::Check &check, SourceLocation where);
  void say(const ir::Message &message, const std::vector<ir::Value> &instance, bool is_check, SourceLocation where);
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
  };
  void open_workspace_scope(const ir::Block &block);
  void allocate(const ir::Allocate &allocate, SourceLocation where);
  std::string local_load(const ir::Operation &operation, SourceLocation where);
  void local_store(const ir::LocalStore &store, SourceLocation where);
  std::string local_mask(const ir::Value &index, const LocalArray &array, SourceLocation where);
  const LocalArray &local_array(ir::LocalArrayId array) const;
  Access shared_access(ir::LocalArrayId array, const ir::Value &index) const;

  // tile_calls.cpp
  void tile_call(const ir::TileCall &call, SourceLocation where);

  // tile_objects.cpp
  std::string tile_object(const ir::TileCall &call, std::string_view function);
  std::string parameters_of_object(const ir::TileCall &call) const;
  std::string declarations_of_objects() const;

  // tile_block.cpp
  void loop_of_block(const ir::For &loop);
  void launch_blocks(const ir::For &outermost);

  // tile_registers.cpp: tiles in registers and in rows.
  void allocate_tile(const ir::Allocate &allocate);
  std::string tile_element(ir::LocalArrayId array, const std::string &index) const;
  static std::string fragments_type(const ir::FragmentLayout &fragments);
  // The layout of an array, where it is of that kind; else null.
  const ir::FragmentLayout *fragments_of(ir::LocalArrayId array) const {
    return allocations_[array] ? std::get_if<ir::FragmentLayout>(&allocations_[array]->layout) : nullptr;
  }
  const ir::RowLayout *row_layout_of(ir::LocalArrayId array) const {
    return allocations_[array] ? std::get_if<ir::RowLayout>(&allocations_[array]->layout) : nullptr;
  }
  std::string rows_type(const ir::TileMemory &memory) const;
  std::set<ir::LocalArrayId> tiles_in_registers(const ir::For &loop) const;
  void elements_of_thread(const ir::For &loop, ir::LocalArrayId tile);
  void index_of_element(const ir::For &loop, ir::LocalArrayId tile);
  std::string fragment_coordinate(const ir::Operation &operation) const;  // empty: it is none
  std::string array_name(ir::LocalArrayId array) const {
    return copy_ < 0 ? fmt::format("a{}", array) : fmt::format("a{}_{}", array, copy_);
  }

  // tile_loads.cpp
  void tile_load(const ir::TileCall &call, SourceLocation where);
  void load_stream(const ir::LoadStream &stream, SourceLocation where);
  std::string tile_window(const ir::Type &type, std::uint32_t array, const std::vector<ir::Value> &indices);
  std::string load_arguments(const ir::TileMemory &to, bool in_units) const;
  void note_load(const ir::Type &type, std::uint32_t array, SourceLocation where);

  // tile_spread.cpp: loops over tiles in registers, where each thread has several elements of a row.
  void loop_of_pieces(const ir::For &loop, const std::set<ir::LocalArrayId> &tiles);
  void find_together(const ir::For &loop, const ir::FragmentLayout &layout);
  void ask_corners(const ir::For &loop, const ir::FragmentLayout &layout, const std::string &whole);
  struct Accesses {
    std::string name;                       // C++ name
    std::optional<std::string> row_stride;  // in elements, where a thread's are at constant distances along rows
  };
  std::string place_of(const Accesses &own, const std::string &element) const;
  void find_first_of_thread(const ir::For &loop, ir::LocalArrayId tile);
  struct Together {
    std::vector<std::pair<const ir::Operation *, Accesses>> loads;
    std::vector<std::pair<const ir::Store *, Accesses>> stores;
    std::set<ir::LocalId> bounds;          // what the loop's branches ask, where that is about places in arrays
    std::vector<const ir::Stmt *> places;  // what these, and the indices, are computed by
    bool rotates = false;                  // where the loop asks for bounds, its element is at the registers' front
  };

  // A sum over a whole thread loop, or over the vectors of a tile, that is added to its element when that is over.
  struct Sum {
    const ir::Accumulate *first;
    SourceLocation where;
    std::string name;
  };
  using Element = std::vector<std::uint64_t>;
  static Element element_of(const ir::Accumulate &accumulate);
  std::vector<Sum> sums_of(const ir::Block &block, const std::set<ir::LocalId> &inside) const;
  const Sum *sum_for(const ir::Accumulate &accumulate) const;
  void declare_sums(std::vector<Sum> sums);
  void open_sum(Sum sum);
  void add_sums(std::size_t outer);  // of those that are open, all but the first `outer`, which stay

  // tiled_loop.cpp
  struct Tile {
    struct Guard {
      ir::LocalId condition;
      bool holds;
    };
    const TilePlan *plan;
    ir::LocalId index;                             // of the thread loop
    std::string type, first, end, vectors, whole;  // C++ names: of the index, its first value and the loop's end; how
                                                   // many vectors; whether all their lanes are inside the loop
    std::vector<Guard> guards;                     // of the divergent branches that are open
    std::set<ir::LocalId> copied;                  // the locals that each of the vectors side by side has
    int loops = 0, group = 1, copy = -1;           // loops that are open; most vectors side by side; which of them
  };
  void tiled_loop(const ir::For &loop, const TilePlan &plan, const ThreadLoop &text);
  void tile_steps(const std::vector<TileStep> &steps);
  void opened_loop(const ir::For &loop, const TileStep &step);
  void opened_branch(const ir::If &branch, const TileStep &step);
  void tile_run(const TileStep &step);
  ir::Block without_shared(const ir::Block &block);
  std::string tile_mask(const std::string &k) const;
  bool any_strided(const std::vector<TileStep> &steps, bool in_loop) const;
  bool harmless_without_lanes(const ir::Block &block) const;
  int vectors_side_by_side(const ir::Block &block) const;

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
  std::string fresh(std::string_view prefix) { return fmt::format("{}{}", prefix, ++fresh_); }

  const ir::Kernel &kernel_;
  const passes::IndexForms index_forms_;
  passes::Uniformity uniformity_;
  const Target &target_;
  const EmitOptions &options_;
  SourceWriter out_;
  std::vector<bool> used_;  // by LocalId: whether anything reads it
  // Where every instance is a thread's own: what a local that is a sum, difference or product is of, by LocalId; and
  // whether it is only used to index. By parameter: whether the kernel writes to it, and whether it loads from it.
  std::vector<const ir::Operation *> sum_of_;
  std::vector<bool> only_index_, written_, read_;
  passes::Uniformity of_warp_;                           // where a warp lies along the last dimension
  std::vector<std::optional<LocalArray>> local_arrays_;  // by LocalArrayId, once it is allocated
  std::vector<std::string> files_;
  std::vector<SourceLocation> sites_;
  std::vector<MessageSite> messages_;
  std::vector<bool> only_added_to_;  // by parameter
  const bool uses_workspace_;
  std::vector<Sum> sums_;
  std::map<Element, std::size_t> sum_of_element_;  // the place in sums_
  std::vector<Rows> rows_;                         // of the loops that are open
  std::vector<WarpTile> tiles_;                    // whose rows are named where the emitter stands
  std::size_t tile_bytes_ = 0;                     // of a thread, in all tiles of the kernel
  std::optional<Tile> tile_;
  std::string mask_;            // empty outside of lanes
  bool side_by_side_ = false;   // where the emitter stands, instances of one thread run side by side
  int copies_ = 1, copy_ = -1;  // how many, and which one is written; -1: none of them, or all
  std::vector<bool> copied_;    // by LocalId: whether each of them has its own
  ir::Value first_index_ = ir::Value::zero(ScalarType::Int64);  // of the innermost loop over the launch
  std::map<std::string, std::string> packs_;                    // by key: what has been loaded of constant arrays
  std::set<std::string> coming_packs_;                          // and what will be, in the block that is open
  int fresh_ = 0, thread_loops_ = 0, launch_dimension_ = 0;
  std::vector<const ir::Allocate *> allocations_;  // by LocalArrayId
  std::vector<TileLoadSite> tile_loads_;
  std::vector<EmittedObject> objects_;
  std::string object_declarations_;
  struct FragmentLoop {
    ir::LocalId index;
    ir::LocalArrayId sums;
    std::int64_t columns;
  };
  std::optional<FragmentLoop> fragment_loop_;
  Together together_;                      // of the loop that is open
  bool in_thread_loop_ = false;            // of a tile kernel without explicit lanes
  std::vector<ir::Value> launch_indices_;  // of the loops over the launch that are open, outermost first

  bool in_lanes() const { return !mask_.empty(); }
  ArrayFacts facts(std::uint32_t array) const { return passes::facts_of(options_.arrays, array); }
};

}  // namespace samite::codegen
