// expect: both factors have one type
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void multiply(const Tile<half> &a, const Tile<half> &b, Tile<float> &sum) { tile::matmul(a, b, sum); }
#else
void multiply(const Tile<half> &a, const Tile<float> &b, Tile<float> &sum) { tile::matmul(a, b, sum); }
#endif
