// expect: write Float for float
#include "samite/samite.h"

using namespace samite;

struct Weights {
  Float first;
#ifdef SAMITE_EXPECT_OK
  Float second;
#else
  float second;
#endif
};

Kernel sum{"sum", [](Array<float, 1> a, Weights w) { a(0) = w.first + w.second; }};
