// Decides when to copy an array before a product, because bulk copies cannot read its layout.
//
// A tensor map needs rows that begin at multiples of 16 bytes. Some warp-group products also need the terms of a sum to
// be contiguous. Without that, a product takes several times as long. A copy with the right layout costs one pass over
// the array, before the kernel, into memory that belongs to the launch:
//
//   padded     the same array, with rows that begin at multiples of 16 bytes
//   swapped    the last two dimensions exchanged, with such rows
//
// product_loops then reads the copy instead of the array (`ArrayFacts::padded_copy`, `ArrayFacts::swapped_copy`).
// Whether a copy pays depends on how often the launch multiplies each copied element. Pure functions.
#pragma once

#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace samite::passes {

// A parameter that is a copy of the array parameter `array`; `swapped` or padded.
struct FactorCopy {
  std::uint32_t parameter, array;
  bool swapped;
  friend bool operator==(const FactorCopy &, const FactorCopy &) = default;
};

// An array that a product of a loop (`products_of`) reads directly: an operand that each iteration loads by windows
// with two dimensions.
struct FactorRead {
  struct Dimension {
    std::int64_t window;   // elements of the window, 1 in the dimensions before the last two
    std::uint64_t blocks;  // launch dimensions on which its place depends, as bits
    bool in_loop;          // it also depends on the iteration; iterations are assumed to cover the whole dimension
    bool told = true;      // it depends on nothing else, such as loaded values
    friend bool operator==(const Dimension &, const Dimension &) = default;
  };
  std::uint32_t array;
  // The dimensions of the array. Empty if the place of a window depends on loaded values, or on the extents of the
  // launch.
  std::vector<Dimension> dimensions;
  std::int64_t multiplied;  // how often a block multiplies each loaded element
  bool terms_together;      // warp groups need contiguous terms
  bool swapped;             // they do, and the terms are not contiguous
  friend bool operator==(const FactorRead &, const FactorRead &) = default;
};

// For a structured kernel, in program order.
std::vector<FactorRead> factor_reads(const ir::Kernel &structured, const Architecture &architecture);

// How often a launch over these extents multiplies each element of an array; 0 if it may leave most of it unread, or if
// this is unknown.
double multiplications(const FactorRead &read, std::span<const std::int64_t> array_extents,
                       std::span<const std::int64_t> launch_extents);

// Whether a copy of this many elements, each multiplied this often, takes less time than it saves.
bool pays(double elements, double multiplications, bool swapped);

// The kernel with the copies as further parameters, in order. They are not used yet.
ir::Kernel with_copies(ir::Kernel kernel, std::span<const FactorCopy> copies);

}  // namespace samite::passes
