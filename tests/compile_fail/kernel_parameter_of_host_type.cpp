// expect: a kernel's parameters are traced scalars and arrays: write Float for float
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Kernel scale{"scale", [](Array<float, 1> a, Float x) { a(0) *= x; }};
#else
Kernel scale{"scale", [](Array<float, 1> a, float x) { a(0) *= x; }};
#endif
