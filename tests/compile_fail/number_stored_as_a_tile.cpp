// expect: a number is stored as a tile, whose extents say how much
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void clear(const Array<float, 1> &a) { tile::store(a, {block_index()}, tile::zeros<float>({64})); }
#else
void clear(const Array<float, 1> &a) { tile::store(a, {block_index()}, 0.0f); }
#endif
