#include "samite/jit/options.h"

#include <atomic>
#include <cstdlib>

namespace samite {
namespace {

std::atomic<bool> &debug_switch() {
  static std::atomic<bool> on = [] {
    const char *text = std::getenv("SAMITE_DEBUG");
    return text && *text && std::string_view(text) != "0";
  }();
  return on;
}

}  // namespace

std::string_view name(Direction direction) {
  switch (direction) {
    case Direction::forward: return "forward";
    case Direction::adjoint: return "adjoint";
    case Direction::tangent: return "tangent";
  }
  return "unknown";
}

bool debug_mode() { return debug_switch().load(std::memory_order_relaxed); }
void set_debug_mode(bool on) { debug_switch().store(on, std::memory_order_relaxed); }

}  // namespace samite
