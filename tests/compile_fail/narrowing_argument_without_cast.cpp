// expect: cast_what_is_assigned
// expect of Clang: it does not promote
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float half_of(const Float &);
Float half_of_double(const Double &d) { return half_of(cast<Float>(d)); }
#else
Float half_of(const Float &);
Float half_of_double(const Double &d) { return half_of(d); }
#endif
