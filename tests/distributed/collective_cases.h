// Each collective, and its result on the values of all ranks.
#pragma once

#include "samite/distributed/collectives.h"

#include <functional>
#include <string>
#include <vector>

namespace samite::test {

using Values = std::vector<double>;
using ValuesOfRanks = std::vector<Values>;

struct CollectiveCase {
  std::string name;
  // Elements of each rank's values and result; no result: 0.
  std::function<std::int64_t(int rank, int size)> values, result;
  std::function<void(const Communicator &, const AnyBuffer &result, const AnyBuffer &values)> run;
  std::function<ValuesOfRanks(const ValuesOfRanks &)> expected;
};

std::vector<CollectiveCase> collective_cases();

// Runs the case on this rank, forward and, on a tape, backward, and compares results and gradients with those of the
// whole problem on one rank. Returns the differences.
std::string check_case(const CollectiveCase &each, const Communicator &ranks);

}  // namespace samite::test
