// expect: two factors of f8e5m2 leave two digits of a product
#include "samite/samite.h"

#include "samite/ops/scaled_matmul.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Other = f8e4m3;
#else
using Other = f8e5m2;
#endif

void multiply(const Buffer<f8e5m2> &a, const Buffer<Other> &b, const Buffer<float> &one, const Buffer<float> &c) {
  ops::scaled_matmul(a, b, one, one, c);
}
