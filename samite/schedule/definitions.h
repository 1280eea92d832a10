// The definitions of a function, one after another, each with its loops.
#pragma once

#include "samite/schedule/lowering.h"

#include <set>

namespace samite::schedules {

void compute(Lowering &lowering, std::uint32_t f, const Region &region);
// One of them. `whole_pieces`: splits, by their relation, all of whose pieces are whole.
void define(Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region,
            const std::set<std::size_t> &whole_pieces);

}  // namespace samite::schedules
