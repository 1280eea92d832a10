// expect: the parameters of a kernel have types that are written out: Array<float, 1> or Float, not auto
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
TileKernel zero{"zero", [](Array<float, 1> a) { tile::store(a, {0}, tile::zeros<float>({32})); }};
#else
TileKernel zero{"zero", [](auto a) { tile::store(a, {0}, tile::zeros<float>({32})); }};
#endif
