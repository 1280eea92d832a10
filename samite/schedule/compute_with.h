// Fuses the loops of definitions: the directive compute_with.
//
// A definition, the follower, shares its outermost loops with another one, the leader, down to the loop that
// DefinitionSchedule::leader names: each iteration of a shared loop runs both bodies. The shared loops begin together,
// wherever the two regions begin, and run as long as the longer one needs.
#pragma once

#include "samite/schedule/directives.h"

namespace samite::schedules {

// UserError where loops cannot be shared: where they are not the same, or where what is computed later would be read.
// Leader::loops is made of the loop's name.
void check_shared_loops(const Algorithm &algorithm, std::vector<FunctionSchedule> &schedules);

// The functions whose definitions share loops with those of this one, which is one of them, in the order in which they
// are computed; the one whose loops they share is the first.
std::vector<std::uint32_t> sharing_loops(const Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules,
                                         std::uint32_t function);

// Makes Algorithm::order one in which those functions directly follow each other.
void put_sharing_together(Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules);

}  // namespace samite::schedules
