// Random schedules for a random algorithm.
#pragma once

#include "tests/schedule/random_algorithm.h"

#include <map>
#include <string>
#include <vector>

namespace samite::test {

// Why directives were refused: how often each message appeared, without its names and numbers.
using Refusals = std::map<std::string, int>;
std::string without_names(const std::string &message);

// A schedule that is lowered without complaint, for a GPU or the CPU. Any exception but a UserError propagates, and
// `tried` is then the schedule in question.
std::vector<ir::Directive> random_schedule(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured,
                                           Chance &chance, bool gpu, Refusals &refusals,
                                           std::vector<ir::Directive> &tried);

// The directives in, clone_in, rfactor and specialize have their references as numbers: the first one names the Func or
// the specialization that they make, so that directives may be left out. Directives about missing ones are then left
// out.
ir::CapturedPipeline with_schedule(ir::CapturedPipeline captured, const std::vector<ir::Directive> &directives);

// As it would be written.
std::string to_string(const RandomAlgorithm &algorithm, const std::vector<ir::Directive> &directives);

}  // namespace samite::test
