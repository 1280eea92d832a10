// expect: cast_what_is_assigned
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void halve(Tile<float> &x) { x *= 0.5; }
#else
void halve(Tile<std::int32_t> &x) { x *= 0.5; }
#endif
