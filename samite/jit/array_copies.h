// Copies of whole arrays by kernels of the library's own, which CUDA's compiler makes
// (samite/device/cuda/copy_array.h): of factors that bulk copies do not read as they lie (passes/factor_copies.h).
#pragma once

#include "samite/codegen/argument_layout.h"
#include "samite/driver/launch.h"
#include "samite/jit/cuda_code.h"
#include "samite/passes/factor_copies.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace samite::jit {

struct ArrayCopy : passes::FactorCopy {
  // Elements of the copy's rows lie one after another in the array too; else those of its columns do.
  bool by_rows = true;
  std::shared_ptr<const CudaCode> code;
};

// With its code, which is compiled where neither the process nor the disk cache has it. Thread-safe.
ArrayCopy array_copy(const passes::FactorCopy &copy, ScalarType type, bool by_rows, int compute_capability);

// What its kernel takes: four dimensions of the copy, of which the first may be 1. Strides and row_bytes count bytes.
struct ArrayCopyArguments {
  std::uint64_t from, to;
  std::int64_t extent[4], stride[4], row_bytes;
};
static_assert(sizeof(ArrayCopyArguments) == 88);

// How many blocks of `array_copy_threads` threads it is launched with.
inline constexpr int array_copy_threads = 256;
std::int64_t array_copy_blocks(const ArrayCopyArguments &arguments, bool by_rows);

// A value, made ready for one stream.
class ArrayCopyLaunch {
 public:
  // Between arrays as they are in `arguments`, a block as the layout says. No extent is 0, and a copy has fewer than
  // 2^31 elements.
  ArrayCopyLaunch(const ArrayCopy &copy, const ir::Parameter &array, const codegen::ArgumentLayout &layout,
                  const std::byte *arguments, std::optional<int> priority, const driver::Stream &stream,
                  SourceLocation where);

  const driver::PreparedLaunch &prepared() const noexcept { return prepared_; }
  // The address of its parameter, which the driver only reads.
  void *parameter() const noexcept { return const_cast<ArrayCopyArguments *>(&arguments_); }

 private:
  ArrayCopyArguments arguments_;
  driver::PreparedLaunch prepared_;
};

}  // namespace samite::jit
