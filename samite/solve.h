// Samite's solvers, in addition to samite/samite.h: sorting and scans of whole vectors, sparse matrices, linear systems
// and their gradients, optimisers, nonlinear least squares.
#pragma once

#include "samite/solve/assembly.h"
#include "samite/solve/direct.h"
#include "samite/solve/groups.h"
#include "samite/solve/implicit.h"
#include "samite/solve/lbfgs.h"
#include "samite/solve/least_squares.h"
#include "samite/solve/linear_operator.h"
#include "samite/solve/many_systems.h"
#include "samite/solve/matrix_market.h"
#include "samite/solve/optimiser.h"
#include "samite/solve/scan.h"
#include "samite/solve/solver.h"
#include "samite/solve/sort.h"
#include "samite/solve/sparse_jacobian.h"
#include "samite/solve/sparse_matrix.h"
#include "samite/solve/sparse_product.h"
#include "samite/solve/spy_plot.h"
