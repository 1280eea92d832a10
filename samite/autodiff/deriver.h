// The walk over one kernel that writes its adjoint: internal to autodiff.
//
// The rule for each block: first recompute the block's own values (recompute.cpp), then run its statements backwards
// (reverse.cpp); what loops add to that is in loops.cpp. Dead-code removal then keeps of the recomputation what the
// reverse sweep reads. Values that are not at hand appear as Op::Unavailable: where one is left after dead code is
// removed, the kernel is derived once more with that value kept (see adjoint.cpp).
#pragma once

#include "samite/autodiff/activity.h"
#include "samite/autodiff/adjoint.h"
#include "samite/ir/visit.h"
#include "samite/passes/builder.h"

#include <unordered_map>

namespace samite::autodiff {

class Deriver {
 public:
  // `kept` is by primal local: the carried values (by their inner local) whose every value is kept.
  Deriver(const ir::Kernel &primal, const std::vector<bool> &active, const std::vector<bool> &kept);

  // The adjoint in captured form.
  ir::Kernel run();

  const std::vector<std::uint32_t> &gradient_of() const { return gradient_of_; }

 private:
  using Block = ir::Block;
  using Value = ir::Value;
  using LocalId = ir::LocalId;

  bool active(LocalId local) const { return activity_.local[local]; }
  bool active(const Value &value) const { return value.is_local() && is_floating(value.type()) && active(value.id()); }
  // Whether reversing the statement does anything.
  bool has_adjoint(const std::vector<ir::Carried> &carried, const Block &body) const;
  bool has_adjoint(const Block &block) const;

  // The primal value, as this region of the adjoint has it.
  Value value(const Value &primal) const;
  std::vector<Value> values(const std::vector<Value> &primal) const;
  Value define(LocalId primal, ScalarType type);

  // One variable for the adjoint of each active value that the block itself defines, zero at first.
  void declare_adjoints(const Block &block);
  Value adjoint(LocalId local) const;
  void add(const Value &primal, Value contribution);

  void region(const Block &block);

  // recompute.cpp
  void recompute(const Block &block);
  void recompute_branch(const ir::If &branch, SourceLocation where);
  void recompute_loop(const ir::For &loop, SourceLocation where);
  void recompute_loop(const ir::While &loop, SourceLocation where);
  Value run(const ir::While &loop, SourceLocation where, bool keep);
  std::vector<ir::Carried> enter(const std::vector<ir::Carried> &carried);
  void close_carried(const std::vector<ir::Carried> &carried, std::vector<ir::Carried> &copy);
  void leave(const std::vector<ir::Carried> &carried, std::vector<ir::Carried> &copy);
  bool keeps(const std::vector<ir::Carried> &carried) const;
  void allocate_tapes(const std::vector<ir::Carried> &carried, Value count);
  void store_on_tapes(const std::vector<ir::Carried> &carried, Value number);
  Value trip_count(const ir::For &loop);
  Value iteration(const ir::For &loop, Value index);

  // reverse.cpp
  void reverse(const Block &block);
  void reverse_let(const ir::Let &let);
  void reverse_branch(const ir::If &branch, SourceLocation where);
  Value gradient_operation(ir::Op op, std::uint32_t array, const std::vector<Value> &indices);

  // loops.cpp
  ir::For reversed_range(const ir::For &loop);
  void reverse_loop(const ir::For &loop, SourceLocation where);
  void reverse_loop(const ir::While &loop, SourceLocation where);
  void begin_carried_adjoints(const std::vector<ir::Carried> &carried);
  void hand_back(const std::vector<ir::Carried> &carried);
  void end_carried_adjoints(const std::vector<ir::Carried> &carried);
  void start_iteration(const std::vector<ir::Carried> &carried, const Block &body, Value number);

  const ir::Kernel &primal_;
  const std::vector<bool> &active_array_;
  const std::vector<bool> &kept_;
  Activity activity_;
  std::vector<ScalarType> types_;
  std::vector<ir::Parameter> parameters_;
  std::vector<std::uint32_t> gradient_;  // primal parameter -> its gradient parameter, where active
  std::vector<std::uint32_t> gradient_of_;
  std::vector<std::optional<Value>> primal_value_;
  std::vector<std::optional<LocalId>> adjoint_;
  std::vector<std::optional<ir::LocalArrayId>> tape_;  // by the inner local of what is kept: the latest recomputation's
  std::unordered_map<const ir::While *, Value> count_;  // how often the latest recomputation ran
  passes::Builder build_;
};

}  // namespace samite::autodiff
