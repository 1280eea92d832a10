// expect: sum goes through a Reduction, which comes first
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float row(const Array<const float, 1> &in, const Reduction<1> &k) { return sum(k, in(k)); }
#else
Float row(const Array<const float, 1> &in, const Reduction<1> &k) { return sum(in(k)); }
#endif
