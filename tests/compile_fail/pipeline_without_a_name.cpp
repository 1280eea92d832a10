// expect: a pipeline has a name, which comes first
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Pipeline one{"one", [](Array<float, 1> a) { Func{"f", a}(Var("x")) = 1; }};
#else
Pipeline one{[](Array<float, 1> a) { Func{"f", a}(Var("x")) = 1; }};
#endif
