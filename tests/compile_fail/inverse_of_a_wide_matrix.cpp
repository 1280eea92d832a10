// expect: inverse is of a square matrix
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void invert(const Matrix<Float, 2, 2> &m) { inverse(m); }
#else
void invert(const Matrix<Float, 2, 3> &m) { inverse(m); }
#endif
