// The walk over one kernel that writes its adjoint: internal to autodiff.
//
// The rule for each block: first recompute the block's own values (recompute.cpp), then run its statements backwards
// (reverse.cpp); loops.cpp has the rule for loops. Dead-code removal then keeps only the recomputed values that the
// reverse sweep reads. Op::Unavailable is a placeholder for an unavailable value. If dead-code removal leaves one, the
// kernel is derived once more and stores that value (adjoint.cpp).
//
// Local arrays are state. The recomputation writes to a working array. The reverse of a block begins with the working
// array as the block left it. If the array is kept, the reverse undoes each write, so that a branch or an iteration
// that runs again reads the same elements as before (local_state.cpp). If it is not kept, the working array is invalid
// from the reverse's first write on, and loads from it are unavailable.
#pragma once

#include "samite/autodiff/activity.h"
#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/notes.h"
#include "samite/autodiff/rules.h"
#include "samite/autodiff/undo_log.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"

#include <array>
#include <map>
#include <unordered_map>

namespace samite::autodiff {

// The values that an adjoint stores.
struct Keep {
  std::vector<bool> local;  // by primal local, the inner one of a carried value: its value in each iteration
  std::vector<bool> array;  // by primal local array: the elements that its stores overwrite
  // Loops with checkpoints, by their carried values: the iterations up to which all are stored without checkpoints; 0
  // if the loop is known to have more.
  std::unordered_map<const std::vector<ir::Carried> *, std::int64_t> checkpoints;
  // The bytes that a loop's tapes may waste on iterations that it does not run.
  std::int64_t tape_limit = usual_memory_limit;

  static constexpr std::int64_t some_elements = 64;  // of an array whose size is known only at launch

  // The number by which Op::Unavailable names a value. `add` keeps that value, and returns whether it was kept before.
  static std::int32_t name_of(ir::LocalId local) { return static_cast<std::int32_t>(local); }
  std::int32_t name_of_array(ir::LocalArrayId id) const { return static_cast<std::int32_t>(local.size() + id); }
  bool add(std::int32_t name);
};

class Deriver {
 public:
  // If `notes` is not null, the adjoint takes notes (autodiff/notes.h), and gets three more parameters.
  Deriver(const ir::Kernel &primal, const std::vector<bool> &active, const Keep &keep, Notes *notes = nullptr);

  // The adjoint in captured form.
  ir::Kernel run();

  const std::vector<std::uint32_t> &gradient_of() const { return parameters_.gradient_of; }

  // A planned memory of a loop. Whether it is read is known after dead-code removal.
  struct Planned {
    ir::LocalArrayId array;
    const std::vector<ir::Carried> *loop;
    KeptValue value;
  };

  const std::vector<Planned> &planned() const { return loops_.planned; }

 private:
  using Block = ir::Block;
  using Value = ir::Value;
  using LocalId = ir::LocalId;
  using LocalArrayId = ir::LocalArrayId;

  // A loop in the reverse sweep: a number of iterations, each of which recomputes blocks.
  struct Iterations {
    const std::vector<ir::Carried> &carried;
    std::vector<const Block *> blocks;  // in the order in which an iteration runs them; the last is the body
    const ir::For *range;               // null for a while_
    SourceLocation where;
  };

  // Memory for the values that an iteration starts with and those that it overwrites, filled by the latest
  // recomputation of the loop.
  struct Tapes {
    struct Allocation {
      LocalArrayId array;
      ir::Type type;
      std::optional<Value> each;  // elements for each iteration, if more than one
      KeptValue kept;
    };
    std::vector<Allocation> allocations;
    std::unordered_map<LocalId, LocalArrayId> carried;          // by the inner local of the stored value
    std::vector<std::pair<LocalArrayId, LocalArrayId>> copies;  // of a whole working array; by primal local array
    UndoLog log;                                                // of the other arrays that an iteration writes
    std::unordered_map<LocalId, LocalArrayId> logged;           // values of the log that an iteration defines
  };

