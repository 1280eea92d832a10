// A captured pipeline, and the programs of its schedules so far.
//
// Shared by the Pipeline and its recorded launches. Thread-safe: two threads that request the same program share it.
#pragma once

#include "samite/ir/func.h"
#include "samite/jit/scheduled_program.h"
#include "samite/runtime/device.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace samite::jit {

class PipelineDefinition {
 public:
  struct Target {
    DeviceKind device = DeviceKind::cpu;
    int compute_capability = 0;    // of a CUDA device, e.g. 90 for 9.0
    bool checks_promises = false;  // as in schedules::Choice
    bool rolled = false;           // loops that a schedule unrolls stay loops, if possible

    friend bool operator==(const Target &, const Target &) = default;
  };
  // Lowers the schedule of this name; "" is the default one.
  using Lower = std::function<schedules::Program(const Target &target, const std::string &schedule)>;

  // UserError for more than 64 parameters.
  PipelineDefinition(std::string name, std::vector<ir::Parameter> parameters, std::vector<std::string> schedules,
                     Lower lower, SourceLocation where);

  // With programs from schedules::lower.
  explicit PipelineDefinition(ir::CapturedPipeline captured);
  ~PipelineDefinition();

  const std::string &name() const { return name_; }
  // The captured pipeline; null for a program that was not made from one.
  const ir::CapturedPipeline *captured() const { return captured_.get(); }
  const std::vector<ir::Parameter> &parameters() const { return parameters_; }
  SourceLocation where() const { return where_; }
  // Its name in messages; `written` as in ScheduledProgram.
  Callee callee(std::uint64_t written = 0) const { return {"pipeline", name_, parameters_, written, where_}; }

  // Arrays that it reads at other places than where it writes, as bits: all, except those that its only Func, if that
  // has one definition, reads at the very element that it computes. Same meaning as in KernelDefinition::expect_apart.
  std::uint64_t read_elsewhere() const { return read_elsewhere_; }
  // Its arrays that it reads, as bits.
  std::uint64_t arrays_read() const { return arrays_read_; }
  // Whether it has promises (lang/func.h), which debug mode checks.
  bool has_promises() const { return captured_ && captured_->promises; }

  // The schedule for a device: `wanted` if not empty, else "cuda" or "cpu" if the pipeline has it, else "". UserError
  // if there is none of that name.
  std::string schedule_for(DeviceKind device, const std::string &wanted) const;

  // UserError as in lowering.
  schedules::Program lower(const Target &target, const std::string &schedule) const { return lower_(target, schedule); }
  // The same, ready to run: made on first use.
  std::shared_ptr<const ScheduledProgram> program(const Target &target, const std::string &schedule);

  // The pipeline of the gradients of these arrays, as bits: its parameters are this one's, and then the gradients
  // (autodiff/pipeline_adjoint.h). Derived on first use; UserError if that is impossible.
  std::shared_ptr<PipelineDefinition> adjoint(std::uint64_t active);
  // That of all arrays of floating type, as bits.
  std::uint64_t floating_arrays() const;
  std::shared_ptr<PipelineDefinition> whole_adjoint() { return adjoint(floating_arrays()); }
  // The schedule for the CPU of adjoints from here on, as text (schedule/schedule_text.h); the derived one if it is
  // empty, and for gradients of fewer arrays, which do not have all of its Funcs.
  void schedule_adjoint(std::string text);
  std::string adjoint_schedule() const;

  // The programs so far, in order.
  struct Made {
    Target target;
    std::string schedule;
    std::shared_ptr<const ScheduledProgram> program;
  };
  std::vector<Made> programs() const { return programs_.made(); }

 private:
  explicit PipelineDefinition(std::shared_ptr<const ir::CapturedPipeline> captured);

  struct Key {
    Target target;
    std::string schedule;
    friend bool operator==(const Key &, const Key &) = default;
  };

  std::string name_;
  std::vector<ir::Parameter> parameters_;
  std::vector<std::string> schedules_;
  Lower lower_;
  SourceLocation where_;
  std::shared_ptr<const ir::CapturedPipeline> captured_;
  std::uint64_t read_elsewhere_ = ~std::uint64_t{0}, arrays_read_ = ~std::uint64_t{0};
  Memo<Key, Made> programs_;
  mutable std::mutex adjoint_schedule_in_use_;
  std::string adjoint_schedule_;
  Memo<std::pair<std::uint64_t, std::string>, std::shared_ptr<PipelineDefinition>> adjoints_;
};

// The target for a device.
PipelineDefinition::Target target_of(Device device);

}  // namespace samite::jit
