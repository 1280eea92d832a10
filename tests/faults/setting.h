// Common code of this program's scenarios: an empty machine with the fake driver, and kernels for it. The compilers are
// fakes, too, so that nothing needs a toolkit.
#pragma once

#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"
#include "tests/faults/fault_sweep.h"
#include "tests/jit/cuda_kernels.h"

namespace samite::test {

// Makes the machine the process's own. The sweep undoes its changes.
inline void start(driver::fake::FakeDriver &fake) {
  fake.understand(strided_copy_code());
  fake.understand(set_condition_code(fake));
  fake.understand({.name = "samite_nothing"});
  driver::Driver::provide(fake.driver());
}

// out(i) = factor * in(i)
inline Kernel<void(Array<float, 1>, Array<const float, 1>, Float)> scale_kernel(driver::fake::FakeDriver &fake) {
  fake.understand(kernel_code<ScaleArguments>("scale", [](const ScaleArguments &arguments, const LaunchBox &box) {
    for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i)
      arguments.out.data[i * arguments.out.stride] = arguments.factor * arguments.in.data[i * arguments.in.stride];
  }));
  return {"scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
            Int i = thread_index();
            out(i) = factor * in(i);
          }};
}

}  // namespace samite::test
