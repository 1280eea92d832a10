// The block of memory in which a launch hands a kernel its arguments, in the order of the parameters:
//
//   array   { T *data; long long extent[rank]; long long stride[rank]; }   strides are in elements
//   scalar  an 8-byte slot, the value at its start
//
// Everything is 8-byte aligned, so that offsets are sums of sizes. samite/device/cpu/scalar.h is the emitted code's
// side.
#pragma once

#include "samite/ir/kernel.h"

#include <cstddef>
#include <vector>

namespace samite::codegen {

struct ArgumentLayout {
  std::vector<std::size_t> offsets;  // in bytes, one for each parameter
  std::size_t bytes = 0;             // of the whole block

  // Offsets within the part of an array.
  static constexpr std::size_t data_offset() { return 0; }
  static constexpr std::size_t extent_offset(int dimension) { return 8 + 8 * static_cast<std::size_t>(dimension); }
  static constexpr std::size_t stride_offset(int rank, int dimension) {
    return 8 + 8 * static_cast<std::size_t>(rank + dimension);
  }
};

ArgumentLayout argument_layout(const std::vector<ir::Parameter> &parameters);

}  // namespace samite::codegen
