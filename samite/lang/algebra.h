// Small algebra on traced values, or on numbers of the host: vectors, matrices, quaternions, rigid transforms.
//
// Decompositions are apart, so that programs without them do not compile them: symmetric_eigen.h, svd.h, qr.h and
// polar.h in lang/algebra/.
#pragma once

#include "samite/lang/algebra/inverse.h"
#include "samite/lang/algebra/transform.h"
