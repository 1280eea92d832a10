// Tensor maps: descriptions of tensors in global memory for the copy engine (compute capability 9.0 and newer).
//
// A description is checked here against each rule of the driver's documentation (cuTensorMapEncodeTiled,
// cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide), because the driver answers INVALID_VALUE to any mistake.
//
// Dimension 0 is the innermost; its elements are next to each other. Extents and boxes count elements, strides bytes.
//
// A map is a value, whose bits need no context once they are made. It keeps alive only the memory that it was given:
// counting the context's owners would take as long as checking all rules. A map must not be used by several threads at
// a time; the functions may be called from any thread.
#pragma once

#include "samite/driver/abi_tensor_map.h"
#include "samite/driver/context.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

namespace samite::driver {

// The properties that all kinds of maps describe.
struct TensorLayout {
  TensorType type = TensorType::u8;
  unsigned rank = 1;
  CUdeviceptr address = 0;
  std::array<std::uint64_t, max_tensor_rank> extents{};
  std::array<std::uint64_t, max_tensor_rank - 1> strides{};  // of dimension 1, 2, …
  // The distance between copied elements along each dimension.
  std::array<std::uint32_t, max_tensor_rank> element_strides{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion promotion = L2Promotion::none;
  OutOfBounds out_of_bounds = OutOfBounds::zero;  // the value of elements outside the tensor

  friend bool operator==(const TensorLayout &, const TensorLayout &) = default;
};

// Boxes of a tensor.
struct TiledTensor : TensorLayout {
  std::array<std::uint32_t, max_tensor_rank> box{};

  friend bool operator==(const TiledTensor &, const TiledTensor &) = default;
};

// Columns of an image for a convolution: channels are dimension 0, then width, height and depth, then the batch. In an
// interleaved layout the width is dimension 0, and slices of channels come before the batch.
struct Im2colTensor : TensorLayout {
  // The bounding box of a filter's base pixels, for width, height and depth: the offsets of its first corner from the
  // tensor's first pixel, and of its last corner from the tensor's last.
  std::array<int, max_tensor_rank - 2> lower_corner{}, upper_corner{};
  std::uint32_t channels = 0, pixels = 0;  // of one copy

  friend bool operator==(const Im2colTensor &, const Im2colTensor &) = default;
};

// The same along the width only; compute capability 10.0 and newer, CUDA 12.8.
struct Im2colWideTensor : TensorLayout {
  int lower_width = 0, upper_width = 0;
  std::uint32_t channels = 0, pixels = 0;  // `pixels` is unused if the mode is w128
  Im2colWideMode mode = Im2colWideMode::w;

  friend bool operator==(const Im2colWideTensor &, const Im2colWideTensor &) = default;
};

class TensorMap {
 public:
  // UserError, led by `where`, if the description breaks a rule: it names the argument, its value and the rule.
  // DeviceError if the device or the driver is too old. `memory` is kept alive; null if the caller keeps it.
  static TensorMap encode(const Context &context, const TiledTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());
  static TensorMap encode(const Context &context, const Im2colTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());
  static TensorMap encode(const Context &context, const Im2colWideTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());

  // The same tensor at another address; memory that the map kept alive is released. UserError if the address does not
  // have the alignment that the map needs.
  void replace_address(const Context &context, CUdeviceptr address, std::shared_ptr<const void> memory = nullptr,
                       SourceLocation where = std::source_location::current());

  // The value of a kernel's __grid_constant__ parameter.
  const TensorMapBits &bits() const noexcept { return bits_; }

 private:
  // Zeroed first, so that equal tensors have equal bits, including those that the driver does not write. In two halves:
  // GCC writes a half with vector stores, but the whole with `rep stos`, which takes as long as checking all rules.
  TensorMap(std::shared_ptr<const void> memory, std::uint64_t alignment)
      : memory_(std::move(memory)), alignment_(alignment) {
    std::fill_n(bits_.words, std::size(bits_.words) / 2, std::uint64_t{0});
    std::fill_n(bits_.words + std::size(bits_.words) / 2, std::size(bits_.words) / 2, std::uint64_t{0});
  }

  TensorMapBits bits_;
  std::shared_ptr<const void> memory_;
  std::uint64_t alignment_;  // of the address, in bytes
};

}  // namespace samite::driver
