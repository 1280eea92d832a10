// expect: random numbers are float or double; draw a float and cast it
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
float draw(HostRandom &random) { return random.normal(); }
#else
bfloat16 draw(HostRandom &random) { return random.normal<bfloat16>(); }
#endif
