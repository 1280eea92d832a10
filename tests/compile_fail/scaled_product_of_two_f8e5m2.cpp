// expect: two factors of f8e5m2 leave two digits of a product
#include "samite/samite.h"

#include "samite/ops/scaled_matmul.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Other = f8e4m3;
#else
using Other = f8e5m2;
#endif

const ops::ScaledMatmul product{"product", [](const ops::ScaledSums<f8e5m2, Other> &s) { return s.values(); }};
