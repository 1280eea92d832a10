// A scheduled pipeline: a C++ function of Funcs, and schedules beside it, to be launched on arrays.
//
//   Pipeline blur{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) { … }};   // lang/func.h
//   blur.launch(out, in);
//   blur.launch({.stream = stream, .schedule = "tiled"}, out, in);
//   PipelineLaunch step = blur.record(out, in);
//   step.launch();
//
// The function runs once, when the Pipeline is constructed; nothing is compiled then. The first launch or record on a
// target, with a schedule, lowers that schedule to kernels and loops of the host around them (schedule/program.h), and
// compiles the kernels, all at the same time, as a Kernel's launch does.
//
// Arguments are as a Kernel's, with the same checks. A launch has no extents: the arrays' extents say what is computed.
// Pipelines have no adjoints. Launched while a tape records, a pipeline is a UserError where one of its arrays tracks
// its gradient; else it runs, and the tape keeps what it overwrites.
//
// Thread-safe after construction. Copies share what is compiled.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/jit/pipeline_launch.h"
#include "samite/jit/pipeline_page.h"
#include "samite/jit/pipeline_report.h"
#include "samite/jit/vector_lanes.h"

namespace samite {

template <class Signature>
class Pipeline;  // the type of a member is written out: Pipeline<void(Array<float, 2>, Array<const float, 2>)>

template <class... Ps>
class Pipeline<void(Ps...)> {
  static_assert(
      (lang::KernelParameter<Ps> && ...),
      "a pipeline's parameters are traced scalars and arrays: write Float for float, Int for int (or Traced<T>), "
      "and Array<T, Rank> for a buffer");

 public:
  template <class F>
  Pipeline(Name name, const F &function, SourceLocation where = std::source_location::current())
      : Pipeline(std::move(name), {}, function, where) {}
  template <class F>
  Pipeline(Name name, const Names &parameter_names, const F &function,
           SourceLocation where = std::source_location::current())
      : Pipeline(jit::PipelineDefinition::make(
            lang::capture_pipeline<Ps...>(std::move(name).text(), parameter_names.texts(), function, where))) {}
  // None so far: assign one before anything else.
  Pipeline() : definition_(nullptr, "Pipeline") {}

  // Runs the pipeline.
  void launch(jit::ArgumentFor<Ps>... arguments, SourceLocation where = std::source_location::current()) const {
    jit::launch_pipeline(definition_.share(where), {}, jit::views_of<Ps...>(arguments...), where);
  }
  void launch(const PipelineOptions &options, jit::ArgumentFor<Ps>... arguments,
              SourceLocation where = std::source_location::current()) const {
    jit::launch_pipeline(definition_.share(where), options, jit::views_of<Ps...>(arguments...), where);
  }

  // The same as an object, checked and compiled now, to be launched many times.
  PipelineLaunch record(jit::ArgumentFor<Ps>... arguments,
                        SourceLocation where = std::source_location::current()) const {
    return jit::record_pipeline(definition_.share(where), {}, jit::owned<Ps...>(arguments...), where);
  }
  PipelineLaunch record(const PipelineOptions &options, jit::ArgumentFor<Ps>... arguments,
                        SourceLocation where = std::source_location::current()) const {
    return jit::record_pipeline(definition_.share(where), options, jit::owned<Ps...>(arguments...), where);
  }

  // What a launch on this device would run, as text: the host's steps and the kernels. Compiles nothing. UserError
  // where the schedule is none of the pipeline's, or cannot be lowered.
  std::string program(Device device = Device::cpu(), const std::string &schedule = "",
                      SourceLocation where = std::source_location::current()) const {
    return at_call("asked for", where, [&] { return jit::program_text(*definition_, device, schedule); });
  }

  // The same as the loops that the schedule makes, one a line, with what is produced in them, where it is kept and
  // where the threads of a block wait.
  std::string loop_nest(Device device = Device::cpu(), const std::string &schedule = "",
                        SourceLocation where = std::source_location::current()) const {
    return at_call("asked for", where, [&] { return jit::loop_nest_text(*definition_, device, schedule); });
  }

  // Writes a page of all this as one HTML file that needs no network: the algorithm and its schedule, the loop nest,
  // the memory over time, the emitted text, and what the kernels need and took. Compiles those kernels that were not
  // compiled yet, as for arrays without gaps. UserError where the file cannot be written, and as above.
  void report_html(const std::string &file, Device device = Device::cpu(), const std::string &schedule = "",
                   SourceLocation where = std::source_location::current()) const {
    at_call("asked for", where, [&] { jit::write_page(*definition_, file, device, schedule); });
  }

  const std::string &name() const { return definition_->name(); }

  // For the library.
  explicit Pipeline(std::shared_ptr<jit::PipelineDefinition> definition)
      : definition_(std::move(definition), "Pipeline") {}
  const std::shared_ptr<jit::PipelineDefinition> &definition() const { return definition_.share(); }

 private:
  jit::Held<jit::PipelineDefinition> definition_;
};

// A function that is refused: one message, and no other.
template <class F>
class Pipeline<jit::NoKernelFunction<F>> {
  static_assert(
      !std::is_class_v<F> || requires { &F::operator(); },
      "the parameters of a pipeline have types that are written out: Array<float, 1> or Float, not auto");
  static_assert(
      std::is_class_v<F> && !requires { &F::operator(); },
      "a pipeline's function returns nothing: what it computes fills its arrays");

 public:
  template <class... As>
  Pipeline(As &&...) {}
};
template <class... Ps>
class Pipeline<jit::NoKernelParameter<Ps...>> {
  static_assert(
      (lang::KernelParameter<Ps> && ...),
      "a pipeline's parameters are traced scalars and arrays: write Float for float, Int for int (or Traced<T>), "
      "and Array<T, Rank> for a buffer");

 public:
  template <class... As>
  Pipeline(As &&...) {}
};

template <>
class Pipeline<jit::NoKernelName> {
 public:
  template <class F>
  Pipeline(const F &) {
    static_assert(
        std::is_void_v<F>,
        "a pipeline has a name, which comes first: Pipeline blur{\"blur\", [](Array<float, 2> out, …) { … }}");
  }
};

template <class F, class Signature = typename jit::KernelSignature<F>::type>
Pipeline(Name, F) -> Pipeline<Signature>;
template <class F>
  requires requires { typename jit::SignatureOf<F>::type; }
Pipeline(F) -> Pipeline<jit::NoKernelName>;
template <class F, class Signature = typename jit::KernelSignature<F>::type>
Pipeline(Name, Names, F) -> Pipeline<Signature>;

}  // namespace samite
