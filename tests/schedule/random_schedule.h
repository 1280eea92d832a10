// Schedules by chance for an algorithm by chance.
#pragma once

#include "tests/schedule/random_algorithm.h"

#include <map>
#include <string>
#include <vector>

namespace samite::test {

// Why directives were refused: how often each message came, without its names and numbers.
using Refusals = std::map<std::string, int>;
std::string without_names(const std::string &message);

// A schedule that is lowered without complaint, for a GPU or the CPU. Anything but a UserError is let through, and
// `tried` is then the schedule that it is about.
std::vector<ir::Directive> random_schedule(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured,
                                           Chance &chance, bool gpu, Refusals &refusals,
                                           std::vector<ir::Directive> &tried);

// The directives in, clone_in, rfactor and specialize have what they need as numbers: the first one names the Func or
// the specialization that they make, so that directives may be left out. Those about what is not made are left out
// then.
ir::CapturedPipeline with_schedule(ir::CapturedPipeline captured, const std::vector<ir::Directive> &directives);

// As it would be written.
std::string to_string(const RandomAlgorithm &algorithm, const std::vector<ir::Directive> &directives);

}  // namespace samite::test
