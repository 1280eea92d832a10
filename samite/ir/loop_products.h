// Main loops as the kernel declares them (`LoopProducts`): the statements that their declaration is about, and its
// rules.
//
// Pure functions.
#pragma once

#include "samite/ir/kernel.h"

#include <string>
#include <vector>

namespace samite::ir {

// The calls of the products that an iteration computes, in order: those of a loop's declared products.
std::vector<const TileCall *> product_calls(const For &loop);

// Positions in the body of the products of a loop that bulk copies feed (`WindowProduct`), one for each declared
// product, in order. Empty if threads multiply them, or if nothing is declared.
std::vector<std::size_t> window_products(const For &loop);

// The load of this tile in an iteration, or null.
const TileLoad *load_of(const For &loop, LocalArrayId tile);

// The first rule that a loop's declaration, or its turns, breaks; empty if it breaks none.
std::string loop_products_error(const For &loop, const Kernel &kernel);

}  // namespace samite::ir
