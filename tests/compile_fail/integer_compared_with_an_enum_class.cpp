// expect: an enum class is no integer, as in C++: write static_cast<int>(e)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

enum class Kind { air, wall };

#ifdef SAMITE_EXPECT_OK
Bool is_wall(const Int &kind) { return kind == static_cast<int>(Kind::wall); }
#else
Bool is_wall(const Int &kind) { return kind == Kind::wall; }
#endif
