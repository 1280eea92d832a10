// The verifier of `ir/verify.h`: it walks a kernel once, in order, and tracks what is in scope. InternalError for the
// first rule that is broken.
//
// Its functions are in five sources: kernels, blocks and scopes in verify.cpp, operations and assignments in
// verify_operations.cpp, local arrays and layouts in verify_memory.cpp, statements of lowered tile kernels in
// verify_tiles.cpp, branches, loops and derivatives in verify_control.cpp.
#pragma once

#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace samite::ir {

inline bool is_index_type(ScalarType type) { return type == ScalarType::Int32 || type == ScalarType::Int64; }

class Verifier {
 public:
  Verifier(const Kernel &kernel, Form form, std::string_view pass)
      : kernel_(kernel),
        form_(form),
        pass_(pass),
        locals_(kernel.local_count),
        local_arrays_(kernel.local_array_count),
        memory_{std::vector<std::optional<MemorySpace>>(kernel.local_array_count),
                std::vector<std::optional<std::int64_t>>(kernel.local_array_count)} {}

  void run();

 private:
  struct Local {
    Type type = ScalarType::Bool;
    bool defined = false, in_scope = false, assignable = false;
  };

  // Locals and local arrays defined while it lives leave the scope with it.
  class Scope {
   public:
    explicit Scope(Verifier &verifier)
        : verifier_(verifier), outer_(verifier.in_scope_.size()), outer_arrays_(verifier.arrays_in_scope_.size()) {}
    ~Scope() {
      leave(verifier_.in_scope_, outer_, verifier_.locals_);
      leave(verifier_.arrays_in_scope_, outer_arrays_, verifier_.local_arrays_);
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

   private:
    static void leave(std::vector<std::uint32_t> &in_scope, std::size_t outer, std::vector<Local> &of) {
      for (; in_scope.size() > outer; in_scope.pop_back()) of[in_scope.back()].in_scope = false;
    }

    Verifier &verifier_;
    std::size_t outer_, outer_arrays_;
  };

  // While it exists, if it `holds`, no jump leaves a label outside of it.
  class JumpBarrier {
   public:
    JumpBarrier(Verifier &verifier, bool holds) : verifier_(verifier), outer_(verifier.labels_.first_in_reach) {
      if (holds) verifier.labels_.first_in_reach = verifier.labels_.enclosing.size();
    }
    ~JumpBarrier() { verifier_.labels_.first_in_reach = outer_; }
    JumpBarrier(const JumpBarrier &) = delete;
    JumpBarrier &operator=(const JumpBarrier &) = delete;

   private:
    Verifier &verifier_;
    std::size_t outer_;
  };

  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments &&...arguments) const {
    std::string message = fmt::format("kernel '{}' is ill-formed after {}: ", kernel_.name, pass_);
    message += fmt::format(format, std::forward<Arguments>(arguments)...);
    if (statement_) {
      // The header of a branch or a loop suffices; its blocks may be long.
      std::string text = to_string(*statement_, kernel_.parameters);
      message += fmt::format("\n  in: {}", text.substr(0, text.find('\n')));
    }
    SourceLocation where = statement_ && statement_->where().known() ? statement_->where() : kernel_.where;
    message += fmt::format("\n  at: {}", where.to_string());
    throw InternalError(message);
  }

  void check_signature() const;
  void check_plan() const;
  // How the launch is run, and what registers the roles have.
  void check_launch() const;
  void check_gradient(std::size_t index) const;
  void check_block(const Block &block);

  // A window is kept for the next product of the same ring in the same block of statements, which finds it loaded.
  // While a product overlaps the next one, its sums must not be used.
  void check_window_products(const Block &block) const;
  // Windows are loaded and released in one block of statements, and products in a stage are between.
  void check_stages(const Block &block) const;
  void define(LocalId id, Type type, bool assignable = false);
  void check_in_scope(LocalId id) const;

  // Checks that the value exists; the caller checks its type.
  void check_value(const Value &value) const;

  // Checks that `value` exists and has the type `expected`; `what` names its place.
  void check_value(const Value &value, Type expected, std::string_view what) const;
  const Parameter &array(std::uint32_t index) const;
  const Parameter &writable_array(std::uint32_t index) const;
  void check_indices(const Parameter &array, std::span<const Value> indices) const;

  // Returns its element type.
  Type check_local_array(LocalArrayId id) const;
  void check_index(const Value &index, std::string_view what) const;
  void check_element(const Parameter &array, std::span<const Value> indices, const Type &element) const;
  void check_dimension(std::int32_t dimension, int rank, std::string_view of) const;
  void check_operation(const Operation &operation) const;
  void check_bit_cast(const Operation &operation) const;

  // A load by warp needs a loop that a warp runs together.
  void check_by_warp(const Parameter &from) const;

  // An asynchronously copied value is stored to shared memory, once.
  void check_loads_ahead();
  void check_ahead(const Parameter &from, const Operation &operation, int elements) const;
  void check_atomic(const Operation &operation) const;
  void check_result(const Operation &operation, bool holds, std::string_view expected) const;
  void check_operands(const Operation &operation, Type expected, std::size_t first = 0) const;
  void check(const Let &let);
  void check(const Assign &assign);
  void check(const Store &store);
  void check(const Accumulate &accumulate);
  void check(const Allocate &allocate);
  void define_local_array(LocalArrayId id, const Type &type);

  // Whether it is defined outside of the thread loop.
  bool same_for_instances(const Value &value) const;

  // Instances of a thread loop share memory that is allocated outside of it.
  void check_whose_element(LocalArrayId array, const Value &index) const;

  // Jammed vectors take the same path.
  void check_jammed(const Block &block) const;

