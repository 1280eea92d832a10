// The register layout of the sums of a product whose factors warp groups read from shared memory (compute capability
// 9.0). Pure functions.
#pragma once

#include "samite/ir/layout.h"
#include "samite/ir/type.h"
#include "samite/passes/analysis/architecture.h"

#include <cstdint>
#include <optional>
#include <string>

namespace samite::passes {

// The bytes of a panel's row. The instructions read factors that lie in panels of this many columns.
inline constexpr std::int64_t panel_bytes = 128;
inline constexpr int threads_of_group = 128;  // of a warp group

// For factors with a layout that the instructions support. They take 64 rows of a at a time; for a tile with fewer
// rows, the memory after it provides the others, whose sums are meaningless. 32-bit factors with contiguous terms may
// use the transposes, with b in registers, if less is loaded that way: for 256 by 128 sums, for example, two groups
// then have 256 by 64 each. `a` and `sums` are types of tiles, `attribute` is the product's.
std::optional<ir::FragmentLayout> group_sums(const ir::Type &a, const ir::Type &sums, std::int32_t attribute,
                                             std::int64_t threads, const Architecture &architecture);

// For 32-bit factors if the terms of b are not contiguous: warp groups multiply the transposes, with b in registers, so
// that they hold the transposed sums. A transposed a is copied first.
std::optional<ir::FragmentLayout> turned_group_sums(const ir::Type &a, const ir::Type &sums, std::int32_t attribute,
                                                    std::int64_t threads, const Architecture &architecture);

// The next smaller and larger supported numbers of columns of a group, as "64 or 80", for an unsupported one: supported
// are 8 to 64 in steps of eight, 80, 96, 112, 128, 160, 192, 224 and 256. Empty for a supported one, and beyond them.
std::string widths_beside(std::int64_t columns);

}  // namespace samite::passes
