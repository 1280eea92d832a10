// expect: if_ on a tile: the threads of a block go the same way
#include "samite/samite.h"

using namespace samite;

void halve(Tile<float> &x) {
#ifdef SAMITE_EXPECT_OK
  if_(tile::max(x) > 1, [&] { x = x * 0.5f; });
#else
  if_(x > 1, [&] { x = x * 0.5f; });
#endif
}
