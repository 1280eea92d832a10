#include "samite/base/thread_mode.h"

namespace samite::internal {

constinit thread_local unsigned thread_modes = 0;

}  // namespace samite::internal
