// Runs a lowered schedule (schedule/program.h), statement by statement, with strict checks: no access outside of an
// array, to an unwritten element, or to one that another block or thread concurrently stores to or reads.
//
// Numbers are integers, in f32 too. A block's threads run a loop over threads one after another; each thread of a GPU's
// block runs the code outside of such loops.
#pragma once

#include "samite/schedule/program.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace samite::test {

struct InterpretedArray {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> values;
  std::vector<char> known;   // which elements have a value
  std::int64_t updates = 0;  // how often an element was stored or added to
};

// An action that no program may take, with its statement.
struct ProgramFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A requirement of the launch, or a check in a kernel, that does not hold: its message.
struct RequirementFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// It takes too long.
struct ProgramTooLong {};

// How many values of each Func a program stores, by name.
using StoreCounts = std::map<std::string, std::int64_t>;

// A scalar argument is an array of one element. The arrays are left as the program leaves them.
void run_program(const schedules::Program &program, std::vector<InterpretedArray> &arguments, bool gpu,
                 StoreCounts *counts = nullptr);

}  // namespace samite::test
