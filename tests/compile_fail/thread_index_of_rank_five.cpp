// expect: no matching function
#include "samite/lang/math.h"

using namespace samite;

void use() {
#ifdef SAMITE_EXPECT_OK
  thread_index<4>();
#else
  thread_index<5>();
#endif
}
