// Many devices: communicators over MPI, NCCL or threads, collectives with gradients, grids, sparse systems, training.
#pragma once

#include "samite/distributed/collectives.h"
#include "samite/distributed/communicator.h"
#include "samite/distributed/data_parallel.h"
#include "samite/distributed/grid.h"
#include "samite/distributed/grid_file.h"
#include "samite/distributed/grid_part.h"
#include "samite/distributed/sparse_matrix.h"
