// expect: tile::barrier: leave it out
#include "samite/samite.h"

using namespace samite;

Float twice(const Tile<float> &x) {
  const Float sum = tile::sum(x);
#ifndef SAMITE_EXPECT_OK
  tile::barrier();
#endif
  return sum * 2;
}
