// Facts about the products of a planned kernel, as its nodes record them: the products that main loops compute, the
// reasons why others are in none, and the tensor maps that their bulk copies need.
//
// Pure functions of a lowered kernel after product_loops.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <cstdint>
#include <string>
#include <vector>

namespace samite::passes {

// Whether there are single products of main loops, in loops that do more.
bool has_product_steps(const ir::Kernel &kernel);

// Whether there are main loops.
bool has_product_loops(const ir::Kernel &kernel);

// The method of each product of a planned kernel, in program order, as the nodes have it; empty if no pass has looked
// for main loops.
struct WayOfProduct {
  SourceLocation where;
  std::string why_not;                // the reason that it is not a main loop; empty: it is
  std::vector<std::string> copied{};  // its factors that are read from copies, with the reasons
  friend bool operator==(const WayOfProduct &, const WayOfProduct &) = default;
};
std::vector<WayOfProduct> ways_of_products(const ir::Kernel &planned);

// The reason that a block has no producer warps, for refusals of plans that need them: "compute capability 8.0 has no
// warp groups".
std::string why_no_producers(const ir::Kernel &planned, const Architecture &architecture);

// For product_loops, which writes these reasons: names the reason that the products of a block are in no main loop,
// except for those in serial loops inside.
inline constexpr const char *in_no_loop = "it is in no loop";
ir::Block with_reason(const ir::Block &block, const std::string &reason);

// A tensor map that a kernel's bulk copies need: of an array, in boxes of this many rows and columns of its last two
// dimensions.
struct TensorMapNeeded {
  std::uint32_t array;
  ScalarType type;
  int rank;  // of the array
  std::int64_t rows, columns;
  bool values = false;  // row by row, for loads of elements; else in panels, for products
  friend bool operator==(const TensorMapNeeded &, const TensorMapNeeded &) = default;
};
// Each once, in program order.
std::vector<TensorMapNeeded> tensor_maps(const ir::Kernel &planned);
// The map for one of the copied factors.
TensorMapNeeded tensor_map_of(const ir::Transfer &factor);
TensorMapNeeded tensor_map_of(const ir::BringWindows::Window &window);

}  // namespace samite::passes
