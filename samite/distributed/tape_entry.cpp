#include "samite/distributed/tape_entry.h"

#include "samite/jit/tape_access.h"

namespace samite::distributed {

void run_on_tapes(const Communicator &ranks, TapeFunction function, SourceLocation where) {
  if (jit::TapeAccess::recording() == nullptr) return function.forward();
  // An element with a gradient, which nothing else uses, connects the call to the tape.
  const auto connection = [&] { return AnyBuffer(ranks.device(), ScalarType::Float32, {1}, Gradient::tracked); };
  function.outputs.push_back(connection()), function.inputs.push_back(connection());
  run_on_tape(function, where);
}

}  // namespace samite::distributed
