#include "samite/schedule/compute_with.h"

#include "samite/base/error.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace samite::schedules {

namespace {

std::string described(const Algorithm &algorithm, std::uint32_t function, std::size_t definition) {
  const std::string &name = algorithm.functions[function].name;
  return definition == 0 ? fmt::format("'{}'", name) : fmt::format("update({}) of '{}'", definition - 1, name);
}

const char *word_of(LoopType type) {
  switch (type) {
    case LoopType::serial: return "serial";
    case LoopType::unrolled: return "unrolled";
    case LoopType::vectorized: return "vectorized";
    case LoopType::parallel: return "parallel";
    case LoopType::gpu_block: return "gpu_block";
    case LoopType::gpu_thread: return "gpu_thread";
  }
  return "";
}

std::string listed(const std::vector<Loop> &loops) {
  std::vector<std::string> all;
  for (const Loop &loop : loops)
    all.push_back(loop.type == LoopType::serial ? loop.name : fmt::format("{} {}", word_of(loop.type), loop.name));
  return fmt::format("{}", fmt::join(all, ", "));
}

// The chain of calls from `from` to `to`, both included; empty if there is none.
std::vector<std::uint32_t> path(const Algorithm &algorithm, std::uint32_t from, std::uint32_t to) {
  std::vector<bool> seen(algorithm.functions.size());
  std::vector<std::uint32_t> at;
  const std::function<bool(std::uint32_t)> leads = [&](std::uint32_t f) {
    if (seen[f]) return false;
    seen[f] = true;
    at.push_back(f);
    if (f == to) return true;
    for (const Definition &definition : algorithm.functions[f].definitions)
      for (const std::uint32_t called : called_by(algorithm, definition))
        if (leads(called)) return true;
    at.pop_back();
    return false;
  };
  leads(from);
  return at;
}

class Check {
 public:
  Check(const Algorithm &algorithm, std::vector<FunctionSchedule> &schedules)
      : algorithm_(algorithm), schedules_(schedules) {}

  void definition(std::uint32_t f, std::size_t n) {
    Leader &leader = *schedules_[f].definitions[n].leader;
    const std::string own = described(algorithm_, f, n);
    if (leader.function == f)
      throw UserError(
          leader.where,
          fmt::format("{} is computed with another definition of '{}'; definitions of one Func are computed "
                      "one after another: name another Func",
                      own, name(f)));
    if (leader.definition >= schedules_[leader.function].definitions.size())
      throw UserError(leader.where,
                      fmt::format("{} is computed with update({}) of '{}', which has {}", own, leader.definition - 1,
                                  name(leader.function), schedules_[leader.function].definitions.size() - 1));
    const std::string other = described(algorithm_, leader.function, leader.definition);
    for (const auto &definition : schedules_[leader.function].definitions)
      if (definition.leader)
        throw UserError(
            leader.where,
            fmt::format("{} is computed with {}, and '{}' is computed with '{}' itself; compute both with '{}'", own,
                        other, name(leader.function), name(definition.leader->function),
                        name(definition.leader->function)));
    same_place(f, leader, own, other);
    for (const auto &[of, schedule] : {std::pair{&own, &schedules_[f].definitions[n]},
                                       std::pair{&other, &schedules_[leader.function].definitions[leader.definition]}})
      if (!schedule->specializations.empty())
        throw UserError(leader.where, fmt::format("{} is computed with {}, and {} is specialized; loops that are "
                                                  "shared have no specializations",
                                                  own, other, *of));
    same_loops(schedules_[f].definitions[n], own, other);
  }

  // No function that shares loops depends on another one of them.
  void independent(const std::vector<std::uint32_t> &functions, const Leader &leader) const {
    for (const std::uint32_t f : functions)
      for (const std::uint32_t g : functions) {
        const std::vector<std::uint32_t> way = f == g ? std::vector<std::uint32_t>{} : path(algorithm_, f, g);
        if (way.empty()) continue;
        const std::string by = way.size() > 2 ? fmt::format(" by way of '{}'", name(way[1])) : "";
        throw UserError(leader.where,
                        fmt::format("'{0}' calls '{1}'{2}, and the loop '{3}' is one for both: it would read values of "
                                    "'{1}' that are not yet computed; compute '{1}' before, or at a loop of '{0}', "
                                    "without compute_with",
                                    name(f), name(g), by, leader.loop));
      }
  }

  // Definitions of one function run in order.
  void in_order(std::uint32_t f) const {
    const std::vector<DefinitionSchedule> &all = schedules_[f].definitions;
    for (std::size_t n = 0; n < all.size(); ++n)
      for (std::size_t before = 0; all[n].leader && before < n; ++before) {
        const auto &leader = all[n].leader, &earlier = all[before].leader;
        if (!earlier) continue;
        if (earlier->function != leader->function)
          throw UserError(leader->where,
                          fmt::format("definitions of '{}' are computed with '{}' and with '{}'; name one of them",
                                      name(f), name(earlier->function), name(leader->function)));
        if (earlier->definition >= leader->definition)
          throw UserError(
              leader->where,
              fmt::format("{} is computed with {}, and {} with {}: definitions of a Func are computed one after "
                          "another, so that they share the loops of later and later ones",
                          described(algorithm_, f, before),
                          described(algorithm_, earlier->function, earlier->definition), described(algorithm_, f, n),
                          described(algorithm_, leader->function, leader->definition)));
      }
  }

