// Statements: immutable nodes behind a shared handle.
//
// One statement language serves three forms of a kernel, each checked by the verifier (`ir/verify.h`):
//
//   captured    what the C++ front writes down. A local may be assigned after its definition (`Assign`), and a block
//               may be left from inside (`Labelled`, `Leave`).
//   structured  static single assignment with structured control flow. No `Assign`; a value that a branch or a loop
//               changes leaves it as a result (`If::results`, `For::carried`, `While::carried`). No jumps.
//   lowered     structured, and what the launch and a block's threads do is written out: loops over both, tiles as
//               memory of the block, operations on whole tiles as calls (`TileCall`). No tiles.
//
// `passes/structure_jumps.h` and `passes/promote.h` take the first to the second, `passes/lower_tiles.h` and
// `passes/lower_threads.h` that to the third, which is emitted. Derivatives are of the second.
// `autodiff/` writes its result in captured form and promotes it again, so that an adjoint can itself be
// differentiated.
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/layout.h"
#include "samite/ir/op.h"
#include "samite/ir/value.h"

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace samite::ir {

class Stmt;
using Block = std::vector<Stmt>;

// What a `Let` computes: an operation on atoms. `array` is the parameter or local array that a memory operation
// touches, `attribute` a dimension, as `Typing` says.
struct Operation {
  Op op;
  Type type;
  std::vector<Value> operands;
  std::uint32_t array = 0;
  std::int32_t attribute = 0;

  friend bool operator==(const Operation &, const Operation &) = default;
};

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
// A tile is stored to the elements from `indices` on, along the last dimensions of the array, or, where some of the
// indices are tiles, each of its elements to an element of its own. What lies outside of the array is left out, here
// and in `Accumulate`; where a tile is loaded, it is zero.
struct Store {
  std::uint32_t array;
  std::vector<Value> indices;
  Value value;
};

// accumulate @array[indices] += value, as one step where other instances may do the same (`atomic`), or as a plain
// load, add and store where the indices are provably one-to-one. `of_gradient` says that the gradient of the array is
// meant, in an adjoint block alone: it is nothing where the array has none. `over_launch`: all instances add to this
// element, and their sum is added at the end. `over_lanes`: in each iteration of the loop that it stands in, all lanes
// of a vector or all threads of a warp add to one element, to another one in each; these are summed first   (both
// lowered form only)
struct Accumulate {
  std::uint32_t array;
  std::vector<Value> indices;
  Value value;
  bool atomic;
  bool of_gradient = false;
  bool over_launch = false;
  bool over_lanes = false;
};

enum class MemorySpace : std::uint8_t {
  instance,   // one instance's own: `local $array`
  workspace,  // the same, in device memory: of any size
  strip,      // of a strip of instances, an element for each of them
  thread,     // of each thread of a block, outside of its thread loops: it outlives them
  registers,  // of a block, each element in the registers of one of its threads
  shared,     // of a block
  device,     // of a block, in device memory: tiles that a loop keeps for its adjoint
};

// local $array: type[size]
// Memory for the rest of the block that this is in: `size` elements, an i32 or i64, with no particular values at first;
// none where the size is negative. Where nothing loads from a local array, its stores are dead code.
//
// Outside of the thread loops of a kernel whose instances are threads, `local $array` is memory that all instances
// share: a thread loop touches an element that is the same one for all of its instances, and they all store the same
// value there. `local strip $array: f32[512]` has an element for each instance of a strip: a thread loop over it counts
// from 0, and touches the element at its index, each instance its own. The size is a constant, and no element is
// touched outside of a thread loop   (lowered form only)
//
// local thread $array: f32[4]   (lowered kernels of blocks only)
// Memory of each thread of a block, which it keeps from one thread loop to the next. It is touched in thread loops
// alone, whose iteration number n is thread n's.
//
// local shared $array: f16[4096] rows(64, 8, swizzled) stages 3 offset 1024   (lowered tile kernels only)
// Memory of a block, which all of its threads see. Passes say in which space it is, in what layout, how many buffers it
// has for loads ahead, and, once it is planned, where in the block's shared memory it begins, in bytes. On a target
// whose blocks have threads the size is a constant, except in device memory and in kernels of schedules.
//
// local shared $array: f32[@size] units @begin offset 1024   (lowered kernels of schedules only)
// Of a size that is known at launch only: it begins so many units of 128 bytes behind the offset. Both are parameters
// or constants, which the host computes.
//
// local shared $array: f16[4096] rows(64, 8, swizzled) buffer %3 of $2
// No memory of its own, but that one of the buffers of another.
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
  std::int64_t team_bytes = 0;  // from the memory of one team to that of the next; 0: they share it (Kernel::teams)
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

// A tile in memory of a block, in the layout of that. A scalar is a tile of one element.
struct TileMemory {
  LocalArrayId array;
  Type type;
};

// Windows of an array that a loop goes through: the first one, and how many rows and columns lie from one to the next.
struct LoopWindows {
  std::uint32_t array;
  std::vector<Value> indices;
  std::int64_t rows, columns;
  // Each block of a cluster brings one of so many equal parts of a window's rows to all of them. 1: a block has windows
  // of its own.
  int parts = 1;
  bool in_units = false;  // each row of each window begins at a multiple of 16 bytes in the array, in every launch
};

// tile_call reduce_add $2: tile<f32, 8, 1> = $1: tile<f32, 8, 4>
// An operation that all threads of a block compute together, from memory to memory   (lowered tile kernels only)
// `tile_call load 0 $2: tile<f32, 8, 4> = @x[%1, %2]`, without operands, is what a load of an array gives. Into shared
// memory it is asynchronous: it starts copies, which arrive when a thread waits for them. `in_units`: each row of it
// begins at a multiple of 16 bytes in the array. `= next $7` loads the next window of a stream.
// `tile_call matmul 0 $3: … = $1: …, $2: … by fragments(matrices, 64, 64, 2, 4)` says how the threads multiply.
// `tile_call matmul 0 $3: … = $1: …, $2: …, $4: tile<u64, 8> loop %5 of @a[%1, 0] step 0, 64, @b[0, %2] step 64, 0 by
// …` is a whole loop of %5 products, in which bulk copies bring the factors. $1 and $2 have a buffer for each stage of
// it, $4 two barriers for each. `loop copies %5 of` and `loop products %5 of` are the parts of threads that have roles.
// With the windows of one array alone these are of $2, and the threads multiply them with what is in $1. Without $4 the
// threads copy the windows, each its part, step by step, between their products (`step 0, 64 in_units` as of a load).
struct TileCall {
  Op op;
  std::int32_t attribute;
  TileMemory result;
  std::vector<TileMemory> operands;
  std::uint32_t array = 0;
  std::vector<Value> indices = {};
  std::optional<LocalArrayId> stream = {};
  bool in_units = false;
  // Of a product: the layout in which the threads have its sums while they multiply. Nothing: element by element.
  std::optional<FragmentLayout> sums = {};
  // Of a loop of products: what its factors are, and how many there are of each. Bulk copies bring them, and the third
  // operand has their barriers; or threads copy them, each its part, and there is none.
  std::vector<LoopWindows> windows = {};
  std::optional<Value> count = {};
  // Of a whole such loop: how many terms of its sums count, where those of the first step are the first ones. What its
  // windows have at others counts as zeros, whatever it is.
  std::optional<Value> terms = {};
  // Of such a loop where threads have roles: that of those who call it.
  enum class Part : std::uint8_t { whole, copies, products } part = Part::whole;
  // Of the products of a group of warps: it waits for its turn before, and gives it to the next group after
  // (`in_turns`).
  bool takes_turn = false, gives_turn = false;
  // Where several products of an iteration are of one window: all but the first find it (`has_window`), and all but the
  // last leave it for the next (`keeps_window`).
  bool has_window = false, keeps_window = false;
  // Its windows are in the present stage of what bring_windows has brought, which stays there for others.
  bool in_stage = false;
  // Its sums are the product, and not added to what they were.
  bool sets = false;
  // The next statement is a product with this result, which begins before this one has ended.
  std::optional<LocalArrayId> runs_into = {};

  bool is_product_loop() const { return !windows.empty() && operands.size() > 2; }
  bool multiplies_ahead() const { return !windows.empty() && operands.size() == 2; }
  // Whether bulk copies bring the second factor alone, and which operand is the first that they bring.
  bool has_first_factor() const { return windows.size() == 1; }
  std::size_t first_brought() const { return has_first_factor() ? 1 : 0; }
  // Whether an operand is memory for what copies bring, or their barriers, and not what the threads have.
  bool brings(std::size_t operand) const { return is_product_loop() && operand >= first_brought(); }
  // Whether it may be one of several of an iteration.
  bool is_step() const { return has_first_factor() || in_stage; }
};

// load_stream $7 inside %9: i32 to $2: tile<f32, 8, 4> = @x[%1, %2] step 0, 4
// Windows of an array, each so many rows and columns from the one before it, which loads into buffers of `to` take one
// after another: what they need is found once. %9 is how many of the first ones are inside of the array.
struct LoadStream {
  LocalArrayId stream;
  LocalId inside;
  TileMemory to;  // the memory of all buffers
  std::uint32_t array;
  std::vector<Value> indices;
  std::int64_t rows, columns;  // of a step
  bool in_units = false;       // as of a load
};

// bring_windows products $7: tile<u64, 8> to $8: tile<f16, 64, 64> of @a[%1, 0], $9: tile<f32, 64, 4> values of
//     @x[%1, 0]
// release_windows $7
//
// What an iteration of a loop of products reads of arrays: a window for each ring, which bulk copies bring together.
// From here on until the release, each ring is the stage that they came to. A ring holds a factor in panels, or values,
// row by row, which nothing but loads of their elements may read. The first array has two barriers for each stage. The
// part is that of the threads that say so, as of a loop of products; those who copy do not release.
struct BringWindows {
  struct Window {
    TileMemory ring;
    std::uint32_t array;
    std::vector<Value> indices;
    bool values = false;
  };
  TileMemory barriers;
  std::vector<Window> windows;
  TileCall::Part part = TileCall::Part::whole;
};
struct ReleaseWindows {
  LocalArrayId barriers;
};

// prefetch @x[%5, 0]: tile<f32, 1, 8192>
// Asks level 2 of the cache to bring a window of an array, as far as it is inside, in whole units of 16 bytes, with one
// of which each row begins. Nothing waits for it, and nothing but time depends on it   (lowered tile kernels only).
struct Prefetch {
  std::uint32_t array;
  Type type;
  std::vector<Value> indices;
};

// barrier             no thread of the block goes on before all have come here   (lowered tile kernels only)
// barrier 256         the same of so many, where others have another role
// commit_copies       the copies that a thread has started since its last one are a group
// wait_for_copies 1   a thread goes on when at most so many of its own groups have not arrived; the others' it sees
//                     after a barrier
struct Barrier {
  int threads = 0;  // 0: all of the block
};
struct CommitCopies {};
struct WaitForCopies {
  int groups;
};

// load_pack %1: f32, %2: f32 = @x[%0]
// Neighbours in the last dimension of an array, from the element that the indices name on, as one access   (lowered
// kernels only). All are inside of the array and next to each other in memory, and the first begins at a multiple of
// what they take, or of 16 bytes. `constant`: nothing writes to the array while the kernel runs. `row`: the same, and
// what follows in the row is soon loaded as well, so that memory may send 256 bytes of it at once. `take`: leaves zeros
// where it loads, as an exchange of elements that no other instance touches.
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
// The same for a store, and for additions: plain ones, or one atomic step for each element. `streaming`: nothing will
// soon read what is stored.
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

// What an instance has to say: texts with values between them, one text more than values.
struct Message {
  std::vector<std::string> texts{""};
  std::vector<Value> values;

  friend bool operator==(const Message &, const Message &) = default;
};

// print "x = ", %3
// A line, in the order of the instances within one vector, in no order otherwise.
struct Print {
  Message message;
};

// check %2, "x is ", %3
// Where the condition is false the launch goes on, and fails when it has ended, with the message of the first instance
// in the order of indices. `instance` is empty until the threads are lowered; from then on it holds the index of the
// instance, a value for each dimension of the launch.
struct Check {
  Value condition;
  Message message;
  std::vector<Value> instance;
  bool race = false;  // debug mode's own, of instances that meet at an element: see passes/check_races.h
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
  Serial,  // one after another, as written
  Block,   // independent: any order, any number at once
  Thread,  // independent, innermost: CUDA threads, or the lanes of the CPU's vectors
};

// for %index in begin .. end step s [rolled] [instances n] [by_warp n] [march n] [stages n [ahead k]] [jam m]
// [in_turns]: counts up where step > 0, down where step < 0. A thread loop of a kernel whose instances are threads may
// have a step of more than one: its body then runs so many neighbours, or fewer at the end. The index of a neighbour,
// which is a sum of the loop's index and a constant below the step, is computed only where that is inside of the loop's
// bounds.
struct For {
  LocalId index;
  Type type;  // of index, begin, end and step
  Value begin, end, step;
  Block body;
  std::vector<Carried> carried;
  LoopKind kind = LoopKind::Serial;
  // Of a tile kernel: what an iteration loads may be loaded while others before it run, for so many at a time. Where a
  // pass has found what: the first `ahead` statements of the body are what is done ahead.
  int stages = 1;
  std::size_t ahead = 0;
  // Of a thread loop: so many vectors of instances go through the body side by side, statement by statement (unroll and
  // jam). The body is straight-line code, and branches without results that may run where no instance takes them.
  int jam = 1;
  bool rolled = false;  // its iterations shall not be written out: it rarely runs, or is large
  int instances = 1;    // of a thread that go through it together: its body has copies for each
  // The threads of a warp go through it together where all of them do: they sum (`Accumulate::over_lanes`) and load
  // (`load_by_warp`) what so many iterations need at once. 0: each thread by itself.
  int by_warp = 0;
  int march = 1;  // of a loop over the launch: a thread runs so many of its iterations one after another
  // Groups of warps take turns at its products (passes/take_turns.h): each enters it, and leaves it, with its turn.
  bool in_turns = false;
};

// Runs `condition_block`, leaves if `condition` is false (the results are then the `inner` values), else runs `body`.
// The body sees what the condition block defines.
struct While {
  Block condition_block;
  Value condition;
  Block body;
  std::vector<Carried> carried;
};

// Runs `body`, which a `Leave` of this label ends at once   (captured form only)
//
// One jump is enough: `break` leaves a label around the loop, `continue` one around its body, `return` one around the
// function. A label crosses neither a loop without an order nor a statement whose blocks give it values: see
// `ir/verify.h`.
struct Labelled {
  LabelId label;
  Block body;
};

// Goes on after the `Labelled` around it that has this label   (captured form only)
struct Leave {
  LabelId label;
};

// A value that a `CustomAdjoint` gives.
struct CustomResult {
  LocalId local;  // seen after the statement, and in its adjoint block
  Type type;
  Value value;        // of the primal block
  Value replayed;     // of the replay block; `value` where there is none
  LocalId cotangent;  // its name in the adjoint block
};
// An operand of a `CustomAdjoint` that may carry a gradient, and what the adjoint block adds to that.
struct CustomOperand {
  LocalId inner;  // its name in the blocks
  Value operand;
  Value gradient;  // of the adjoint block
};

// A computation whose derivative the user gives. It runs `primal`; differentiation takes `adjoint` for the derivative,
// which sees what the statement sees, its results, and a cotangent for each of them. The blocks use the operands under
// names of their own, so that a value from outside that they use beside them can be told from an operand. Where the
// adjoint needs the results again it runs `replay` instead of `primal` if `replays`. No block assigns a local from
// outside, or leaves the statement.
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
  Value output;  // of the block
  Value cotangent;
};

