// The addresses of a launch's copies, in its own memory: those that a gathered adjoint casts
// (passes/adjoint/cast_copies.h), and factors of products (passes/tiles/factor_copies.h).
//
// A copy is dense, except that its rows begin at multiples of 16 bytes, for fast loads of tiles, or of 128 for long
// rows.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <cstddef>
#include <span>

namespace samite::jit {

// The elements of an array's copy, including the gaps between its rows.
std::int64_t copy_elements(std::span<const std::int64_t> extents, std::size_t element_bytes);

// The largest ratio to the array's elements: a row of one byte takes 16.
inline constexpr std::int64_t most_growth_of_copy = 16;

// Lays out the copies of `variant`, and its split sums, from `address` on, and stores their addresses in `arguments`, a
// block with its layout that is otherwise complete, for a launch over these extents. Returns their total bytes.
std::size_t place_copies(const Variant &variant, const Extents &launch, std::byte *arguments, std::uintptr_t address);

}  // namespace samite::jit
