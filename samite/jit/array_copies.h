// Copies of whole arrays by the library's own kernels, compiled by CUDA's compiler (samite/device/cuda/copy_array.h):
// of factors whose layout bulk copies cannot read (passes/tiles/factor_copies.h).
#pragma once

#include "samite/codegen/argument_layout.h"
#include "samite/driver/launch.h"
#include "samite/jit/cuda_code.h"
#include "samite/passes/tiles/factor_copies.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace samite::jit {

struct ArrayCopy : passes::FactorCopy {
  // Whether the array's rows are contiguous; otherwise its columns are.
  bool by_rows = true;
  std::shared_ptr<const CudaCode> code;
};

// Compiles the code if neither the process nor the disk cache has it. Thread-safe.
ArrayCopy array_copy(const passes::FactorCopy &copy, ScalarType type, bool by_rows, int compute_capability);

// The parameter of its kernel: four dimensions of the copy, the first possibly of extent 1. Strides and row_bytes are
// in bytes.
struct ArrayCopyArguments {
  std::uint64_t from, to;
  std::int64_t extent[4], stride[4], row_bytes;
};
static_assert(sizeof(ArrayCopyArguments) == 88);

// The number of blocks of a launch, of `array_copy_threads` threads each.
inline constexpr int array_copy_threads = 256;
std::int64_t array_copy_blocks(const ArrayCopyArguments &arguments, bool by_rows);

// A prepared launch on one stream; a value.
class ArrayCopyLaunch {
 public:
  // Between the arrays in `arguments`, a block with the layout. No extent is 0, and a copy has fewer than 2^31
  // elements.
  ArrayCopyLaunch(const ArrayCopy &copy, const ir::Parameter &array, const codegen::ArgumentLayout &layout,
                  const std::byte *arguments, std::optional<int> priority, const driver::Stream &stream,
                  SourceLocation where);

  const driver::PreparedLaunch &prepared() const noexcept { return prepared_; }
  // The address of its parameter, which the driver does not modify.
  void *parameter() const noexcept { return const_cast<ArrayCopyArguments *>(&arguments_); }

 private:
  ArrayCopyArguments arguments_;
  driver::PreparedLaunch prepared_;
};

}  // namespace samite::jit
