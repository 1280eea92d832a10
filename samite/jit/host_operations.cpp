#include "samite/jit/host_operations.h"

#include "samite/jit/graph_capture.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape_access.h"
#include "samite/runtime/host_operation.h"

namespace samite::jit {
namespace {

// Modes are checked in the same order as for a launch (launch_now).
void handle(const HostOperation &operation) {
  if (GraphCapture *capture = GraphCapture::current()) return capture->add(operation);
  if (TangentLaunches *tangents = TangentLaunches::current()) return tangents->perform(operation);
  if (Tape *tape = TapeAccess::recording()) return TapeAccess::append(*tape, operation);
  run(operation);
}

}  // namespace

void handle_host_operations() noexcept { set_host_operation_handler(handle); }

}  // namespace samite::jit
