// The device that tests of kernels run on: the CPU, or what SAMITE_TEST_DEVICE names, "cpu" or "cuda:0". So the tests
// of the language and of gradients are run on a GPU, too.
#pragma once

#include "samite/runtime/device.h"

#include <cstdlib>
#include <string>

namespace samite::test {

inline Device device() {
  const char *name = std::getenv("SAMITE_TEST_DEVICE");
  const std::string text = name ? name : "cpu";
  return text.starts_with("cuda:") ? Device::cuda(std::atoi(text.c_str() + 5)) : Device::cpu();
}

}  // namespace samite::test

// For tests of what only the CPU has.
#define SAMITE_ON_THE_CPU() \
  if (::samite::test::device() != ::samite::Device::cpu()) GTEST_SKIP() << "on the CPU alone"
