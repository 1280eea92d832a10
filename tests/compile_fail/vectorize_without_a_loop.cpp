// expect: name_the_loop
// expect of Clang: name the loop: vectorize(x, 8)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void schedule_rows(const Func<float> &rows, const Var &x) { rows.vectorize(x, 8); }
#else
void schedule_rows(const Func<float> &rows, const Var &) { rows.vectorize(8); }
#endif
