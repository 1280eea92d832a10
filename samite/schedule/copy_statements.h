// Copies the statements of one definition into another one, with new locals.
#pragma once

#include "samite/schedule/algorithm.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace samite::schedules {

// Those that the values need, in order, of `Let`s alone.
ir::Block needed_for(const ir::Block &body, const std::vector<ir::Value> &values);

// The locals that the values depend on, with those that nothing in the body defines: variables.
std::set<ir::LocalId> dependencies_of(const ir::Block &body, const std::vector<ir::Value> &values);

class StatementCopy {
 public:
  // `next` is Algorithm::local_count.
  explicit StatementCopy(ir::LocalId &next) : next_(next) {}

  // Reads `value` wherever the local was read.
  void put(ir::LocalId local, const ir::Value &value) { made_.insert_or_assign(local, value); }
  // `array_of`: which array is loaded from instead of another one.
  void copy(const ir::Block &from, ir::Block &to, const std::function<std::uint32_t(std::uint32_t)> &array_of = {});
  // What a value is in the copy.
  ir::Value operator()(const ir::Value &value) const;

 private:
  ir::LocalId &next_;
  std::map<ir::LocalId, ir::Value> made_;
};

}  // namespace samite::schedules
