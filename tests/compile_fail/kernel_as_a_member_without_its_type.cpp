// expect: invalid use of template-name
// expect of Clang: the type of a member is written out: Kernel<void(Array<float, 1>, Float)>
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
struct Solver {
  Kernel<void(Array<float, 1>)> one{"one", [](Array<float, 1> a) { a(thread_index()) = 1; }};
};
#else
struct Solver {
  Kernel one{"one", [](Array<float, 1> a) { a(thread_index()) = 1; }};
};
#endif