  // The memory space and layout of a block's memory.
  void check_memory(const Allocate &allocate);
  void check_of_thread(const Allocate &allocate) const;
  void check_strip(const Allocate &allocate) const;

  // A buffer has the size and layout of the allocation that it aliases.
  void check_buffer(const Allocate &allocate);

  // A constant number of elements: of this many rows, or of whole rows.
  void check_size(const Allocate &allocate, std::optional<std::int64_t> rows, std::int64_t columns) const;
  void check_fragments(const FragmentLayout &fragments) const;
  void check(const LocalStore &store);
  void check_on_tiles(std::string_view what) const;
  void check(const TileCall &call) const;
  void check_operation_on_tiles(const Operation &operation) const;
  void check(const TileLoad &load) const;

  // A product of tiles of these types, whose sums have a layout. Threads that only copy have no sums.
  void check_product(const auto &product, const Type &a, const Type &b, ThreadRole role) const;
  void check(const MainLoop &loop) const;
  void check_bulk_copies(const MainLoop &loop) const;
  // Split-K and teams.
  void check_sharing(const MainLoop &loop) const;
  // Two for each stage.
  void check_barriers(const TileMemory &barriers, int stages) const;
  void check_transfer(const Transfer &factor, int stages) const;
  int stages_of(const TileMemory &memory) const;
  void check(const WindowProduct &product) const;

  // `check_stages` looks for the windows.
  void check(const StageProduct &product) const;

  // The arrays are read-only, and all rings have the same number of stages, at least two, since one is filled while
  // another is read.
  void check(const BringWindows &bring) const;
  void check(const ReleaseWindows &release) const;
  void check(const Prefetch &fetch) const;
  // The role of the threads whose code is being checked.
  ThreadRole expected_role() const;
  void check_not_written(std::uint32_t index) const;

  // A load of the next window of a stream: into memory like the stream's.
  void check_next(const TileLoad &load) const;
  void check(const LoadStream &stream);

  // Neighbours of one wide access.
  void check_pack(const Parameter &of, std::span<const Value> indices, std::size_t count) const;
  void check(const LoadPack &load);
  void check(const StorePack &store) const;
  void check(const Barrier &) const;
  void check(const CommitCopies &) const;
  void check(const WaitForCopies &wait) const;

  // Statements that all threads of a block run together.
  void check_of_all_threads(std::string_view what) const;
  void check_memory(const TileMemory &memory) const;
  void check_sums(const FragmentLayout &sums, const Type &result) const;

  // Statements of lowered kernels only.
  void check_lowered(std::string_view what) const;
  std::string_view name_of_form() const;
  void check_message(const Message &message) const;
  void check(const Print &print);
  void check(const Check &check);
  void check(const If &branch);
  void check(const For &loop);

  // Attributes of a loop over the launch, and of one that several instances of a thread run together.
  void check_notes(const For &loop) const;
  // Each access that is made for several elements is in the loop once.
  void check_elements(const For &loop) const;
  void check(const While &loop);
  void check(const Labelled &labelled);
  void check(const Leave &leave) const;

  // A closed block: it neither assigns outer locals nor leaves outer labels.
  class Closed {
   public:
    explicit Closed(Verifier &verifier)
        : scope_(verifier), barrier_(verifier, true), verifier_(verifier), outer_(verifier.first_assignable_) {
      verifier.first_assignable_ = verifier.in_scope_.size();
    }
    ~Closed() { verifier_.first_assignable_ = outer_; }
    Closed(const Closed &) = delete;
    Closed &operator=(const Closed &) = delete;

   private:
    Scope scope_;
    JumpBarrier barrier_;
    Verifier &verifier_;
    std::size_t outer_;
  };

  void check(const CustomAdjoint &custom);

  // The blocks share the operands' names.
  void see_again(const std::vector<CustomOperand> &operands);
  void check(const AdjointCall &call);

  // In `labels_.enclosing`; its size if the label does not enclose the statement.
  std::size_t position(LabelId label) const;
  void check_initial_values(const std::vector<Carried> &carried) const;
  void define_inner_values(const std::vector<Carried> &carried);
  void check_next_values(const std::vector<Carried> &carried) const;
  void define_carried_results(const std::vector<Carried> &carried);

  // The thread loop around a statement.
  struct Threads {
    bool in_loop = false;
    std::optional<LocalId> index = {};
    std::size_t first_of_instance = 0;  // in `in_scope_`: earlier ones are the same for all instances
  };
  // Facts about local arrays, by their number.
  struct Memory {
    std::vector<std::optional<MemorySpace>> shared_by_instances;  // outside of thread loops
    std::vector<std::optional<std::int64_t>> sizes;               // if they are constants
    std::unordered_map<LocalArrayId, Allocate> buffers = {};      // memory with several buffers
    std::unordered_map<LocalArrayId, Type> streams = {};          // streams of loads, with the type of their windows
  };
  struct Labels {
    std::vector<LabelId> enclosing = {};  // the outermost one first
    std::size_t first_in_reach = 0;       // in `enclosing`: earlier ones are behind a barrier
  };

  const Kernel &kernel_;
  Form form_;
  std::string_view pass_;
  std::vector<Local> locals_, local_arrays_;
  Memory memory_;
  Threads threads_;
  Labels labels_;
  std::vector<const For *> loops_;  // enclosing loops, the outermost one first
  std::vector<std::uint32_t> in_scope_, arrays_in_scope_;
  std::size_t first_assignable_ = 0;  // in `in_scope_`: earlier ones are outside of a closed block
  bool in_adjoint_ = false;
  const Stmt *statement_ = nullptr;
};

}  // namespace samite::ir
