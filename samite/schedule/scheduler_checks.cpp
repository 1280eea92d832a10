#include "samite/schedule/scheduler.h"

#include "samite/base/error.h"
#include "samite/schedule/compute_with.h"
#include "samite/schedule/forms.h"
#include "samite/schedule/nest.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

namespace samite::schedules {

void Scheduler::check(std::uint32_t f) {
  FunctionSchedule &schedule = made_[f];
  check_level(f);
  for (std::size_t d = 0; d < schedule.definitions.size(); ++d) check_definition(f, d, schedule.definitions[d]);
  if (schedule.compute.level == Place::Level::at) check_place(f, schedule.compute, "computed");
  if (schedule.store.level == Place::Level::at) check_place(f, schedule.store, "kept");
  check_store(f);
  check_storage(f);
  check_pipelined(f);
}

void Scheduler::check_pipelined(std::uint32_t f) const {
  const FunctionSchedule &schedule = made_[f];
  const std::string &name = algorithm_.functions[f].name;
  for (std::size_t d = 1; d < schedule.definitions.size(); ++d)
    if (const DefinitionSchedule &update = schedule.definitions[d]; update.stages > 1)
      throw UserError(update.stages_where,
                      fmt::format("update({}) of '{}' is pipelined({}), which is about the memory of a Func, and not "
                                  "about one of its definitions; say it of the Func: {}.pipelined({})",
                                  d - 1, name, update.stages, name, update.stages));
  const DefinitionSchedule &all = schedule.definitions[0];
  if (all.stages == 1) return;
  const auto refuse = [&](const std::string &because) {
    throw UserError(all.stages_where, fmt::format("'{}' is pipelined({}), and {}", name, all.stages, because));
  };
  constexpr int most_stages = 8;
  if (all.stages > most_stages) refuse(fmt::format("memory has {} buffers at most; give fewer", most_stages));
  if (schedule.space != ir::MemorySpace::shared)
    refuse(
        fmt::format("is not in shared memory, which is what can be filled ahead; say "
                    "{}.store_in(Memory::shared), or leave pipelined out",
                    name));
  if (schedule.compute.level != Place::Level::at) return;  // shared memory was refused for others
  const Place &place = schedule.compute, &store = schedule.store;
  if (store.level != place.level || store.function != place.function || store.loop != place.loop)
    refuse(
        "is kept outside of the loop where it is computed: each iteration of that loop has a buffer of its own; "
        "leave store_at out");
  for (const DefinitionSchedule &of : made_[place.function].definitions)
    for (const Loop &loop : of.loops) {
      if (loop.name != place.loop || loop.type == LoopType::serial) continue;
      refuse(
          fmt::format("is computed at the loop '{}' of '{}', whose iterations do not follow each other in time; "
                      "compute it at a serial loop inside of the blocks",
                      place.loop, algorithm_.functions[place.function].name));
    }
}

void Scheduler::check_level(std::uint32_t f) const {
  const Function &function = algorithm_.functions[f];
  const FunctionSchedule &schedule = made_[f];
  const Place::Level level = schedule.compute.level;
  if (const auto said = said_.find(f); level == Place::Level::inlined && said != said_.end() && is_called(f))
    throw UserError(said->second.where,
                    fmt::format("'{0}' is inlined where it is called, and {1}; say {0}.compute_root() or "
                                "{0}.compute_at(caller, loop)",
                                function.name, is_about_loops(said->second.kind) ? "has no loops" : "is kept nowhere"));
  if (level == Place::Level::root && schedule.space && *schedule.space != ir::MemorySpace::device)
    throw UserError(
        schedule.space_where,
        fmt::format(
            "'{0}' is computed at the root, and is to be in {1}; {2}", function.name,
            *schedule.space == ir::MemorySpace::shared ? "shared memory, which a block has" : "a thread's own memory",
            function.output
                ? "what fills an array is kept in that array"
                : fmt::format("compute it at a loop of what calls it: {}.compute_at(caller, loop)", function.name)));
}

void Scheduler::check_storage(std::uint32_t f) const {
  const Function &function = algorithm_.functions[f];
  const FunctionSchedule &schedule = made_[f];
  const auto refuse = [&](DirectiveKind kind, const std::string &what) {
    const auto said = storage_said_.find({f, kind});
    if (said != storage_said_.end()) throw UserError(said->second, fmt::format("'{}' {}", function.name, what));
  };
  if (function.output) {
    const std::string array = fmt::format("fills the array '{}', and is kept as the caller has made that",
                                          algorithm_.parameters[*function.output].name);
    refuse(DirectiveKind::reorder_storage,
           array +
               "; give a view with its dimensions in another order, or reorder the storage of a Func that this "
               "one copies");
    refuse(DirectiveKind::pad, array + "; give a view of a larger array");
    refuse(DirectiveKind::fold_storage, array + ", whose elements are all kept; leave fold_storage out");
  }
  if (schedule.compute.level == Place::Level::root)
    refuse(DirectiveKind::fold_storage,
           fmt::format("is computed at the root, whole, so that all of its elements are kept; compute it at a loop of "
                       "what calls it, and store it outside of that loop: {0}.compute_at(caller, loop).store_root(), "
                       "or leave fold_storage out",
                       function.name));
  else if (schedule.compute.level == Place::Level::at && schedule.store == schedule.compute)
    refuse(DirectiveKind::fold_storage,
           fmt::format("is kept at the loop '{1}' where it is computed, from one iteration to its end, so that there "
                       "is nothing to fold; store it outside of that loop: {0}.store_at(caller, outer_loop) or "
                       "{0}.store_root(), or leave fold_storage out",
                       function.name, schedule.compute.loop));
}

bool Scheduler::is_called(std::uint32_t f) const {
  return std::ranges::any_of(algorithm_.functions, [&](const Function &function) {
    return std::ranges::any_of(function.definitions, [&](const Definition &definition) {
      return std::ranges::count(called_by(algorithm_, definition), f) != 0;
    });
  });
}

void Scheduler::check_store(std::uint32_t f) const {
  const Place &store = made_[f].store;
  if (store.level != Place::Level::at) return;
  // Outwards from the compute loop.
  Place compute = made_[f].compute;
  while (compute.level == Place::Level::at && compute.function != store.function)
    compute = made_[compute.function].compute;
  bool around = false;
  if (compute.level == Place::Level::at)
    for (const DefinitionSchedule &of : made_[store.function].definitions) {
      const Loop *outer = of.loop(store.loop), *inner = of.loop(compute.loop);
      around = around || (outer && inner && outer <= inner);
    }
  if (!around)
    throw UserError(store.where,
                    fmt::format("'{}' is kept at the loop '{}' of '{}', which is not around the place where it is "
                                "computed; store it at the loop where it is computed, or at one outside of that",
                                algorithm_.functions[f].name, store.loop, algorithm_.functions[store.function].name));
}

void Scheduler::check_nesting(const Function &function, const DefinitionSchedule &schedule) const {
  int threads = 0;
  const Loop *thread = nullptr, *inner = nullptr, *block = nullptr, *between = nullptr;
  for (const Loop &loop : schedule.loops) {
    if (loop.type == LoopType::gpu_block && between)
      throw UserError(loop.where,
                      fmt::format("loop '{}' of '{}' is between loops of blocks, '{}' and '{}'; reorder them so that "
                                  "the loops of blocks are directly inside of each other",
                                  between->name, function.name, block->name, loop.name));
    if (loop.type == LoopType::gpu_block)
      block = &loop;
    else if (block)
      between = &loop;
    if (loop.type == LoopType::gpu_thread) {
      ++threads;
      thread = &loop;
    }
    const bool launches = loop.type == LoopType::gpu_block || loop.type == LoopType::parallel;
    if (launches && thread)
      throw UserError(loop.where,
                      fmt::format("loop '{}' of '{}' is one of blocks, inside of '{}', which is one of threads; "
                                  "reorder them: blocks are outside",
                                  loop.name, function.name, thread->name));
    if (launches && inner)
      throw UserError(loop.where, fmt::format("loop '{}' of '{}' is parallel inside of '{}', which is {}; reorder "
                                              "them",
                                              loop.name, function.name, inner->name,
                                              inner->type == LoopType::vectorized ? "vectorized" : "unrolled"));
    if (loop.type == LoopType::vectorized || loop.type == LoopType::unrolled) inner = &loop;
  }
  if (threads > 3)
    throw UserError(thread->where,
                    fmt::format("'{}' has {} loops of threads; a block has three dimensions: fuse some of them",
                                function.name, threads));
}

void Scheduler::check_place(std::uint32_t f, const Place &place, const char *what) const {
  const Function &function = algorithm_.functions[f], &other = algorithm_.functions[place.function];
  bool has_loop = false;
  std::vector<std::string> names;
  for (const DefinitionSchedule &of : made_[place.function].definitions) {
    has_loop = has_loop || of.loop(place.loop);
    for (const Loop &loop : of.loops)
      if (std::ranges::find(names, loop.name) == names.end()) names.push_back(loop.name);
  }
  if (!has_loop)
    throw UserError(place.where, fmt::format("'{}' is {} at the loop '{}' of '{}', which has no such loop; it has: {}",
                                             function.name, what, place.loop, other.name,
                                             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  if (made_[place.function].compute.level == Place::Level::inlined)
    throw UserError(place.where, fmt::format("'{0}' is {1} at a loop of '{2}', which is inlined and has no loops; "
                                             "compute '{2}' somewhere first",
                                             function.name, what, other.name));
}

}  // namespace samite::schedules
