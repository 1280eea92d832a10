// The arguments of the driver's memory pools, in its binary interface; see abi.h.
#pragma once

#include "samite/driver/abi.h"

namespace samite::driver {

enum class MemoryLocationType : int { invalid = 0, device = 1, host = 2 };
enum class MemoryAllocationType : int { invalid = 0, pinned = 1 };
enum class MemoryHandleType : int { none = 0, posix_file_descriptor = 1 };
enum class MemoryAccess : int { none = 0, read = 1, read_write = 3 };
enum class MemoryPoolAttribute : int {
  reuse_follow_event_dependencies = 1,
  reuse_allow_opportunistic = 2,
  reuse_allow_internal_dependencies = 3,
  release_threshold = 4,  // bytes, as uint64
  reserved_now = 5,
  reserved_high = 6,
  used_now = 7,
  used_high = 8,
};

struct MemoryLocation {
  MemoryLocationType type;
  int device;
};

struct MemoryAccessDescription {
  MemoryLocation location;
  MemoryAccess access;
};

struct MemoryPoolProperties {
  MemoryAllocationType allocation_type;
  MemoryHandleType handle_types;
  MemoryLocation location;
  void *win32_security_attributes;
  std::size_t max_bytes;  // read by drivers from 12.2; 0: as much as the device has
  unsigned short usage;
  unsigned char reserved[54];
};

enum class PointerAttribute : int { context = 1, memory_type = 2, device_ordinal = 9 };

}  // namespace samite::driver
