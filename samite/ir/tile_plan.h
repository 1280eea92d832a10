// How the blocks of a tile kernel do their work on a GPU: what a kernel or a launch asks for, and what the library has
// chosen where they leave a field unset.
//
//   TileKernel product{"product", f, {.threads = 128, .plan = {.stages = 4, .teams = 1}}};
//   product.launch(blocks, {.cuda = {.plan = {.parts = 4}}}, a, b, c);
//
// A field that is set is an instruction: the step that it concerns (jit/steps.h) obeys it, or refuses the kernel with a
// UserError that has the reason and the nearest plan that holds. If a field is unset, the step decides, and writes its
// choice into the kernel's plan, which dumps and report(kernel) show. Results do not depend on the plan, except that
// split sums are added in another order.
//
// A plan is for forward launches on GPUs, since derivatives are other kernels with other products. The CPU and debug
// mode ignore it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace samite {

struct TilePlan {
  using Field = std::optional<int>;

  // The tile of sums that a block's main loop adds up, the terms of one of its steps, and the threads that multiply.
  // They follow from the kernel's code and from TileOptions::threads, so that a plan with others is refused.
  Field rows = {}, columns = {}, inner = {}, threads = {};
  // Stages of loops with products, in place of those of `pipelined`; 1: no prefetch.
  Field stages = {};
  // Consumer teams of a block, which multiply and store in turn; 1: no teams (passes/sm90/form_teams.h).
  Field teams = {};
  // Blocks of a cluster, which load windows for each other; 1: no clusters. With `cluster_dimension`, they are
  // neighbours in this dimension of the launch; with `shared_factors`, they share windows of a (1), b (2) or both (3)
  // (passes/sm90/form_clusters.h).
  Field cluster_blocks = {}, cluster_dimension = {}, shared_factors = {};
  // Split-K: the parts in which sums are computed; 1: no split. With `parts_in_cluster`, the blocks of a cluster reduce
  // them (1, passes/sm90/share_steps.h) or another kernel does (0, passes/tiles/split_sums.h).
  Field parts = {}, parts_in_cluster = {};
  // The order of blocks: in strips of this many columns; 0: row by row (passes/tiles/number_blocks.h).
  Field strip_columns = {};
  // The windows of the block that comes this many blocks later are prefetched; 0: of none
  // (passes/tiles/fetch_ahead.h).
  Field blocks_ahead = {};

  friend bool operator==(const TilePlan &, const TilePlan &) = default;
};

// A field by its name in plans' texts, with the values that it may have.
struct PlanField {
  std::string_view name;
  TilePlan::Field TilePlan::*value;
  int least, most;
};
// All fields, in the order in which plans are written.
std::span<const PlanField> plan_fields();

// `plan` with the fields that are set in `other` replaced.
TilePlan with(TilePlan plan, const TilePlan &other);

// "stages 4, teams 2": the fields that are set. Empty if none is.
std::string to_string(const TilePlan &plan);

// The first field whose value no kernel can have, as "teams 3; expected 1 to 2". Empty: none.
std::string invalid_field(const TilePlan &plan);

}  // namespace samite
