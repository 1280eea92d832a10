// Debug mode's search for races (passes/threads/check_races.h), as the CPU's printer writes it: an atomic step on a
// shadow and the check of the word that it found are one call. As separate statements they would take most of the
// compile time of a kernel that stores much.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace samite::codegen {

struct RaceStep {
  const ir::Check *check;
  std::int64_t access;                 // its number
  ir::Value instance;                  // the number of the instance
  std::vector<ir::LocalId> condition;  // computed only for the check
};

class RaceSteps {
 public:
  // Keeps references to the kernel.
  explicit RaceSteps(const ir::Kernel &kernel);

  // The step that defines the word `word`, if its check follows in the same block.
  const RaceStep *find(ir::LocalId word) const;

  // From here on the step's check and condition have already been written.
  void write(const RaceStep &step);
  bool is_written(const ir::Check &check) const { return checks_.contains(&check); }
  bool is_written(ir::LocalId local) const { return conditions_.contains(local); }

 private:
  void read(const ir::Block &block, const std::vector<int> &uses);

  std::unordered_map<ir::LocalId, RaceStep> steps_;
  std::unordered_set<const ir::Check *> checks_;
  std::unordered_set<ir::LocalId> conditions_;
};

}  // namespace samite::codegen
