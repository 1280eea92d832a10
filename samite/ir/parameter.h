// A parameter of a kernel: a scalar or an array.
#pragma once

#include "samite/base/scalar_type.h"

#include <cstdint>
#include <string>

namespace samite::ir {

inline constexpr int maximum_rank = 4;

// The role of a parameter. A gradient parameter belongs to the primal parameter `primal` of the same kernel.
enum class Role : std::uint8_t { Primal, Gradient };

struct Parameter {
  std::string name;
  ScalarType type;
  int rank = 0;            // 0: a scalar, passed by value; 1 to 4: an array
  bool read_only = false;  // an array that the kernel may not write
  Role role = Role::Primal;
  std::uint32_t primal = 0;
  bool distinct = false;         // an array that shares memory with no other argument of a launch
  std::int64_t last_extent = 0;  // of an array of structs: the scalars of an element; otherwise 0, any extent

  bool is_array() const { return rank > 0; }
  friend bool operator==(const Parameter &, const Parameter &) = default;
};

}  // namespace samite::ir
