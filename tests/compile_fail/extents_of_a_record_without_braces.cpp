// expect: extents are in braces: launch({n}, …)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Launch run(const Kernel<void(Array<float, 1>)> &kernel, const Buffer<float> &b) { return kernel.record({3}, b); }
#else
Launch run(const Kernel<void(Array<float, 1>)> &kernel, const Buffer<float> &b) { return kernel.record(3, b); }
#endif
