#include "samite/ir/tile_plan.h"

#include <fmt/format.h>

namespace samite {
namespace {

constexpr PlanField all_plan_fields[] = {
    {"rows", &TilePlan::rows, 1, 1 << 16},
    {"columns", &TilePlan::columns, 1, 1 << 16},
    {"inner", &TilePlan::inner, 1, 1 << 16},
    {"threads", &TilePlan::threads, 32, 1024},
    {"stages", &TilePlan::stages, 1, 16},
    {"teams", &TilePlan::teams, 1, 2},
    {"cluster_blocks", &TilePlan::cluster_blocks, 1, 16},
    {"cluster_dimension", &TilePlan::cluster_dimension, 0, 3},
    {"shared_factors", &TilePlan::shared_factors, 1, 3},
    {"parts", &TilePlan::parts, 1, 1024},
    {"parts_in_cluster", &TilePlan::parts_in_cluster, 0, 1},
    {"strip_columns", &TilePlan::strip_columns, 0, 1 << 20},
    {"blocks_ahead", &TilePlan::blocks_ahead, 0, 1 << 16},
};

}  // namespace

std::span<const PlanField> plan_fields() { return all_plan_fields; }

TilePlan with(TilePlan plan, const TilePlan &other) {
  for (const PlanField &field : all_plan_fields)
    if (other.*field.value) plan.*field.value = other.*field.value;
  return plan;
}

std::string to_string(const TilePlan &plan) {
  std::string text;
  for (const PlanField &field : all_plan_fields)
    if (const TilePlan::Field &value = plan.*field.value)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field.name, *value);
  return text;
}

std::string invalid_field(const TilePlan &plan) {
  for (const PlanField &field : all_plan_fields)
    if (const TilePlan::Field &value = plan.*field.value; value && (*value < field.least || *value > field.most))
      return fmt::format("{} {}; expected {} to {}", field.name, *value, field.least, field.most);
  return "";
}

}  // namespace samite
