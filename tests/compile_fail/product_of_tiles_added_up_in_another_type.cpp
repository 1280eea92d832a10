// expect: factors of half and bfloat16 are added up in float or their own type
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void multiply(const Tile<half> &a, const Tile<half> &b, Tile<float> &sum) { tile::matmul(a, b, sum); }
#else
void multiply(const Tile<half> &a, const Tile<half> &b, Tile<double> &sum) { tile::matmul(a, b, sum); }
#endif
