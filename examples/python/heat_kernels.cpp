// The kernel of the examples in Python: one step of the heat equation, as a module.
#include <samite/python/module.h>
#include <samite/samite.h>

using namespace samite;

// A field's edge has no neighbours outside: the field continues there with its edge values.
Kernel diffuse{"diffuse", {"next", "now", "rate"}, [](Array<float, 2> next, Array<const float, 2> now, Float rate) {
                 auto [y, x] = thread_index<2>();
                 auto at = [&](const Int &row, const Int &column) {
                   return now(clamp(row, 0, now.extent(0) - 1), clamp(column, 0, now.extent(1) - 1));
                 };
                 Float around = at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1);
                 next(y, x) = now(y, x) + rate * (around - 4.0f * now(y, x));
               }};

SAMITE_PYTHON_MODULE(heat_kernels, module) { module.def(diffuse, "One step of the heat equation."); }
