#include "samite/distributed/tape_entry.h"

#include "samite/base/error.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/tape_access.h"

#include <fmt/format.h>

namespace samite::distributed {

void run_on_tapes(const Communicator &ranks, TapeFunction function, SourceLocation where) {
  if (jit::GraphCapture *capture = jit::GraphCapture::current()) {
    if (!(capture->stream() == ranks.stream()))
      throw UserError(where,
                      fmt::format("{} is on {}, and the capture is of {}: use a communicator on that stream, "
                                  "communicator.on(stream)",
                                  function.options.name, ranks.stream().to_string(), capture->stream().to_string()));
    if (ranks.stream().cuda() == nullptr)
      return capture->add_call(function.options.name, function.outputs, function.forward);
    return function.forward();
  }
  if (jit::TapeAccess::recording() == nullptr) return function.forward();
  // An element with a gradient, which nothing else uses, connects the call to the tape.
  const auto connection = [&] { return AnyBuffer(ranks.device(), ScalarType::Float32, {1}, Gradient::tracked); };
  function.outputs.push_back(connection()), function.inputs.push_back(connection());
  run_on_tape(function, where);
}

}  // namespace samite::distributed
