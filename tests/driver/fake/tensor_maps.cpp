// The fake's tensor maps: they hold only the address, not the hardware's format. The rules are checked before the
// driver is called, and against a real one elsewhere.
#include "tests/driver/fake/state.h"

namespace samite::driver::fake {
namespace {

Result encode(TensorMapBits *map, TensorType type, std::uint32_t rank, void *address) {
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0)
    return state().mistake("the tensor map is not aligned to 64 bytes", Result::invalid_value);
  *map = {};
  map->words[0] = reinterpret_cast<std::uintptr_t>(address);
  map->words[1] = rank;
  map->words[2] = static_cast<std::uint64_t>(type);
  return Result::success;
}

}  // namespace

Result TensorMapEncodeTiled(TensorMapBits *map, TensorType type, std::uint32_t rank, void *address,
                            const std::uint64_t *, const std::uint64_t *, const std::uint32_t *, const std::uint32_t *,
                            Interleave, Swizzle, L2Promotion, OutOfBounds) {
  return encode(map, type, rank, address);
}

Result TensorMapEncodeIm2col(TensorMapBits *map, TensorType type, std::uint32_t rank, void *address,
                             const std::uint64_t *, const std::uint64_t *, const int *, const int *, std::uint32_t,
                             std::uint32_t, const std::uint32_t *, Interleave, Swizzle, L2Promotion, OutOfBounds) {
  return encode(map, type, rank, address);
}

Result TensorMapEncodeIm2colWide(TensorMapBits *map, TensorType type, std::uint32_t rank, void *address,
                                 const std::uint64_t *, const std::uint64_t *, int, int, std::uint32_t, std::uint32_t,
                                 const std::uint32_t *, Interleave, Im2colWideMode, Swizzle, L2Promotion, OutOfBounds) {
  return encode(map, type, rank, address);
}

Result TensorMapReplaceAddress(TensorMapBits *map, void *address) {
  map->words[0] = reinterpret_cast<std::uintptr_t>(address);
  return Result::success;
}

}  // namespace samite::driver::fake