  bool active(LocalId local) const { return activity_.local[local]; }
  bool active(const Value &value) const { return value.is_local() && is_floating(value.type()) && active(value.id()); }
  // Whether the loop, or the block, has a non-empty reverse.
  bool has_adjoint(const std::vector<ir::Carried> &carried, const Block &body) const;
  bool has_adjoint(const Block &block) const;

  // The adjoint's value of a primal value, in the current region.
  Value value(const Value &primal) const;
  std::vector<Value> values(const std::vector<Value> &primal) const;
  Value define(LocalId primal, ir::Type type);

  // An adjoint variable for each active value that the block itself defines, initially zero.
  void declare_adjoints(const Block &block);
  Value adjoint(LocalId local) const;
  void add(const Value &primal, Value contribution);

  void region(const Block &block);

  // recompute.cpp
  void recompute(const Block &block);
  void recompute_let(const ir::Let &let);
  void recompute_branch(const ir::If &branch, SourceLocation where);
  void recompute_loop(const ir::For &loop, SourceLocation where);
  void recompute_loop(const ir::While &loop, SourceLocation where);
  struct Run;
  struct TapeLength;
  Run begin_run(const Iterations &loop, const std::optional<TapeLength> &length);
  void run_iteration(Run &run, const std::vector<const Block *> &blocks, Value number);
  void end_run(Run &run, std::vector<ir::Carried> &copy);
  void run(const Iterations &loop, ir::For copy, const std::optional<TapeLength> &length);
  Value run(const ir::While &loop, SourceLocation where, const std::optional<TapeLength> &length);
  static Iterations iterations(const ir::For &loop, SourceLocation where) {
    return {loop.carried, {&loop.body}, &loop, where};
  }
  static Iterations iterations(const ir::While &loop, SourceLocation where) {
    return {loop.carried, {&loop.condition_block, &loop.body}, nullptr, where};
  }
  std::vector<ir::Carried> enter(const std::vector<ir::Carried> &carried);
  void close_carried(const std::vector<ir::Carried> &carried, std::vector<ir::Carried> &copy);
  void leave(const std::vector<ir::Carried> &carried, std::vector<ir::Carried> &copy);
  Value trip_count(const ir::For &loop);
  Value iteration(const ir::For &loop, Value index);

  // bounds.cpp
  std::optional<Value> most_iterations(const ir::While &loop);
  Value most_iterations(const ir::Carried &counter, std::int64_t step, ir::Op op, const Value &end);
  std::int64_t tape_bytes(const ir::While &loop) const;
  TapeLength tape_length(const ir::While &loop, SourceLocation where);
  Value count_iterations(const ir::While &loop, SourceLocation where);

  // tapes.cpp
  Tapes start_tapes(const std::vector<ir::Carried> &carried, const std::vector<LocalWrites> &writes, Value number,
                    const Tapes *before = nullptr);
  void finish_tapes(Tapes &tapes, const std::vector<ir::Carried> &carried, const UndoLog &log,
                    LocalId first_of_iteration, Value number, const Tapes *before = nullptr);
  std::vector<std::pair<LocalArrayId, ir::Type>> logged_places(const Tapes &tapes) const;
  void allocate_tapes(const Tapes &tapes, Value length, const std::vector<ir::Carried> &carried, KeptFor kept_for);
  void allocate_kept(LocalArrayId array, Value length, std::optional<Value> each,
                     const std::vector<ir::Carried> &carried, KeptFor kept_for, KeptValue kept);
  SourceLocation assigned_at(const ir::Carried &c) const;
  KeptValue describe(const std::vector<ir::Carried> &carried, SourceLocation assigned, ir::Type type) const;
  void take_back_iteration(const Tapes &tapes, Value number);

