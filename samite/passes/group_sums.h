// How warp groups hold the sums of a product in registers when they read its factors from shared memory (compute
// capability 9.0). Pure functions.
#pragma once

#include "samite/ir/layout.h"
#include "samite/ir/type.h"
#include "samite/passes/architecture.h"

#include <cstdint>
#include <optional>
#include <string>

namespace samite::passes {

// Of factors that the instructions take as they lie. They take 64 rows of a at a time; of a tile with fewer, what lies
// behind it in memory stands for the others, whose sums mean nothing. Of 32-bit factors with the terms of each sum one
// after another they may be those of the transposes, with b in registers, where less is loaded so: of 256 by 128 sums,
// say, whose two groups then have 256 by 64. `a` and `sums` are types of tiles, `attribute` is the product's.
std::optional<ir::FragmentLayout> group_sums(const ir::Type &a, const ir::Type &sums, std::int32_t attribute,
                                             std::int64_t threads, const Architecture &architecture);

// Of 32-bit factors where terms of b do not lie one after another: groups of warps multiply the transposes, with b in
// their registers, so that they have the transposes of the sums. A transposed a is copied first.
std::optional<ir::FragmentLayout> turned_group_sums(const ir::Type &a, const ir::Type &sums, std::int32_t attribute,
                                                    std::int64_t threads, const Architecture &architecture);

// The next fewer and the next more columns that a group multiplies, as "64 or 80", of a number that it does not: it
// multiplies 8 to 64 in eights, 80, 96, 112, 128, 160, 192, 224 and 256. Empty of one of these, and beyond them.
std::string widths_beside(std::int64_t columns);

}  // namespace samite::passes
