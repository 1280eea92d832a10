#include "samite/base/thread_mode.h"

namespace samite {

constinit thread_local unsigned internal::thread_modes = 0;

bool calling_thread_is_in_any_mode() noexcept { return is_in_any_mode(); }

}  // namespace samite
