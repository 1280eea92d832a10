// Launches of scheduled pipelines.
//
//   PipelineLaunch step = blur.record({.schedule = "tiled"}, out, in);
//   step.launch();
//   step.set("in", other);
//
// A recorded launch of a pipeline launches its kernels one after another in one stream: everything is checked, compiled
// and allocated when it is recorded or edited, and the host never waits. It owns its buffers and the arrays between its
// kernels; a copy has its own arrays. In a capture it becomes launches of the graph, one for each kernel, which then
// share those arrays with it.
//
// On the CPU a launch has completed when it returns; on CUDA it is queued in its stream. One thread may use a
// PipelineLaunch at a time, and a concurrent use is refused.
#pragma once

#include "samite/jit/launch.h"

#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samite {
namespace ir {
struct Parameter;
}
namespace jit {
class PipelineDefinition;
class RecordedProgram;
}  // namespace jit

// As in LaunchOptions, for all kernels of the pipeline.
struct PipelineOptions {
  // An adjoint launch is a launch of the pipeline's adjoint (autodiff/pipeline_adjoint.h), under its default schedule,
  // with the gradients of arguments that track theirs. Recorded, it is a launch of "…_adjoint", whose arguments are the
  // pipeline's and these gradients. UserError for tangents.
  Direction direction = Direction::forward;
  std::optional<Stream> stream = {};
  // The name of a schedule. If empty, "cuda" on a CUDA device and "cpu" on the CPU if the pipeline has it, else the
  // default schedule.
  std::string schedule = {};
  std::optional<bool> debug = {};
  bool deterministic = false;
  CudaOptions cuda = {};  // cluster, sum_parts and plan are for single kernels: UserError
};

class PipelineLaunch {
 public:
  // Pipeline::record makes these.
  PipelineLaunch(std::shared_ptr<jit::PipelineDefinition> definition, const PipelineOptions &options,
                 std::vector<jit::OwnedArgument> arguments);
  PipelineLaunch(const PipelineLaunch &other);
  PipelineLaunch &operator=(const PipelineLaunch &other);
  PipelineLaunch(PipelineLaunch &&) noexcept;
  PipelineLaunch &operator=(PipelineLaunch &&) noexcept;
  ~PipelineLaunch();

  void launch(SourceLocation where = std::source_location::current());
  // On another stream of the same device, once; the two streams are then ordered.
  void launch(const Stream &stream, SourceLocation where = std::source_location::current());

  // Replaces one argument, by its index or by its name, as in Launch::set. The host's values that depend on it
  // (extents, trip counts, requirements) are recomputed.
  void set(std::size_t index, const AnyBuffer &buffer, SourceLocation where = std::source_location::current());
  void set(std::string_view name, const AnyBuffer &buffer, SourceLocation where = std::source_location::current()) {
    set(index_of(name, where), buffer, where);
  }
  template <class A>
    requires std::is_arithmetic_v<A> || FloatingScalar<A>
  void set(std::size_t index, A value, SourceLocation where = std::source_location::current()) {
    set_scalar(index, jit::host_scalar(value), where);
  }
  template <class A>
    requires std::is_arithmetic_v<A> || FloatingScalar<A>
  void set(std::string_view name, A value, SourceLocation where = std::source_location::current()) {
    set_scalar(index_of(name, where), jit::host_scalar(value), where);
  }

  Device device() const { return stream_.device(); }
  const Stream &stream() const { return stream_; }
  const PipelineOptions &options() const { return options_; }
  const std::string &pipeline_name() const;
  const std::string &schedule() const { return schedule_; }  // "" if none was chosen
  // The number of kernels that a launch runs.
  std::size_t kernel_launches() const;

  std::string to_string() const;  // "Launch of pipeline 'blur' (schedule 'cpu', 2 kernels) on cpu"

 private:
  friend struct jit::LaunchAccess;
  void set_bits(std::size_t index, std::uint64_t bits);
  std::size_t index_of(std::string_view name, SourceLocation where) const;
  void set_scalar(std::size_t index, jit::HostScalar value, SourceLocation where);
  void exchange(std::vector<jit::OwnedArgument> arguments);
  void launch_on(const Stream *other, SourceLocation where);
  void run_on(const Stream *other, SourceLocation where);

  jit::Held<jit::PipelineDefinition> definition_;
  PipelineOptions options_;
  std::string schedule_;
  Stream stream_;
  std::unique_ptr<jit::RecordedProgram> recorded_;
  jit::InUse in_use_;
};

std::ostream &operator<<(std::ostream &stream, const PipelineLaunch &launch);

namespace jit {

// Checks and runs a launch that is not recorded; its arrays between kernels come from the device's pool, and return to
// it.
void launch_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                     std::span<const Argument> arguments, SourceLocation where);

PipelineLaunch record_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                               std::vector<OwnedArgument> arguments, SourceLocation where);

// Captures `function`, which traces the pipeline's function on the parameters of the running capture.
std::shared_ptr<PipelineDefinition> define_pipeline(std::string name, std::vector<ir::Parameter> parameters,
                                                    FunctionRef<void(std::uint32_t serial)> function,
                                                    SourceLocation where);

const std::string &name_of(const PipelineDefinition &definition);

}  // namespace jit
}  // namespace samite
