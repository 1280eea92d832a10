// What Samite finds on this machine, and what it lacks.
#pragma once

#include <string>
#include <vector>

namespace samite::info {

struct Finding {
  std::string what;     // "NVRTC"
  std::string found;    // "12.9, /usr/local/cuda/lib64/libnvrtc.so.12"; empty where there is none
  std::string missing;  // what is wrong, what it means, and what it takes to mend it; empty where all is well
};

// Opens the driver, the compilers and their libraries to see that they work; compiles nothing.
std::vector<Finding> findings();

}  // namespace samite::info