  // checkpoints.cpp
  struct Checkpoints {
    Value count, chunk;                                         // iterations in total, or their bound, and in a chunk
    std::map<LocalId, LocalArrayId> carried;                    // by the inner local: its value at each chunk's start
    std::vector<std::pair<LocalArrayId, LocalArrayId>> copies;  // of working arrays, by primal local array
    LocalId slot = 0, number = 0;                               // of the iteration in its chunk, and of the chunk
    std::vector<ir::Carried> counters;                          // the loop-carried values for these
  };
  bool has_checkpoints(const std::vector<ir::Carried> &carried) const { return keep_.checkpoints.contains(&carried); }
  Checkpoints plan_checkpoints(const Iterations &loop, const TapeLength &length,
                               const std::vector<LocalWrites> &writes);
  Value number_of_chunks(const Checkpoints &checkpoints);
  void store_checkpoint(Checkpoints &checkpoints);
  void reverse_chunks(const Iterations &loop);
  void rerun_chunk(const Iterations &loop, const Checkpoints &checkpoints, Value chunk, Value first, Value size);
  void start_of(const Iterations &loop, Value number);
  void recompute(const std::vector<const Block *> &blocks);
  void reverse_iteration(const Iterations &loop, Value number_in_tapes, Value number);

  // The iterations for which a loop's tapes have room, decided before it runs.
  struct TapeLength {
    Value iterations;
    // Whether that is a bound that the loop's condition guarantees, small enough to need no checkpoints. Otherwise the
    // loop has been counted, and runs exactly as often again, whatever its condition says: the compiler may round
    // differently in its second copy of the loop, which might then exceed the tapes.
    Value bounded = Value::boolean(false);
  };

  // A forward run of a loop that is being emitted.
  struct Run {
    const Iterations &loop;
    std::optional<TapeLength> length;  // empty if nothing is stored for a reverse
    std::optional<Checkpoints> checkpoints;
    std::vector<LocalWrites> writes;
    LocalId first_inside;
    Tapes tapes;
    UndoLog log;  // of the enclosing block
  };

  // local_state.cpp
  void recompute_allocate(const ir::Allocate &allocate);
  void recompute_store(const ir::LocalStore &store);
  bool logs(LocalArrayId array) const {
    return keep_.array[array] && arrays_.held[array] && arrays_.unlogged[array] == 0;
  }
  std::vector<LocalWrites> logged_writes(std::initializer_list<const Block *> blocks) const;
  bool cheaper_to_copy(const LocalWrites &writes, std::int64_t stored_bytes) const;
  void copy_elements(LocalArrayId to, Value to_begin, LocalArrayId from, Value from_begin, LocalArrayId primal);
  UndoCopy copy_of(LocalArrayId primal);
  void export_log(UndoLog &log, LocalId first_inside, std::vector<ir::BranchResult> &results, bool then_side);
  void take_back(const UndoLog &log, const std::function<Value(const Value &)> &at_hand = std::identity{});
  bool any_held(const UndoLog &log) const;
  void lose_what_is_not_kept(const ir::Stmt &stmt);
  void release_what_nothing_reads_before(const ir::Stmt &stmt);
  void declare_adjoint_array(const ir::Allocate &allocate);

  // notes.cpp
  void start_notes();
  void note(const Value &contribution);
  void finish_notes();

  // custom.cpp
  void recompute_custom(const ir::CustomAdjoint &custom);
  void reverse_custom(const ir::CustomAdjoint &custom);
  enum class Copied : std::uint8_t { Values, ValuesAfterwards, Everything };
  void copy(const Block &block, Copied what);

  // reverse.cpp
  void reverse(const Block &block);
  void reverse_let(const ir::Let &let);
  void reverse_store(const ir::LocalStore &store);
  void reverse_branch(const ir::If &branch, SourceLocation where);
  Value gradient_operation(ir::Op op, std::uint32_t array, const std::vector<Value> &indices, const ir::Type &type);

  // products.cpp
  struct Product {
    const ir::Operation *operation = nullptr;
    const Block *block = nullptr;
  };
  void find_factors(const Block &block);
  void take_apart(const Product &product, std::vector<Value> &factors, std::vector<LocalId> &inside) const;
  Value power(const Value &x, std::ptrdiff_t exponent);
  bool reverse_power(const ir::Let &let);

