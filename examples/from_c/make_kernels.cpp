// Kernels for programs in C: the build runs this program, which launches the kernels for the archive.
#include <samite/samite.h>

using namespace samite;

int main() {
  Kernel scale{"scale", {"y", "x", "factor"}, [](Array<float, 1> y, Array<const float, 1> x, Float factor) {
                 Int i = thread_index();
                 y(i) = factor * x(i) * x(i);
               }};
  Buffer<float> x{Device::cpu(), {8}, Gradient::tracked};
  Buffer<float> y{Device::cpu(), {8}, Gradient::tracked};
  scale.record_with_adjoint({8}, y, x, 1.0f);
}
