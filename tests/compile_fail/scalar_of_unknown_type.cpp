// expect: is neither a number nor a bool
#include "samite/base/scalar_type.h"

struct Unknown {};

#ifdef SAMITE_EXPECT_OK
using Element = float;
#else
using Element = Unknown;
#endif

static_assert(samite::Scalar<Element>, "this type is neither a number nor a bool");
