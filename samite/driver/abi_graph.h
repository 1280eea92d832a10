// Graphs and stream capture, as the driver's binary interface has them; see abi.h.
#pragma once

#include "samite/driver/abi.h"

namespace samite::driver {

enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

enum class GraphNodeType : int {
  kernel = 0,
  copy = 1,
  set_memory = 2,
  host = 3,
  child_graph = 4,
  empty = 5,
  wait_event = 6,
  record_event = 7,
  allocate = 10,
  free = 11,
  conditional = 13,
};

enum class GraphUpdateResult : int {
  success = 0,
  error = 1,
  topology_changed = 2,
  node_type_changed = 3,
  function_changed = 4,
  parameters_changed = 5,
  not_supported = 6,
  unsupported_function_change = 7,
  attributes_changed = 8,
};

struct GraphUpdateInfo {
  GraphUpdateResult result;
  CUgraphNode error_node;
  CUgraphNode error_from_node;
};

struct KernelNodeParameters {
  CUfunction function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void **parameters;
  void **extra;
  CUkernel kernel;
  CUcontext context;
};

struct GraphEdgeData {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};

enum class ConditionalType : int { if_ = 0, while_ = 1, switch_ = 2 };

struct ConditionalNodeParameters {
  CUgraphConditionalHandle handle;
  ConditionalType type;
  unsigned size;    // how many bodies: 1; from 12.8 an `if_` may have 2, the second being its else
  CUgraph *bodies;  // set by the driver, an array of `size`
  CUcontext context;
};

// The parameters with which a node of any type is added; only the types that Samite adds this way have a member.
struct GraphNodeParameters {
  GraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    KernelNodeParameters kernel;
    ConditionalNodeParameters conditional;
  };
  long long reserved2;
};

inline constexpr unsigned set_capture_dependencies = 1;    // flag: the nodes replace the existing ones
inline constexpr unsigned conditional_assign_default = 1;  // flag: the handle's default is set at each launch

}  // namespace samite::driver
