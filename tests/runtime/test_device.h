// The device for tests of kernels: the CPU, or the one in SAMITE_TEST_DEVICE, "cpu" or "cuda:0". With it the tests of
// the language and of gradients also run on a GPU.
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

// For tests of features that only the CPU has.
#define SAMITE_ON_THE_CPU() \
  if (::samite::test::device() != ::samite::Device::cpu()) GTEST_SKIP() << "on the CPU alone"
