// expect: cast_to_a_traced_type
// expect of Clang: write cast<Float>(x)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float number(const Var &x) { return cast<Float>(x); }
#else
auto number(const Var &x) { return cast<float>(x); }
#endif
