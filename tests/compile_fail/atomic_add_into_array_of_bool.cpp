// expect: atomic_add is for arrays of numbers, not of bool
#include "samite/lang/atomic.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Flag = unsigned char;
#else
using Flag = bool;
#endif

void mark(Array<Flag, 1> flags, Traced<Flag> flag) { atomic_add(flags(0), flag); }