// The adjoint of a block, at once: the gradients of its inputs for the cotangents of its outputs. The block itself
// leaves nothing behind   (captured form only)
struct AdjointCall {
  std::vector<AdjointInput> inputs;
  Block primal;
  std::vector<AdjointSeed> seeds;
};

using StmtKind = std::variant<Let, Assign, Store, Accumulate, Allocate, LocalStore, TileCall, LoadStream, BringWindows,
                              ReleaseWindows, Prefetch, LoadPack, StorePack, Barrier, CommitCopies, WaitForCopies,
                              Print, Check, If, For, While, Labelled, Leave, CustomAdjoint, AdjointCall>;

// The statements of the lowered form alone.
template <class Kind>
concept LoweredOnly =
    std::same_as<Kind, TileCall> || std::same_as<Kind, LoadStream> || std::same_as<Kind, BringWindows> ||
    std::same_as<Kind, ReleaseWindows> || std::same_as<Kind, Prefetch> || std::same_as<Kind, LoadPack> ||
    std::same_as<Kind, StorePack> || std::same_as<Kind, Barrier> || std::same_as<Kind, CommitCopies> ||
    std::same_as<Kind, WaitForCopies>;

// The statements of the captured form alone.
template <class Kind>
concept CapturedOnly = std::same_as<Kind, Assign> || std::same_as<Kind, Labelled> || std::same_as<Kind, Leave> ||
                       std::same_as<Kind, AdjointCall>;

class Stmt {
 public:
  template <class Kind>
  Stmt(Kind kind, SourceLocation where) : node_(std::make_shared<const Node>(Node{std::move(kind), where})) {}

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