  // loops.cpp
  struct ReversedRange {
    ir::For loop;                         // its index is a new local
    ir::Value index;                      // of the primal loop, in the body
    std::vector<ir::Stmt> defines_index;  // the first statements of the body
  };
  ReversedRange reversed_range(const ir::For &loop);
  std::int64_t least(const ir::Value &primal) const;
  void reverse_loop(const ir::For &loop, SourceLocation where);
  void reverse_loop(const ir::While &loop, SourceLocation where);
  void begin_carried_adjoints(const std::vector<ir::Carried> &carried);
  void hand_back(const std::vector<ir::Carried> &carried);
  void end_carried_adjoints(const std::vector<ir::Carried> &carried);
  void start_iteration(const Iterations &loop, Value number_in_tapes, Value number);
  static std::optional<Value> counter_step(const ir::Carried &c, const Block &body);

  // The notes that the adjoint takes (autodiff/notes.h).
  struct Noting {
    Notes *notes;                                          // null if it takes none
    LocalId site = 0;                                      // a variable: the first site noted, or -1
    std::array<LocalId, Notes::record_size - 1> values{};  // its values in the record
    std::string operation = "the statement";               // what is being reversed
    std::vector<Value> noted = {};                         // its cotangent and up to two operands, if at hand
  };
  // Facts about the primal's locals, by local.
  struct Locals {
    std::vector<ir::Type> types;
    std::vector<Product> products = {};  // the floating product that defines it
    std::vector<int> uses = {};
    std::vector<bool> reversed = {};  // its reverse is part of that of a product it is a factor of
    std::vector<SourceLocation> defined_at = {};
    std::vector<const ir::Operation *> operation_of = {};  // its operation, if any
    std::vector<const ir::For *> range_of = {};            // the range whose index it is
  };
  struct Parameters {
    std::vector<ir::Parameter> all;
    std::vector<bool> written;            // an array that the kernel writes
    std::vector<std::uint32_t> gradient;  // primal parameter -> its gradient parameter, if active
    std::vector<std::uint32_t> gradient_of;
  };
  // Keyed by the loops' carried values, whose addresses are stable.
  struct Loops {
    std::unordered_map<const std::vector<ir::Carried> *, Tapes> tapes;
    std::unordered_map<const std::vector<ir::Carried> *, Checkpoints> checkpoints;
    std::unordered_map<const std::vector<ir::Carried> *, SourceLocation> at;
    std::unordered_map<const ir::While *, Value> count;  // iterations of the latest recomputation
    std::vector<Planned> planned;
  };
  struct LocalArray {
    ir::Type type;
    Value size;
    LocalArrayId working;
    std::optional<LocalArrayId> adjoint;
    SourceLocation where;
  };
  // By primal local array.
  struct LocalArrays {
    std::vector<std::optional<LocalArray>> latest;  // of the latest recomputation
    std::vector<bool> held;                         // whether the working array currently has the primal's elements
    std::vector<int> unlogged;                      // the number of enclosing statements that copy it whole
    std::vector<const ir::Stmt *> first_reader;
  };
  struct Undoing {
    UndoLog log;  // of the block that is being recomputed
    std::unordered_map<const ir::Stmt *, UndoLog> of;
    int nesting = 0;  // the number of enclosing statements that run again before they are reversed
  };

  const ir::Kernel &primal_;
  const std::vector<bool> &active_array_;
  const Keep &keep_;
  Noting noting_;
  Activity activity_;
  Locals locals_;
  Parameters parameters_;
  std::vector<std::optional<Value>> primal_value_;
  std::vector<std::optional<LocalId>> adjoint_;
  Loops loops_;
  LocalArrays arrays_;
  Undoing undo_;
  passes::Builder build_;
};

}  // namespace samite::autodiff
