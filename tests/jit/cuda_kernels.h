// Launches of the library's kernels on the fake driver, which runs C++ functions in their place, and on a GPU, where
// the compiled kernels run. Needs NVRTC.
#pragma once

#include "samite/samite.h"
#include "samite/toolchain/nvrtc.h"
#include "tests/runtime/cuda_setting.h"

#include <cstring>
#include <functional>

namespace samite::test {

// Arguments as emitted code has them.
template <class T>
struct ArrayArgument {
  T *data;
  std::int64_t extent, stride;
};
template <class T>
struct MatrixArgument {
  T *data;
  std::int64_t extent[2], stride[2];
};
struct LaunchBox {
  std::int64_t begin[4], end[4];
};

// The kernels that multiply `in` by a factor, and their computations.
struct ScaleArguments {
  ArrayArgument<float> out, in;
  float factor;
};
inline void run_scale(const ScaleArguments &arguments, const LaunchBox &box) {
  for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i)
    arguments.out.data[i * arguments.out.stride] = arguments.factor * arguments.in.data[i * arguments.in.stride];
}

// The kernel `name`, whose argument block is an Arguments.
template <class Arguments>
driver::fake::KernelCode kernel_code(const std::string &name,
                                     const std::function<void(const Arguments &, const LaunchBox &)> &run) {
  driver::fake::KernelCode code;
  code.name = "samite_" + name;
  code.parameter_bytes = {sizeof(Arguments), sizeof(LaunchBox), 8, 16};
  code.run = [run](void **parameters) {
    Arguments arguments;
    LaunchBox box;
    std::memcpy(&arguments, parameters[0], sizeof arguments);
    std::memcpy(&box, parameters[1], sizeof box);
    run(arguments, box);
  };
  return code;
}

class CudaKernelTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    try {
      nvrtc();
    } catch (const DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Does nothing on a GPU.
  template <class Arguments>
  void understand(const std::string &name, const std::function<void(const Arguments &, const LaunchBox &)> &run) {
    if (fake()) fake()->understand(kernel_code<Arguments>(name, run));
  }
};

}  // namespace samite::test
