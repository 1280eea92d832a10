// Differentiates a chain of two kernels by a tape, in C++ and without Samite's language: z = 3 (3 x²)², dz/dx = 108 x³.
#include <samite/shipped/archived.h>

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
  namespace archived = samite::archived;
  try {
    archived::open(argc > 1 ? argv[1] : "from_c_kernels.samite");
    const std::int64_t n = 3;
    std::vector<float> x{1, 2, 3}, y(3), z(3), x_gradient(3), y_gradient(3), z_gradient{1, 1, 1};
    archived::Tape tape;
    tape.launch("scale", {n}, {{y.data(), {n}, y_gradient.data()}, {x.data(), {n}, x_gradient.data()}, {3.0f}});
    tape.launch("scale", {n}, {{z.data(), {n}, z_gradient.data()}, {y.data(), {n}, y_gradient.data()}, {3.0f}});
    tape.backward();
    for (std::size_t i = 0; i < x.size(); ++i) std::printf("x %g: z %g, dz/dx %g\n", x[i], z[i], x_gradient[i]);

    // y would carry a gradient from x to z, but has no memory for it.
    tape.clear();
    tape.launch("scale", {n}, {{y.data(), {n}, y_gradient.data()}, {x.data(), {n}, x_gradient.data()}, {3.0f}});
    tape.launch("scale", {n}, {{z.data(), {n}, z_gradient.data()}, {y.data(), {n}}, {3.0f}});
  } catch (const archived::Error &error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}
