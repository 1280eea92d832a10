// Constructs a kernel but does not launch it: the build names the adjoint that the archive should contain.
#include <samite/samite.h>

int main() {
  using namespace samite;
  const Kernel ramp{"ramp", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Int i = thread_index();
                      y(i) = max(x(i), 0.0f);
                    }};
  return ramp.name() == "ramp" ? 0 : 1;
}
