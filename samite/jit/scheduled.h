// A scheduled pipeline: a C++ function of Funcs with its schedules, to be launched on arrays.
//
//   Pipeline blur{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) { … }};   // lang/func.h
//   blur.launch(out, in);
//   blur.launch({.stream = stream, .schedule = "tiled"}, out, in);
//   PipelineLaunch step = blur.record(out, in);
//   step.launch();
//
// The function runs once, when the Pipeline is constructed; nothing is compiled then. The first launch or record on a
// target, with a schedule, lowers that schedule to kernels and host loops around them (schedule/program.h), and
// compiles the kernels, concurrently, as a Kernel's launch does.
//
// Arguments and their checks are the same as a Kernel's. A launch has no extents: the arrays' extents determine what is
// computed. With Direction::adjoint, a launch adds to the gradients of the arrays that it reads. A tape records a
// launch whose arrays track gradients as one entry, with that adjoint; it refuses a pipeline that reads an array that
// it fills: UserError.
//
// Thread-safe after construction. Copies share compiled programs.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/jit/pipeline_launch.h"
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
      : definition_(defined(std::move(name).text(), parameter_names.texts(), function, where), "Pipeline") {}
  // Empty: assign a pipeline before any other use.
  Pipeline() : definition_(nullptr, "Pipeline") {}

  // Runs the pipeline.
  void launch(jit::ArgumentFor<Ps>... arguments, SourceLocation where = std::source_location::current()) const {
    jit::launch_pipeline(definition_.share(where), {}, jit::views_of<Ps...>(arguments...), where);
  }
  void launch(const PipelineOptions &options, jit::ArgumentFor<Ps>... arguments,
              SourceLocation where = std::source_location::current()) const {
    jit::launch_pipeline(definition_.share(where), options, jit::views_of<Ps...>(arguments...), where);
  }

  // Checks and compiles a launch now, and returns it as an object that can be launched many times.
  PipelineLaunch record(jit::ArgumentFor<Ps>... arguments,
                        SourceLocation where = std::source_location::current()) const {
    return jit::record_pipeline(definition_.share(where), {}, jit::owned<Ps...>(arguments...), where);
  }
  PipelineLaunch record(const PipelineOptions &options, jit::ArgumentFor<Ps>... arguments,
                        SourceLocation where = std::source_location::current()) const {
    return jit::record_pipeline(definition_.share(where), options, jit::owned<Ps...>(arguments...), where);
  }

  // The program of a launch on this device, as text: the host's steps and the kernels. Compiles nothing. UserError if
  // the pipeline has no such schedule, or it cannot be lowered.
  std::string program(Device device = Device::cpu(), const std::string &schedule = "",
                      SourceLocation where = std::source_location::current()) const {
    return at_call("asked for", where, [&] { return jit::program_text(*definition_, device, schedule); });
  }

  // The schedule's loop nest, one loop a line, with the Funcs produced in it, their memory and the barriers.
  std::string loop_nest(Device device = Device::cpu(), const std::string &schedule = "",
                        SourceLocation where = std::source_location::current()) const {
    return at_call("asked for", where, [&] { return jit::loop_nest_text(*definition_, device, schedule); });
  }

  // Writes a self-contained HTML file with the algorithm and its schedule, the loop nest, the memory over time, the
  // emitted text, and the kernels' resources and compile times. Compiles kernels that are not compiled yet, as for
  // contiguous arrays. UserError if the file cannot be written, and as above.
  void report_html(const std::string &file, Device device = Device::cpu(), const std::string &schedule = "",
                   SourceLocation where = std::source_location::current()) const {
    at_call("asked for", where, [&] { jit::write_page(*definition_, file, device, schedule); });
  }

  const std::string &name() const { return jit::name_of(*definition_); }

  // For the library.
  explicit Pipeline(std::shared_ptr<jit::PipelineDefinition> definition)
      : definition_(std::move(definition), "Pipeline") {}
  const std::shared_ptr<jit::PipelineDefinition> &definition() const { return definition_.share(); }

 private:
  template <class F>
  static std::shared_ptr<jit::PipelineDefinition> defined(std::string name, const std::vector<std::string> &names,
                                                          const F &function, SourceLocation where) {
    auto parameters = lang::named({lang::described<Ps>()...}, names, name, where);
    return jit::define_pipeline(
        std::move(name), std::move(parameters),
        [&](std::uint32_t serial) { lang::call_with_parameters<Ps...>(serial, function, where); }, where);
  }

  jit::Held<jit::PipelineDefinition> definition_;
};

// A function that is refused with a single message.
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
