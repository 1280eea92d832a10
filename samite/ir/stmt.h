// Statements: immutable nodes behind a shared handle.
//
// One statement language serves three forms of a kernel, each checked by the verifier (`ir/verify.h`):
//
//   captured    the output of the C++ front end. A local may be assigned after its definition (`Assign`), and a block
//               may be left from inside (`Labelled`, `Leave`).
//   structured  static single assignment with structured control flow. No `Assign`; a value that a branch or a loop
//               changes is its result (`If::results`, `For::carried`, `While::carried`). No jumps.
//   lowered     structured, with the launch and a block's threads written out: loops over both, tiles as memory of the
//               block, operations on whole tiles as calls (`TileCall`). No tiles.
//
// `passes/simplify/structure_jumps.h` and `passes/simplify/promote.h` turn the first form into the second,
// `passes/tiles/lower_tiles.h` and `passes/threads/lower_threads.h` the second into the third, which is emitted. The
// second form is differentiated. `autodiff/` writes its result in captured form and promotes it again, so that an
// adjoint can itself be differentiated.
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/element_plan.h"
#include "samite/ir/layout.h"
#include "samite/ir/memory_space.h"
#include "samite/ir/operation.h"

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace samite::ir {

class Stmt;
using Block = std::vector<Stmt>;

// %local: type = operation
struct Let {
  LocalId local;
  Operation value;
};

inline bool is_load_by_warp(const Operation &operation) {
  return operation.op == Op::Load && (operation.attribute & load_by_warp) != 0;
}

// assign %local = value   (captured form only)
struct Assign {
  LocalId local;
  Value value;
};

// store @array[indices] = value
// A tile is stored to the elements from `indices` on, along the last dimensions of the array, or, if some indices are
// tiles, each of its elements to its own index. Elements outside of the array are skipped, here and in `Accumulate`;
// loads of tiles read them as zero.
struct Store {
  std::uint32_t array;
  std::vector<Value> indices;
  Value value;
};

// accumulate @array[indices] += value: one atomic step (`atomic`), or a plain load, add and store if no other instance
// accesses the element. `of_gradient`, only in an adjoint block: adds to the gradient of the array, and does nothing if
// there is none. `over_launch`: all instances add to this element, and their sum is added at the end. `over_lanes`: in
// each iteration of the enclosing loop, all lanes of a vector or all threads of a warp add to one element, which may
// differ between iterations; they sum first   (both lowered form only)
struct Accumulate {
  std::uint32_t array;
  std::vector<Value> indices;
  Value value;
  bool atomic;
  bool of_gradient = false;
  bool over_launch = false;
  bool over_lanes = false;
};

// local $array: type[size]
// Memory for the rest of the enclosing block: `size` elements, an i32 or i64, uninitialised; none if the size is
// negative. If a local array is never loaded from, its stores are dead code.
//
// Outside of the thread loops of a kernel whose instances are threads, `local $array` is memory that all instances
// share: a thread loop accesses the same element in all of its instances, and they all store the same value. `local
// strip $array: f32[512]` has an element for each instance of a strip: a thread loop over it counts from 0, and each
// instance accesses the element at the loop's index. The size is a constant, and only thread loops access it   (lowered
// form only)
//
// local thread $array: f32[4]   (lowered kernels of blocks only)
// Private memory of each thread of a block, which lives across thread loops. Only thread loops access it; thread n runs
// iteration n.
//
// local shared $array: f16[4096] rows(64, 8, swizzled) stages 3 offset 1024   (lowered tile kernels only)
// Memory of a block, visible to all of its threads. Passes choose its space, its layout, its number of buffers for
// prefetches, and, when it is planned, its offset in the block's shared memory, in bytes. On a target whose blocks have
// threads the size is a constant, except in device memory and in kernels of schedules.
//
// local shared $array: f32[@size] units @begin offset 1024   (lowered kernels of schedules only)
// Memory of a size that is known only at launch: it begins this many units of 128 bytes after the offset. Both are
// parameters or constants, which the host computes.
//
// local shared $array: f16[4096] rows(64, 8, swizzled) buffer %3 of $2
// An alias: one of the buffers of another allocation.
struct Allocate {
  struct Buffer {
    LocalArrayId of;
    Value number;
  };

  LocalArrayId array;
  Type type;
  Value size;
  MemorySpace space = MemorySpace::instance;
  Layout layout = {};
  int stages = 1;
  std::optional<std::int64_t> offset = {};
  std::int64_t team_bytes = 0;  // from the memory of one team to that of the next; 0: shared (Roles::teams)
  std::optional<Buffer> buffer = {};
  std::optional<Value> units = {};

  static constexpr std::int64_t unit_bytes = 128;
  bool sized_at_launch() const { return space == MemorySpace::shared && !size.is_constant(); }
  bool of_block() const {
    return space == MemorySpace::registers || space == MemorySpace::shared || space == MemorySpace::device;
  }
  bool in_workspace() const { return space == MemorySpace::workspace || space == MemorySpace::device; }
};

// local_store $array[index] = value
struct LocalStore {
  LocalArrayId array;
  Value index;
  Value value;
};

// A tile in memory of a block, in that memory's layout. A scalar is a tile of one element.
struct TileMemory {
  LocalArrayId array = 0;
  Type type = ScalarType::Bool;
};

// tile_call reduce_add 0 $2: tile<f32, 8, 1> = $1: tile<f32, 8, 4>
// An operation that all threads of a block compute together, from memory to memory   (lowered tile kernels only)
//
// `tile_call matmul 0 $3: … = $1: …, $2: … by fragments(matrices, 64, 64, 2, 4)` adds a product to $3, and names the
// layout of the sums during the multiplication. `because "…"`: the reason that the product is not in a main loop.
struct TileCall {
  Op op;
  std::int32_t attribute;
  TileMemory result;
  std::vector<TileMemory> operands;
  // For a product: the layout of its sums during the multiplication. Empty: element by element.
  std::optional<FragmentLayout> sums = {};
  // For a product: the reason that no main loop computes it. Empty: none was found, or no pass has looked for one.
  std::string why_no_loop = {};
};

// tile_load $2: tile<f32, 8, 4> = @x[%1, %2]
// Loads a tile from an array. Into shared memory it is asynchronous: it starts copies, which arrive when a thread waits
// for them. `in_units`: each row of it begins at a multiple of 16 bytes in the array, in every launch. `= next $7`
// loads the next window of a stream   (lowered tile kernels only)
struct TileLoad {
  TileMemory result;
  std::uint32_t array = 0;
  std::vector<Value> indices = {};
  std::optional<LocalArrayId> stream = {};
  bool in_units = false;
};

// The threads that run a statement: all of a block, or those with one role (Roles::producers).
enum class ThreadRole : std::uint8_t { all, producers, consumers };

// A factor of a main loop: windows of an array, which copies load into a ring with a buffer for each stage. The first
// window begins at `indices`; successive ones are this many rows and columns apart.
struct Transfer {
  TileMemory ring;
  std::uint32_t array;
  std::vector<Value> indices;
  std::int64_t rows = 0, columns = 0;
  // Each block of a cluster loads one of this many equal parts of a window's rows, for all of them (multicast). 1: a
  // block loads its own windows.
  int parts = 1;
  bool in_units = false;  // as for a load; only if threads copy the windows
  std::string why_copy =
      {};  // the reason that `array` is a copy of the array that the kernel was given; empty: it is not
};

// main_loop 0 $3: tile<f32, 64, 64> += $1: … of @a[%1, 0] step 0, 64, $2: … of @b[0, %2] step 64, 0 for %5
//     barriers $4: tile<u64, 8> by fragments(group_matrices, 64, 64, 1, 1)
// A loop of products whose factors are windows of arrays: copies load them ahead, into rings, and the products are
// added to sums from before the loop. It is one statement, which has its own barriers   (lowered tile kernels only)
//
// With barriers, two for each stage, bulk copies load the windows, and warp groups multiply them. Without them, all
// threads copy the windows, between their products, and `because "…"` says why. Producers run `main_loop producers …`,
// which only copies, and consumers `main_loop consumers …`, which only multiplies. Without `for %5` it is a single
// product: the next one of the loop around it, whose rings outlive the iteration.
struct MainLoop {
  std::int32_t attribute;  // of the product
  TileMemory result;
  std::array<Transfer, 2> factors;
  FragmentLayout sums;
  std::optional<TileMemory> barriers = {};
  std::optional<Value> count = {};
  // Only the first this many terms of its sums count, beginning with those of the first product. Later elements of its
  // windows count as zeros, whatever their values.
  std::optional<Value> terms = {};
  ThreadRole role = ThreadRole::all;
  std::string why_by_threads = {};  // the reason that no bulk copies load the windows
  // If blocks share its steps (Grid::step_parts): the ring through whose memory they pass each other their sums.
  std::optional<LocalArrayId> sums_through = {};
  // If teams take turns: a team hands over in the last iterations of these loops, by their indices, the outermost
  // first.
  std::vector<LocalId> hands_over_in = {};

  bool by_bulk_copies() const { return barriers.has_value(); }
  bool is_step() const { return !count.has_value(); }
};

// window_product 0 $3: … += $1: …, $2: … of @b[%1, 0] barriers $4: … by fragments(…)
// A product, in an iteration of a loop, of a tile that the block has with a window that bulk copies load. $2 is the
// ring of the windows   (lowered tile kernels only)
//
// If several products of an iteration use one window, all but the first find it loaded (`has_window`), and all but the
// last keep it for the next (`keeps_window`). `runs_into $7`: the next statement is a product with this result, which
// starts before this one has ended. In a loop `in_turns`, a warp group waits for its turn before the product
// (`takes_turn`), and passes it to the next group afterwards (`gives_turn`).
struct WindowProduct {
  std::int32_t attribute;
  TileMemory result, first;
  Transfer second;
  TileMemory barriers;
  FragmentLayout sums;
  ThreadRole role = ThreadRole::all;
  bool has_window = false, keeps_window = false;
  bool takes_turn = false, gives_turn = false;
  std::optional<LocalArrayId> runs_into = {};
};

// stage_product 0 $3: … += $1: …, $2: … barriers $4: … by fragments(…)
// A product of windows that `bring_windows` has loaded: $1 and $2 are two of its rings. The current stage stays valid
// for other statements. `= $1: …, $2: …`: the product replaces its sums   (lowered tile kernels only)
struct StageProduct {
  std::int32_t attribute;
  TileMemory result;
  std::array<TileMemory, 2> factors;
  TileMemory barriers;
  FragmentLayout sums;
  bool sets = false;
};

// load_stream $7 inside %9: i32 to $2: tile<f32, 8, 4> = @x[%1, %2] step 0, 4
// Successive windows of an array, this many rows and columns apart, which loads into buffers of `to` take one after
// another: their common address computation runs once. %9 is the number of leading windows inside the array.
struct LoadStream {
  LocalArrayId stream;
  LocalId inside;
  TileMemory to;  // the memory of all buffers
  std::uint32_t array;
  std::vector<Value> indices;
  std::int64_t rows, columns;  // of a step
  bool in_units = false;       // as for a load
};

// bring_windows consumers $7: tile<u64, 8> to $8: tile<f16, 64, 64> of @a[%1, 0], $9: tile<f32, 64, 4> values of
//     @x[%1, 0]
// release_windows $7
//
// The windows that an iteration of a main loop reads: one for each ring, loaded together by bulk copies. Until the
// release, the name of a ring means its current stage. A ring holds a factor in panels, or values, row by row, which
// are only loaded by element. The first array has two barriers for each stage. Producers do not release.
struct BringWindows {
  struct Window {
    TileMemory ring;
    std::uint32_t array;
    std::vector<Value> indices;
    bool values = false;
    std::string why_copy = {};  // as for a Transfer
  };
  TileMemory barriers;
  std::vector<Window> windows;
  ThreadRole role = ThreadRole::all;
};
struct ReleaseWindows {
  LocalArrayId barriers;
};

// prefetch @x[%5, 0]: tile<f32, 1, 8192>
// Prefetches a window of an array into the level-2 cache, clipped to the array, in whole units of 16 bytes; each row
// begins with one. No code waits for it, and it affects only time   (lowered tile kernels only).
struct Prefetch {
  std::uint32_t array;
  Type type;
  std::vector<Value> indices;
};

// barrier             waits until all threads of the block have arrived   (lowered tile kernels only)
// barrier 256         the same for this many threads, if others have another role
// commit_copies       groups the copies that a thread has started since its last one
// wait_for_copies 1   waits until at most one of the thread's groups is in flight; copies that other threads have
//                     waited for are visible after a barrier
struct Barrier {
  int threads = 0;  // 0: all threads of the block
};
struct CommitCopies {};
struct WaitForCopies {
  int groups;
};

// load_pack %1: f32, %2: f32 = @x[%0]
// A wide load of neighbours in the last dimension of an array, from the indexed element on   (lowered kernels only).
// All are inside the array and contiguous, and aligned to their size, at most 16 bytes. `constant`: the array is
// constant while the kernel runs. `row`: the same, and the rest of the row is loaded soon, so that memory may fetch 256
// bytes of it at once. `take`: an exchange, which leaves zeros; no other instance accesses these elements.
struct LoadPack {
  enum class How : std::uint8_t { plain, constant, row, take };

  std::vector<LocalId> locals;  // 2, 4 or 8
  Type type;                    // of each
  std::uint32_t array;
  std::vector<Value> indices;
  How how = How::plain;
};

// store_pack @y[%0] = %1, %2
// accumulate_pack @y[%0] += %1, %2
// The same for a store, and for additions: plain ones, or one atomic step for each element. `streaming`: the stored
// elements are not read soon.
struct StorePack {
  enum class How : std::uint8_t { store, streaming, add, atomic_add };

  std::uint32_t array;
  std::vector<Value> indices, values;
  How how = How::store;

  bool adds() const { return how == How::add || how == How::atomic_add; }
};

struct BranchResult {
  LocalId local;
  Type type;
  Value then_value, else_value;
};

// The text of an instance's message: texts with values between them, one text more than values.
struct Message {
  std::vector<std::string> texts{""};
  std::vector<Value> values;

  friend bool operator==(const Message &, const Message &) = default;
};

// print "x = ", %3
// Writes a line, in the order of the instances within one vector, unordered otherwise.
struct Print {
  Message message;
};

// check %2, "x is ", %3
// If the condition is false, the launch runs to its end and then fails with the message of the first instance in the
// order of indices. `instance` is empty until the threads are lowered; from then on it holds the index of the instance,
// a value for each dimension of the launch.
struct Check {
  Value condition;
  Message message;
  std::vector<Value> instance;
  bool race = false;  // debug mode's own, for instances that race: see passes/threads/check_races.h
};

struct If {
  Value condition;
  Block then_block, else_block;
  std::vector<BranchResult> results;
};

// A value that a loop carries from one iteration to the next. `inner` is its name inside the loop; it starts as
// `initial` and becomes `next` at the end of each iteration. After the loop `result` is its last value.
struct Carried {
  LocalId inner, result;
  Type type;
  Value initial, next;
};

enum class LoopKind : std::uint8_t {
  Serial,  // one after another, in order
  Block,   // independent: any order, concurrently
  Thread,  // independent, innermost: CUDA threads, or the lanes of the CPU's vectors
};

// A product that each iteration of a main loop computes, as the kernel declares it: `$3 += $1 window, $2 window`. A
// factor is a tile that the block has, or a window that the iteration loads: the tile of a `TileLoad` in its body, or a
// masked copy of it, where only the first `terms` terms of the sums count and others are zeros (`$9 window $1 terms
// %5`). `shared`: something besides the loop's products, at this place, uses the window too. `from_zero`, `$3 = $1
// window, $2 window`: each iteration computes the sums anew, and begins with zeros.
struct LoopProduct {
  struct Factor {
    LocalArrayId tile;
    std::optional<LocalArrayId> window = {};
    std::optional<Value> terms = {};
    bool shared = false;

    friend bool operator==(const Factor &, const Factor &) = default;
  };

  LocalArrayId result;
  std::array<Factor, 2> factors;
  bool from_zero = false;

  friend bool operator==(const LoopProduct &, const LoopProduct &) = default;
};

// products [and_more] ($3 += $1 window, $2 window and …): makes the loop a main loop. lower_tiles declares it for GPUs,
// in the order of the products' statements. A loop whose products become `WindowProduct`s keeps it, with rings as the
// windows; any other realisation removes it. `and_more`: an iteration does more than load two windows and add their
// product to sums from before the loop.
struct LoopProducts {
  std::vector<LoopProduct> declared = {};
  bool and_more = false;
  // Warp groups alternate at the products, ping-pong (passes/sm90/take_turns.h): each enters and leaves the loop with
  // its turn.
  bool in_turns = false;
};

// How the threads of a GPU run a loop.
struct LoopThreads {
  int instances = 1;  // instances of a thread that run it together: its body has a copy for each
  // The threads of a warp run it together if all of them run it: they sum (`Accumulate::over_lanes`) and load
  // (`load_by_warp`) for this many iterations at once. 0: each thread runs it on its own.
  int by_warp = 0;
  int march = 1;  // of a loop over the launch: a thread runs this many of its iterations one after another
};

// for %index in begin .. end step s [rolled] [instances n] [by_warp n] [march n] [stages n [ahead k]] [jam m]
// [products …] [in_turns] [elements …]: counts up if step > 0, down if step < 0. A thread loop of a kernel whose
// instances are threads may have a step of more than one: its body then runs this many neighbours, or fewer at the end.
// A neighbour's index, the loop's index plus a constant below the step, is computed only if it is inside the loop's
// bounds.
struct For {
  LocalId index;
  Type type;  // of index, begin, end and step
  Value begin, end, step;
  Block body;
  std::vector<Carried> carried;
  LoopKind kind = LoopKind::Serial;
  // Only in tile kernels: the number of stages of its prefetched loads. When a pass has chosen these, the first `ahead`
  // statements of the body are prefetched.
  int stages = 1;
  std::size_t ahead = 0;
  // Thread loops: this many vectors of instances run the body together, statement by statement (unroll and jam).
  // The body is straight-line code, and branches without results that are harmless if no instance takes them.
  int jam = 1;
  bool rolled = false;  // is not unrolled: it rarely runs, or is large
  LoopThreads threads = {};
  LoopProducts products = {};
  ElementPlan elements = {};  // of a loop over elements, on a GPU
};

// Runs `condition_block`, leaves if `condition` is false (the results are then the `inner` values), else runs `body`.
// Definitions of the condition block are in scope in the body.
struct While {
  Block condition_block;
  Value condition;
  Block body;
  std::vector<Carried> carried;
};

// Runs `body`, which a `Leave` of this label ends immediately   (captured form only)
//
// One kind of jump suffices: `break` leaves a label around the loop, `continue` one around its body, `return` one
// around the function. A label crosses neither an unordered loop nor a statement whose blocks have results: see
// `ir/verify.h`.
struct Labelled {
  LabelId label;
  Block body;
};

// Jumps to the end of the enclosing `Labelled` that has this label   (captured form only)
struct Leave {
  LabelId label;
};

// A result of a `CustomAdjoint`.
struct CustomResult {
  LocalId local;  // in scope after the statement, and in its adjoint block
  Type type;
  Value value;        // of the primal block
  Value replayed;     // of the replay block; `value` if there is none
  LocalId cotangent;  // its name in the adjoint block
};
// An operand of a `CustomAdjoint` that may carry a gradient, and the adjoint block's contribution to it.
struct CustomOperand {
  LocalId inner;  // its name inside the blocks
  Value operand;
  Value gradient;  // computed by the adjoint block
};

// A computation with a derivative from the user. It runs `primal`; differentiation uses `adjoint`, whose scope is that
// of the statement, its results, and a cotangent for each of them. The blocks use the operands under other names, which
// distinguishes operands from captured outer values. When the adjoint needs the results again, it runs `replay` instead
// of `primal` if `replays`. The blocks neither assign outer locals nor leave the statement.
struct CustomAdjoint {
  std::vector<CustomResult> results;
  Block primal, replay, adjoint;
  bool replays = false;
  std::vector<CustomOperand> operands;
};

// An input of an `AdjointCall`: `inner` is its name in the block, `gradient` the adjoint's result for it.
struct AdjointInput {
  LocalId inner, gradient;
  Type type;
  Value value;
};
struct AdjointSeed {
  Value output;  // computed by the block
  Value cotangent;
};

// The adjoint of a block, in place: the gradients of its inputs for the cotangents of its outputs. The block's own
// effects are discarded   (captured form only)
struct AdjointCall {
  std::vector<AdjointInput> inputs;
  Block primal;
  std::vector<AdjointSeed> seeds;
};

using StmtKind = std::variant<Let, Assign, Store, Accumulate, Allocate, LocalStore, TileCall, TileLoad, MainLoop,
                              WindowProduct, StageProduct, LoadStream, BringWindows, ReleaseWindows, Prefetch, LoadPack,
                              StorePack, Barrier, CommitCopies, WaitForCopies, Print, Check, If, For, While, Labelled,
                              Leave, CustomAdjoint, AdjointCall>;

// The products whose factors copies load ahead.
template <class Kind>
concept ProductOfWindows =
    std::same_as<Kind, MainLoop> || std::same_as<Kind, WindowProduct> || std::same_as<Kind, StageProduct>;

// The statements of the lowered form only.
template <class Kind>
concept LoweredOnly =
    std::same_as<Kind, TileCall> || std::same_as<Kind, TileLoad> || std::same_as<Kind, MainLoop> ||
    std::same_as<Kind, WindowProduct> || std::same_as<Kind, StageProduct> || std::same_as<Kind, LoadStream> ||
    std::same_as<Kind, BringWindows> || std::same_as<Kind, ReleaseWindows> || std::same_as<Kind, Prefetch> ||
    std::same_as<Kind, LoadPack> || std::same_as<Kind, StorePack> || std::same_as<Kind, Barrier> ||
    std::same_as<Kind, CommitCopies> || std::same_as<Kind, WaitForCopies>;

// The statements of the captured form only.
template <class Kind>
concept CapturedOnly = std::same_as<Kind, Assign> || std::same_as<Kind, Labelled> || std::same_as<Kind, Leave> ||
                       std::same_as<Kind, AdjointCall>;

class Stmt {
 public:
  // `Kind` is an alternative of StmtKind. Only stmt.cpp instantiates the constructor: every source that makes
  // statements would take a second longer to compile. It is unconstrained, so that all compilers link it by the same
  // name.
  template <class Kind>
  Stmt(Kind kind, SourceLocation where);

  const StmtKind &kind() const { return node_->kind; }
  SourceLocation where() const { return node_->where; }

  // The statement as a `Kind`, or null.
  template <class Kind>
  const Kind *as() const {
    return std::get_if<Kind>(&node_->kind);
  }

 private:
  struct Node {
    StmtKind kind;
    SourceLocation where;
  };
  std::shared_ptr<const Node> node_;
};

}  // namespace samite::ir
