// expect: positions are float or double
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vec2f flow(const Vec2f &place) { return curl_noise(place); }
#else
Vector<BFloat16, 2> flow(const Vector<BFloat16, 2> &place) { return curl_noise(place); }
#endif
