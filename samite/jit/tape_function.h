// Functions of the host and of other libraries on a tape: one runs forward, another backward in its place.
//
//   tape.record([&] {
//     square.launch({n}, y, x);
//     tape.record_function({spectrum}, {y},
//                          [&] { transform(y, spectrum); },
//                          [&](const FunctionGradients &of) { add_transformed(of.outputs[0], of.inputs[0]); });
//   });
//
// `forward` runs once, immediately. Its launches and copies are not recorded. It overwrites every element of each
// output, reads the inputs, and may use memory of its own. The tape marks the outputs as written, so that a library may
// write to their addresses.
//
// `backward` runs at each `Tape::backward`, and adds the contributions of the outputs' gradients to the gradients of
// the inputs. The tape then sets the gradients of the outputs to zero, since the function has overwritten these.
//
// When a graph captures Tape::backward, `backward` runs at each launch of the graph on the CPU. On CUDA it runs during
// the capture, and work that it puts into the captured stream becomes part of the graph.
//
// The tape checks versions as for a launch: values that `backward` reads and that later operations overwrite are
// copied, or refused. Arrays on the tape that the function writes and does not declare are a UserError: found by their
// versions, and in debug mode (SAMITE_DEBUG) by their contents, too, which finds writes to addresses. An array that
// the tape uses only afterwards is not checked: declare each array that the tape reads later.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <functional>
#include <string>
#include <vector>

namespace samite {

struct FunctionOptions {
  std::string name = "function";  // in messages
  // Whether `backward` reads values besides gradients. The tape need not keep values that it does not read.
  bool reads_inputs = true, reads_outputs = true;
  // Whether `backward` only launches kernels and copies arrays, so that another tape may record it, for second
  // derivatives. Otherwise that is refused.
  bool differentiable_backward = false;
};

// The arguments of `backward`, in the order in which the arrays were declared.
struct FunctionGradients {
  // Gradients; an array without one has an empty buffer here. Outputs are to be read. Inputs are to be added to.
  std::vector<AnyBuffer> outputs, inputs;
  // The arrays' values: inputs as they were before the function, outputs as they were after it. They may be copies
  // that the tape has kept.
  std::vector<AnyBuffer> output_values, input_values;
};

struct TapeFunction {
  std::vector<AnyBuffer> outputs, inputs;
  std::function<void()> forward;
  std::function<void(const FunctionGradients &)> backward;
  FunctionOptions options = {};
};

// Runs `forward`, on the tape that this thread records, if there is one: for libraries whose functions users call
// inside of `Tape::record`. UserError as for Tape::record_function.
void run_on_tape(const TapeFunction &function, SourceLocation where = std::source_location::current());

// Runs `work` without recording it, if this thread records a tape: its results are constants to the tape. It must not
// write arrays that track gradients and that the tape has used; `backward` refuses that. UserError inside of a
// Hessian-vector product.
//
//   tape.record([&] {
//     step.launch({n}, y, x);
//     without_gradients([&] { largest.launch({n}, scale, y); });   // scale is a constant
//     divide.launch({n}, z, y, scale);
//   });
void without_gradients(const std::function<void()> &work, SourceLocation where = std::source_location::current());

}  // namespace samite