 private:
  const std::string &name(std::uint32_t f) const { return algorithm_.functions[f].name; }

  std::string place_of(std::uint32_t f) const {
    const Place &place = schedules_[f].compute;
    switch (place.level) {
      case Place::Level::inlined: return "inlined";
      case Place::Level::innermost: return "computed inside of all loops of what calls it";
      case Place::Level::at: return fmt::format("computed at the loop '{}' of '{}'", place.loop, name(place.function));
      case Place::Level::root: return "computed at the root";
    }
    return "";
  }

  void same_place(std::uint32_t f, const Leader &leader, const std::string &own, const std::string &other) const {
    const Place &place = schedules_[f].compute;
    const bool shared = place.level == Place::Level::at || place.level == Place::Level::root;
    if (shared && place == schedules_[leader.function].compute) return;
    throw UserError(leader.where,
                    fmt::format("{} is computed with {}, and '{}' is {}, '{}' {}; compute both at the root, or both at "
                                "the same loop",
                                own, other, name(f), place_of(f), name(leader.function), place_of(leader.function)));
  }

  void same_loops(DefinitionSchedule &schedule, const std::string &own, const std::string &other) const {
    Leader &leader = *schedule.leader;
    const std::vector<Loop> &mine = schedule.loops,
                            &theirs = schedules_[leader.function].definitions[leader.definition].loops;
    const auto both = [&] {
      return fmt::format("the loops of {} are: {}; those of {}: {}", own, listed(mine), other, listed(theirs));
    };
    leader.loops = 0;
    for (const std::vector<Loop> *loops : {&mine, &theirs}) {
      const auto last = std::ranges::find(*loops, leader.loop, &Loop::name);
      if (last == loops->end())
        throw UserError(leader.where, fmt::format("{} is computed with {} as far as the loop '{}', which both must "
                                                  "have; {}",
                                                  own, other, leader.loop, both()));
      leader.loops = std::max(leader.loops, static_cast<std::size_t>(last - loops->begin()) + 1);
    }
    bool same = leader.loops <= std::min(mine.size(), theirs.size());
    for (std::size_t l = 0; same && l < leader.loops; ++l)
      same = mine[l].name == theirs[l].name && mine[l].type == theirs[l].type;
    if (!same)
      throw UserError(leader.where,
                      fmt::format("{} is computed with {} as far as the loop '{}', and their loops are not the same so "
                                  "far: split, order and mark them alike; {}",
                                  own, other, leader.loop, both()));
  }

  const Algorithm &algorithm_;
  std::vector<FunctionSchedule> &schedules_;
};

}  // namespace

std::vector<std::uint32_t> sharing_loops(const Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules,
                                         std::uint32_t function) {
  std::uint32_t first = function;
  for (const DefinitionSchedule &of : schedules[function].definitions)
    if (of.leader) first = of.leader->function;
  std::vector<std::uint32_t> found{first};
  for (const std::uint32_t f : algorithm.order)
    if (std::ranges::any_of(schedules[f].definitions,
                            [&](const DefinitionSchedule &of) { return of.leader && of.leader->function == first; }))
      found.push_back(f);
  return found;
}

void check_shared_loops(const Algorithm &algorithm, std::vector<FunctionSchedule> &schedules) {
  Check check(algorithm, schedules);
  for (std::uint32_t f = 0; f < schedules.size(); ++f) {
    for (std::size_t n = 0; n < schedules[f].definitions.size(); ++n)
      if (schedules[f].definitions[n].leader) check.definition(f, n);
    check.in_order(f);
  }
  for (std::uint32_t f = 0; f < schedules.size(); ++f)
    for (const DefinitionSchedule &of : schedules[f].definitions)
      if (of.leader) check.independent(sharing_loops(algorithm, schedules, f), *of.leader);
}

void put_sharing_together(Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules) {
  std::vector<bool> done(algorithm.functions.size());
  std::vector<std::uint32_t> order;
  const std::function<void(std::uint32_t)> add = [&](std::uint32_t f) {
    if (done[f]) return;
    const std::vector<std::uint32_t> together = sharing_loops(algorithm, schedules, f);
    for (const std::uint32_t one : together) done[one] = true;
    for (const std::uint32_t one : together)
      for (const Definition &definition : algorithm.functions[one].definitions)
        for (const std::uint32_t called : called_by(algorithm, definition)) add(called);
    order.insert(order.end(), together.begin(), together.end());
  };
  for (const std::uint32_t f : algorithm.order) add(f);
  algorithm.order = std::move(order);
}

}  // namespace samite::schedules
