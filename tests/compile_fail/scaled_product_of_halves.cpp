// expect: a scaled product has factors of f8e4m3 or f8e5m2; ops::Matmul multiplies other types
#include "samite/samite.h"

#include "samite/ops/scaled_matmul.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Factor = f8e4m3;
#else
using Factor = half;
#endif

const ops::ScaledMatmul product{"product", [](const ops::ScaledSums<Factor> &s) { return s.values(); }};
