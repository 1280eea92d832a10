// The data that a program needs to launch an archived variant of a kernel without the kernel itself: parameters, the
// layout of the arguments, the facts that the code relies on, and its images.
//
// A recording run writes one next to the images of each variant (toolchain/image_archive.h), as text.
#pragma once

#include "samite/base/hash.h"
#include "samite/base/scalar_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite::shipped {

// A parameter of the kernel, or, after those, the gradient of an active array. Sets of the kernel's own parameters are
// bits.
struct FormParameter {
  std::string name = {};
  ScalarType type = ScalarType::Float32;
  int rank = 0;                  // 0: a scalar
  std::size_t offset = 0;        // in the block of arguments
  std::int64_t last_extent = 0;  // of an array of structs: the scalars of an element; otherwise 0
  int primal = -1;               // of a gradient: its array
  // The dimensions of an array, as bits, whose extents must be below 2^31, since the kernel indexes with Int.
  std::uint32_t narrow = 0;
  friend bool operator==(const FormParameter &, const FormParameter &) = default;
};

// A gathered adjoint's launch covers the array: both extents are equal.
struct CoveredDimension {
  int array = 0, dimension = 0, launch_dimension = 0;
  friend bool operator==(const CoveredDimension &, const CoveredDimension &) = default;
};

// CUDA: a kernel's bulk copies read boxes of rows × columns elements of an array.
struct FormTensorMap {
  int array = 0;  // the parameter
  ScalarType type = ScalarType::Float32;
  int rank = 2;
  std::int64_t rows = 1, columns = 1;
  bool values = false;  // row by row, for loads of elements; else in panels, for products
  friend bool operator==(const FormTensorMap &, const FormTensorMap &) = default;
};

// The kernels of a launch, which run one after another with the same arguments.
struct FormPart {
  Hash128 image = {};      // its key in the archive
  std::string entry = {};  // the symbol
  double cost = 1;         // estimated operations of an instance
  int lanes = 1;
  bool one_thread = false;      // its order of additions is fixed
  bool uses_workspace = false;  // local arrays that do not fit the stack, or a thread's memory
  // CUDA: as in codegen/emit.h's CudaForm.
  bool grid_stride = false, grid_axes = false;
  int threads_per_block = 256, instances_per_thread = 1, march = 1, tile_threads = 0;
  std::int64_t shared_bytes = 0;
  std::vector<FormTensorMap> tensor_maps = {};  // in the order of the kernel's parameter
  friend bool operator==(const FormPart &, const FormPart &) = default;
};

// The arrays of an adjoint, as bits.
struct AdjointArrays {
  std::uint64_t values_read = 0;  // whose elements it reads
  // For an adjoint by the user: arrays whose elements it reads as the forward launch left them, and those that it
  // writes.
  std::uint64_t values_after = 0, changed = 0;
  friend bool operator==(const AdjointArrays &, const AdjointArrays &) = default;
};

// CUDA: arrays by their rows, as bits. `tensor_maps`: those that can have one, see shipped/tensor_maps.h.
struct RowsOfArrays {
  std::uint64_t aligned = 0, whole = 0, tensor_maps = 0;
  friend bool operator==(const RowsOfArrays &, const RowsOfArrays &) = default;
};

// The facts that the code relies on, as in jit/variant.h's VariantKey; arrays as bits.
struct FormFacts {
  std::uint64_t distinct = 0;  // arrays that share memory with no other
  std::uint64_t unit_stride = 0, unaliased = 0;
  RowsOfArrays rows = {};
  std::uint64_t wide_index = 0;  // arrays that may have 2^31 elements or more
  bool may_alias = false;        // gradients may share elements
  friend bool operator==(const FormFacts &, const FormFacts &) = default;
};

struct LaunchForm {
  std::string kernel = {}, direction = {}, target = {};  // "scale", "adjoint", "x86-64-v3"
  int rank = 1;                                          // of the launch
  std::size_t argument_bytes = 0;
  std::vector<FormParameter> parameters = {};
  std::uint64_t active = 0;   // arrays with gradients
  std::uint64_t written = 0;  // arrays that the forward kernel writes
  AdjointArrays adjoint = {};
  std::uint64_t narrow = 0;  // dimensions of the launch whose extents must be below 2^31
  FormFacts facts = {};
  std::vector<CoveredDimension> covers = {};
  std::int64_t workspace_bytes = 0;  // CUDA: of a thread
  std::vector<FormPart> parts = {};

  std::size_t own_parameters() const;  // without gradients

  friend bool operator==(const LaunchForm &, const LaunchForm &) = default;
};

std::string to_text(const LaunchForm &form);
// Empty if the text is no form that to_text wrote: whatever it says, the offsets are within the block.
std::optional<LaunchForm> form_from(std::string_view text);

}  // namespace samite::shipped
