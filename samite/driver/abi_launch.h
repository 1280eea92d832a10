// The arguments of the driver's launch call, in its binary interface; see abi.h.
#pragma once

#include "samite/driver/abi.h"

namespace samite::driver {

enum class LaunchAttributeId : int {
  ignore = 0,
  cooperative = 2,
  cluster_dimension = 4,
  programmatic_stream_serialization = 6,
  priority = 8,
  preferred_shared_carveout = 14,
};

union LaunchAttributeValue {
  int cooperative;
  struct {
    unsigned x, y, z;
  } cluster_dimension;
  int programmatic_stream_serialization_allowed;
  int priority;
  unsigned shared_carveout;
  struct {
    void *pointer;
    char bytes[56];
  } other;  // gives the size and alignment that the attributes not named here need
};

struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[4];
  LaunchAttributeValue value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;  // dynamic shared memory of a block
  CUstream stream;
  LaunchAttribute *attributes;
  unsigned attribute_count;
};

}  // namespace samite::driver
