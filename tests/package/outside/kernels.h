// A kernel that is compiled ahead of time, and the launches that the archive should contain.
#pragma once

#include <samite/samite.h>

inline bool cube_and_its_gradient_are_right() {
  using namespace samite;
  Kernel cube{"cube", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                Int i = thread_index();
                y(i) = x(i) * x(i) * x(i);
              }};
  Buffer<float> x{Device::cpu(), {3}, {1, 2, 3}, Gradient::tracked}, y{Device::cpu(), {3}, Gradient::tracked};
  cube.launch({3}, y, x);
  y.gradient().fill(1);
  cube.launch({3}, {.direction = Direction::adjoint}, y, x);
  return y.at(2) == 27 && x.gradient().at(2) == 27;
}
