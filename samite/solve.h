// Samite's solvers, beside samite/samite.h: sparse matrices, linear systems, and their gradients.
#pragma once

#include "samite/solve/linear_operator.h"
#include "samite/solve/solver.h"
#include "samite/solve/sparse_matrix.h"
