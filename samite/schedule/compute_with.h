// Fuses the loops of definitions: the directive compute_with.
//
// A definition, the follower, shares its outermost loops with another one, the leader, down to the loop that
// DefinitionSchedule::leader names: each iteration of a shared loop runs both bodies. The shared loops begin together,
// wherever the two regions begin, and run as long as the longer one needs.
#pragma once

#include "samite/schedule/directives.h"

namespace samite::schedules {

// UserError if loops cannot be shared: if they differ, or if a value would be read before it is computed. Sets
// Leader::loops from the loop's name.
void check_shared_loops(const Algorithm &algorithm, std::vector<FunctionSchedule> &schedules);

// The functions, including this one, whose definitions share loops, in the order in which they are computed; the leader
// is the first.
std::vector<std::uint32_t> sharing_loops(const Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules,
                                         std::uint32_t function);

// Changes Algorithm::order so that those functions directly follow each other.
void put_sharing_together(Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules);

}  // namespace samite::schedules
