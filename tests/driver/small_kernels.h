// Kernels of the fake driver for tests, and a launch of each.
#pragma once

#include "samite/driver/device_memory.h"
#include "samite/driver/launch.h"
#include "tests/driver/fake/fake_driver.h"

#include <cstring>

namespace samite::driver::test {

template <class T>
T parameter(void **parameters, std::size_t index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

// add(int *target, int amount): target[0] += amount
inline fake::KernelCode add_code(const std::string &name = "add") {
  return {.name = name, .parameter_bytes = {8, 4}, .pointers = {0}, .run = [](void **parameters) {
            *parameter<int *>(parameters, 0) += parameter<int>(parameters, 1);
          }};
}

// A kernel without parameters that ends in a fault.
inline fake::KernelCode fault_code(fake::FakeDriver &fake, Result code = Result::illegal_address) {
  return {.name = "astray", .run = [&fake, code](void **) { fake.fault(code); }};
}

inline Kernel load(fake::FakeDriver &fake, const Context &context, const fake::KernelCode &code) {
  return Library::load(context, fake.image({code})).kernel(code.name);
}

inline void add(const Stream &stream, const Kernel &kernel, CUdeviceptr target, int amount,
                SourceLocation where = std::source_location::current()) {
  void *parameters[] = {&target, &amount};
  launch(stream, kernel, {}, parameters, where);
}

}  // namespace samite::driver::test
