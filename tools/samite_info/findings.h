// The parts that Samite finds on this machine, and those that it lacks.
#pragma once

#include <string>
#include <vector>

namespace samite::info {

struct Finding {
  std::string what;     // "NVRTC"
  std::string found;    // "12.9, /usr/local/cuda/lib64/libnvrtc.so.12"; empty if there is none
  std::string missing;  // what is wrong, what it means and how to mend it; empty if all is well
};

// Opens the driver, the compilers and their libraries to see that they work; compiles nothing.
std::vector<Finding> findings();

}  // namespace samite::info
