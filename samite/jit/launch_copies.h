// Where the copies that a launch makes lie: what a gathered adjoint has cast (passes/cast_copies.h), and factors of
// products (passes/factor_copies.h). In memory of the launch's own.
//
// A copy is dense, but that its rows begin at multiples of 16 bytes, as fast loads of tiles want them, or of 128 where
// they are long.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <cstddef>
#include <span>

namespace samite::jit {

// How many elements the copy of an array with these extents has, with what lies between its rows.
std::int64_t copy_elements(std::span<const std::int64_t> extents, std::size_t element_bytes);

// They are at most so many times the array's: a row of one byte takes 16.
inline constexpr std::int64_t most_growth_of_copy = 16;

// Lays the copies of `variant`, and its sums in parts, out one after another, from `address` on, and says so in
// `arguments`, a block as its layout says whose other parts are filled, for a launch over these extents. Returns how
// many bytes they take.
std::size_t place_copies(const Variant &variant, const Extents &launch, std::byte *arguments, std::uintptr_t address);

}  // namespace samite::jit
