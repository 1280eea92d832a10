// The CPU's printer. The instances of a thread loop are the lanes of vectors. Values that differ between lanes are
// vectors, and divergent control flow uses masks. A loop over a block's threads ends before the next one begins, so
// that barriers are no-ops.
#pragma once

#include "samite/codegen/inside.h"
#include "samite/codegen/lane_access.h"
#include "samite/codegen/lane_arrays.h"
#include "samite/codegen/lane_loop_text.h"
#include "samite/codegen/lane_sums.h"
#include "samite/codegen/lane_values.h"
#include "samite/codegen/likely.h"
#include "samite/codegen/loop_texts.h"
#include "samite/codegen/race_steps.h"
#include "samite/codegen/rows.h"
#include "samite/codegen/walk.h"
#include "samite/passes/pipelines/loop_functions.h"

#include <vector>

namespace samite::codegen {

class LanesEmitter final : public Walk {
 public:
  // `values` must outlive this. `lanes` is the number of instances in a vector.
  LanesEmitter(const ir::Kernel &kernel, const EmitOptions &options, LaneValues &values, int lanes);

 private:
  using Shape = passes::Shape;

  void open_kernel(const std::string &entry) override;
  void close_kernel() override;

  // lanes_emitter.cpp
  void store(const ir::Store &store, SourceLocation where) override;
  void accumulate(const ir::Accumulate &accumulate, SourceLocation where) override;
  void allocate(const ir::Allocate &allocate, SourceLocation where) override { arrays_.allocate(allocate, where); }
  void local_store(const ir::LocalStore &store, SourceLocation where) override { arrays_.store(store, where); }
  void of_threads(const ir::Stmt &stmt) override;

  // lane_operations.cpp
  void let(const ir::Let &let, SourceLocation where) override;
  std::string vectors(const ir::Operation &operation, SourceLocation where);
  std::string cast(const ir::Operation &operation) const;
  std::string access(const ir::Operation &operation, SourceLocation where) override;
  void check_divisor(const ir::Value &divisor, SourceLocation where) override;

  // lane_messages.cpp
  void print(const ir::Print &print, SourceLocation where) override;
  void check(const ir::Check &check, SourceLocation where) override;
  void say(const ir::Message &message, const std::vector<ir::Value> &instance, MessageSite site);
  std::string in_lanes(const ir::Value &value) const;
  std::string of_lane(const ir::Value &value) const;
  bool race_step(const ir::Let &let, SourceLocation where);
  std::string racing_instances(const RaceStep &step);

  // lane_loops.cpp
  void loop(const ir::For &loop) override;
  void loop_body(const ir::For &loop) override;
  void serial_loop(const ir::For &loop);
  void loop_function(const ir::For &loop, const std::set<ir::LocalArrayId> &written);
  void function_in_place(const ir::For &loop, const std::set<ir::LocalArrayId> &written);
  void thread_loop(const ir::For &loop);
  void jammed_body(const ir::For &loop, const LaneLoop &text);
  void jammed(const ir::Block &block, const std::vector<std::string> &masks);
  void loop_in_pieces(const ir::For &loop, const std::vector<Row> &rows);

  // divergence.cpp
  void branch(const ir::If &branch) override;
  void loop(const ir::While &loop) override;
  void divergent_loop(const ir::For &loop);
  void late_loop(const ir::For &loop);
  void divergent_loop(const ir::While &loop);
  void declare(const std::vector<ir::Carried> &carried);
  void advance(const std::vector<ir::Carried> &carried);
  void name_results(const std::vector<ir::Carried> &carried);
  void finish(const ir::Block &body, const std::vector<ir::Carried> &carried, const std::string &outer);
  std::string continues(const ir::For &loop) const;

  LaneValues &values_;
  const int lanes_;
  LaneAccess access_;
  LaneArrays arrays_;
  LaneSums sums_;
  Rows rows_;
  // Loops that are functions of their own.
  struct LoopFunctions {
    const passes::LoopFunctions loops;
    LoopTexts texts{};
    std::vector<ir::Type> local_types{};  // by LocalId; empty until a loop is a function
    SourceWriter::Place place{};          // of the functions in the text
  };
  LoopFunctions functions_;
  int loops_around_lanes_ = 0;  // enclosing serial ones
  Inside inside_;               // of the current thread loop
  std::string is_inside_;       // whether the current vector is inside, in its body
  Likely likely_;               // of the current thread loop
  std::string is_likely_;       // whether the current code has only likely sides, in its body
  RaceSteps race_steps_;
  struct Racing {
    std::string text, name;  // of the definition
    std::uint64_t scope;
  };
  std::vector<Racing> racing_;
};

}  // namespace samite::codegen
