// expect: extents are in braces: launch({n}, …)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void run(const Kernel<void(Array<float, 1>)> &kernel, const Buffer<float> &b) { kernel.launch({3}, b); }
#else
void run(const Kernel<void(Array<float, 1>)> &kernel, const Buffer<float> &b) { kernel.launch(3, b); }
#endif
