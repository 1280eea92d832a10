// expect: no known conversion for argument 3 from
// expect of Clang: no known conversion from 'double' to 'jit::ArgumentFor<samite::Traced<int>>' for 3rd argument
#include "samite/samite.h"

using namespace samite;

Kernel fill{"fill", [](Array<float, 1> a, Int value) { a(thread_index()) = cast<Float>(value); }};

void launch(const Buffer<float> &floats, const Buffer<double> &doubles) {
#ifdef SAMITE_EXPECT_OK
  fill.launch({4}, floats, 1);
#else
  fill.launch({4}, floats, 0.5);
#endif
}
