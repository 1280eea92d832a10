// Small algebra on traced values, or on numbers of the host: vectors, matrices and their decompositions, quaternions,
// rigid transforms.
#pragma once

#include "samite/lang/algebra/euler_angles.h"
#include "samite/lang/algebra/inverse.h"
#include "samite/lang/algebra/polar.h"
#include "samite/lang/algebra/qr.h"
#include "samite/lang/algebra/svd.h"
#include "samite/lang/algebra/symmetric_eigen.h"
#include "samite/lang/algebra/transform.h"
