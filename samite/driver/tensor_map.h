// Tensor maps: what the copy engine of compute capability 9.0 and newer must know of a tensor in global memory.
//
// A description is checked here against each rule of the driver's documentation (cuTensorMapEncodeTiled,
// cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide), because the driver answers INVALID_VALUE to any mistake.
//
// Dimension 0 is the innermost; its elements are next to each other. Extents and boxes count elements, strides bytes.
//
// A map is a value, of bits that need no context once they are made. It keeps alive the memory that it was given, and
// nothing else: one more owner of the context, counted and discounted, would take as long as all the rules. One map
// belongs to one thread at a time; the functions may be called from any thread.
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

// What all kinds of maps say of the tensor.
struct TensorLayout {
  TensorType type = TensorType::u8;
  unsigned rank = 1;
  CUdeviceptr address = 0;
  std::array<std::uint64_t, max_tensor_rank> extents{};
  std::array<std::uint64_t, max_tensor_rank - 1> strides{};  // of dimension 1, 2, …
  // How many elements lie between those that are copied, along each dimension.
  std::array<std::uint32_t, max_tensor_rank> element_strides{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion promotion = L2Promotion::none;
  OutOfBounds out_of_bounds = OutOfBounds::zero;  // what is read outside the tensor

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
  // The bounding box of a filter's base pixels, for width, height, depth: how far its first corner is from the tensor's
  // first pixel, and its last corner from the tensor's last.
  std::array<int, max_tensor_rank - 2> lower_corner{}, upper_corner{};
  std::uint32_t channels = 0, pixels = 0;  // of one copy

  friend bool operator==(const Im2colTensor &, const Im2colTensor &) = default;
};

// The same along the width alone; compute capability 10.0 and newer, CUDA 12.8.
struct Im2colWideTensor : TensorLayout {
  int lower_width = 0, upper_width = 0;
  std::uint32_t channels = 0, pixels = 0;  // `pixels` has no meaning where the mode is w128
  Im2colWideMode mode = Im2colWideMode::w;

  friend bool operator==(const Im2colWideTensor &, const Im2colWideTensor &) = default;
};

class TensorMap {
 public:
  // UserError, led by `where`, for a description that breaks a rule: it names the argument, its value and the rule.
  // DeviceError where the device or the driver is too old. `memory` is kept alive; null where the caller does so.
  static TensorMap encode(const Context &context, const TiledTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());
  static TensorMap encode(const Context &context, const Im2colTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());
  static TensorMap encode(const Context &context, const Im2colWideTensor &tensor,
                          std::shared_ptr<const void> memory = nullptr,
                          SourceLocation where = std::source_location::current());

  // The same tensor at another address; what the map kept alive is let go. UserError where the address is not aligned
  // as the map needs it.
  void replace_address(const Context &context, CUdeviceptr address, std::shared_ptr<const void> memory = nullptr,
                       SourceLocation where = std::source_location::current());

  // What a kernel's parameter holds, as a __grid_constant__.
  const TensorMapBits &bits() const noexcept { return bits_; }

 private:
  // Zeros first, so that equal tensors have equal bits, also where the driver leaves some as they are. By halves: GCC
  // writes that many with vectors, and the whole with `rep stos`, which takes as long as all the rules.
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
