// expect: these two types of factors have no common one
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void multiply(const Tile<half> &a, const Tile<float> &b, Tile<float> &sum) { tile::matmul(a, b, sum); }
#else
void multiply(const Tile<std::int32_t> &a, const Tile<float> &b, Tile<float> &sum) { tile::matmul(a, b, sum); }
#endif
