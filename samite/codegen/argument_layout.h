// The block of memory that holds a kernel's arguments, in the order of the parameters:
//
//   array   { T *data; long long extent[rank]; long long stride[rank]; }   strides are in elements
//   scalar  an 8-byte slot, the value at its start
//
// All entries are 8-byte aligned, so offsets are sums of sizes. samite/device/cpu/scalar.h is the counterpart in
// emitted code.
#pragma once

#include "samite/ir/kernel.h"

#include <cstddef>
#include <vector>

namespace samite::codegen {

struct ArgumentLayout {
  std::vector<std::size_t> offsets;  // in bytes, one for each parameter
  std::size_t bytes = 0;             // of the whole block

  // Offsets within an array's entry.
  static constexpr std::size_t data_offset() { return 0; }
  static constexpr std::size_t extent_offset(int dimension) { return 8 + 8 * static_cast<std::size_t>(dimension); }
  static constexpr std::size_t stride_offset(int rank, int dimension) {
    return 8 + 8 * static_cast<std::size_t>(rank + dimension);
  }
};

ArgumentLayout argument_layout(const std::vector<ir::Parameter> &parameters);

}  // namespace samite::codegen
