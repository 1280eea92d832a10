// Copies the statements of one definition into another one, with new locals.
#pragma once

#include "samite/schedule/algorithm.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace samite::schedules {

// The statements that the values need, in order; only `Let`s.
ir::Block needed_for(const ir::Block &body, const std::vector<ir::Value> &values);

// The locals on which the values depend, including variables, which no statement of the body defines.
std::set<ir::LocalId> dependencies_of(const ir::Block &body, const std::vector<ir::Value> &values);

class StatementCopy {
 public:
  // `next` is Algorithm::local_count.
  explicit StatementCopy(ir::LocalId &next) : next_(next) {}

  // Replaces the local by `value`.
  void put(ir::LocalId local, const ir::Value &value) { made_.insert_or_assign(local, value); }
  // `array_of` maps arrays from which the original loads to those from which the copy loads.
  void copy(const ir::Block &from, ir::Block &to, const std::function<std::uint32_t(std::uint32_t)> &array_of = {});
  // The value in the copy.
  ir::Value operator()(const ir::Value &value) const;

 private:
  ir::LocalId &next_;
  std::map<ir::LocalId, ir::Value> made_;
};

}  // namespace samite::schedules
