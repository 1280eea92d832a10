#include "samite/jit/host_operations.h"

#include "samite/runtime/host_operation.h"

namespace samite::jit {
namespace {

// In the order that launches have, see launch_now().
void handle(const HostOperation &operation) { run(operation); }

}  // namespace

void handle_host_operations() noexcept { set_host_operation_handler(handle); }

}  // namespace samite::jit
