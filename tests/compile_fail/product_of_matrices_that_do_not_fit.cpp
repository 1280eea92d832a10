// expect: as many columns on the left as there are rows on the right
#include "samite/samite.h"

using namespace samite;

using Wide = Matrix<Float, 2, 3>;

#ifdef SAMITE_EXPECT_OK
auto product(Wide a, Wide b) { return a * transpose(b); }
#else
auto product(Wide a, Wide b) { return a * b; }
#endif
