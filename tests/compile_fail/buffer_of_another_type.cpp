// expect: no known conversion for argument 2 from
// expect of Clang: to 'jit::ArgumentFor<samite::Array<float, 1>>' for 2nd argument
#include "samite/samite.h"

using namespace samite;

Kernel fill{"fill", [](Array<float, 1> a, Int value) { a(thread_index()) = cast<Float>(value); }};

void launch(const Buffer<float> &floats, const Buffer<double> &doubles) {
#ifdef SAMITE_EXPECT_OK
  fill.launch({4}, floats, 1);
#else
  fill.launch({4}, doubles, 1);
#endif
}
