// Measures the time of a step.
#pragma once

#include <chrono>

namespace samite::jit {

inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace samite::jit
