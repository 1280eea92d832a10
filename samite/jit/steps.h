// The steps from a lowered kernel to the kernel that is emitted: one table for kernels of threads, of tiles and of
// schedules, on the CPU and on GPUs.
//
// A row has the step's kinds of kernels, the properties that it requires, those that must not be established yet, those
// that it establishes (ir/properties.h), and its function. So a step's place in the table is stated there and nowhere
// else. Running a step records on the kernel what it establishes. A step that runs too early or too late is an
// InternalError. If the library verifies its IR, it checks the form of the kernel and all recorded properties after
// each step. SAMITE_DUMP writes the kernel after each step (base/dump.h).
//
// Some steps try plans: they run a part of the same table on a copy of the kernel, to see whether shared memory
// suffices. A trial skips steps that change no memory, and neither verifies nor dumps. Trials are counted for the
// report of a variant.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace samite::jit {

// The choices of a launch. Those after `debug` are for GPUs.
struct PlanChoices {
  bool debug = false;
  int instances_per_thread = 1;  // neighbours side by side: passes/threads/side_by_side.h
  bool outgrows_caches = false;  // the launch does, and each thread has its own instances: passes/threads/march.h
  bool in_rounds = false;        // a multiprocessor runs several blocks in waves: passes/sm90/form_teams.h
  std::uint64_t paired = 0;      // dimensions of the launch with an even number of blocks: passes/sm90/form_clusters.h
  std::int64_t step_parts =
      1;  // the number of parts into which a main loop's steps are split: passes/sm90/share_steps.h
  // passes/threads/shape_launch.h
  bool any_extents = false;  // the launch may have any
  bool fits_axes = false;    // its extents fit the axes of a grid
  bool two_blocks = true;    // may have to share a multiprocessor's registers
};

// A step's inputs besides the kernel.
struct PlanContext {
  const passes::Architecture &target;
  const passes::FactsOfArrays &arrays;
  PlanChoices choices = {};
  bool trial = false;
  int *trials = nullptr;  // counts them
};

struct Step {
  // The kinds of kernels and the targets that a step is for.
  enum : std::uint8_t { threads = 1, tiles = 2, scheduled = 4, any_kernel = threads | tiles | scheduled };
  enum : std::uint8_t { cpu = 1, gpu = 2, any_target = cpu | gpu };
  enum class When : std::uint8_t {
    always,
    optimised,      // not in debug mode, which keeps each checked access in place
    not_in_trials,  // does not affect trials
  };

  const char *name;
  std::uint8_t kernels, targets;
  When when;
  ir::Properties requirements, establishes;
  ir::Kernel (*run)(ir::Kernel, const PlanContext &);
  bool (*chosen)(const PlanChoices &) = nullptr;  // only for launches that choose it
  ir::Properties precedes = {};                   // which later steps establish

  bool applies(const ir::Kernel &kernel, const PlanContext &context) const;
};

std::span<const Step> plan_steps();

// Runs the steps from `first` to `last`, inclusive, that apply to the kernel.
ir::Kernel run_steps(ir::Kernel kernel, const PlanContext &context, std::string_view first, std::string_view last);

// Runs all of them. The kernel's plan (ir/tile_plan.h) then has the steps' choices, too. Throws passes::PlanRefused,
// with the nearest plan that all steps obey, if one of them refuses the plan.
ir::Kernel plan(ir::Kernel lowered, const PlanContext &context);

}  // namespace samite::jit
