#include "samite/jit/report.h"

#include "samite/jit/definition.h"
#include "samite/jit/target.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace samite {
namespace {

// The parts of a launch, in execution order.
std::vector<const jit::Variant *> parts_of(const jit::Variant &variant) {
  std::vector<const jit::Variant *> parts;
  if (variant.first) parts.push_back(variant.first.get());
  for (const jit::Variant *part = &variant; part; part = part->afterwards.get()) parts.push_back(part);
  return parts;
}

std::string_view origin(ObjectReport::From from) {
  switch (from) {
    case ObjectReport::From::compiler: return "built";
    case ObjectReport::From::memory: return "memory";
    case ObjectReport::From::disk: return "disk";
  }
  return "";
}

template <class Compile>
void add_image(const Compile &compile, ReportedVariant &report) {
  report.from = compile.from_memory    ? "memory"
                : compile.from_archive ? "archive"
                : compile.from_cache   ? "disk"
                                       : "built";
  report.image_bytes = compile.image_bytes;
}

void add_steps(const jit::Variant &variant, ReportedVariant &report) {
  const jit::StepTimes &times = variant.report.times;
  report.steps = {{"derive", times.derive}, {"lower", times.lower}, {"emit", times.emit}};
  const auto add = [&](const char *name, double milliseconds) {
    if (milliseconds > 0) report.steps.push_back({name, milliseconds});
  };
  if (jit::Target::of(variant.key.cuda).is_gpu()) {
    add("open", variant.gpu.compile.open_ms);
    add("compile", variant.gpu.compile.compile_ms);
  } else {
    const CompileReport &compile = variant.host.compile;
    add("open", compile.times.open_ms);
    add("prelude", compile.times.prelude_ms);
    add("objects", compile.times.objects_ms);
    add("link", compile.times.link_ms);
    add("load", compile.times.load_ms);
  }
  report.milliseconds = times.total();
}

void add_objects(const jit::Variant &variant, ReportedVariant &report) {
  const std::vector<ObjectReport> &made = variant.host.compile.objects;
  const auto add = [&](const std::string &name, const std::string &operation) {
    const auto known = std::ranges::find(made, name, &ObjectReport::name);
    ReportedObject object{name, operation, report.from, 0, 0};
    if (known != made.end()) {
      object.from = origin(known->from);
      object.milliseconds = known->milliseconds;
      object.bytes = known->bytes;
    }
    report.objects.push_back(std::move(object));
  };
  add(made.empty() ? variant.name : made.front().name, "");
  for (const codegen::EmittedObject &object : variant.host.objects) add(object.name, object.operation);
}

void add_needs(const jit::Variant &variant, ReportedVariant &report) {
  if (!variant.gpu.code) return;
  report.trials = variant.report.trials;
  report.blocks = {variant.parts(), variant.gpu.step_parts > 1, variant.gpu.form.teams,
                   variant.gpu.form.cluster_blocks};
  report.plan = variant.gpu.plan;
  ReportedResources &resources = report.resources;
  resources.shared_bytes = static_cast<std::size_t>(variant.gpu.tile_memory.bytes);
  for (const CudaKernelResources &kernel : variant.gpu.code->image().report().kernels) {
    resources.registers = std::max(resources.registers, kernel.registers);
    resources.spill_store_bytes += kernel.spill_store_bytes;
    resources.spill_load_bytes += kernel.spill_load_bytes;
    resources.local_bytes += kernel.local_bytes;
    resources.shared_bytes += kernel.shared_bytes;
  }
}

}  // namespace

ReportedVariant jit::report(const Variant &variant, const std::vector<ir::Parameter> &parameters) {
  ReportedVariant report{};
  report.direction = variant.key.direction;
  report.target = jit::Target::of(variant.key.cuda).name();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (variant.key.derivative.active >> i & 1) report.active.push_back(parameters[i].name);
  if (jit::Target::of(variant.key.cuda).is_gpu())
    add_image(variant.gpu.compile, report);
  else
    add_image(variant.host.compile, report);
  add_steps(variant, report);
  if (variant.host.image) add_objects(variant, report);
  add_needs(variant, report);
  report.peak_compiler_bytes = variant.report.peak_compiler_bytes;
  for (const passes::WayOfProduct &way : variant.gpu.products)
    report.products.push_back({way.where, way.why_not, way.copied});
  return report;
}

std::string ReportedVariant::to_string() const {
  std::string text = fmt::format("{}", name(direction));
  for (std::size_t i = 0; i < active.size(); ++i) text += (i == 0 ? " of " : ", ") + active[i];
  text += fmt::format(", {}: {:.1f} ms, image {} B {}", target, milliseconds, image_bytes,
                      from == "built" ? from : "from " + from);
  if (resources.registers > 0)
    text += fmt::format(", {} registers, {} B spilled and {} B loaded again, {} B of stack, {} B shared",
                        resources.registers, resources.spill_store_bytes, resources.spill_load_bytes,
                        resources.local_bytes, resources.shared_bytes);
  if (peak_compiler_bytes > 0)
    text += fmt::format(", compilers took {:.1f} MB", static_cast<double>(peak_compiler_bytes) / 1e6);
  text += "\n  steps:";
  for (const Step &step : steps)
    text += fmt::format("{} {} {:.1f} ms", &step == steps.data() ? "" : ",", step.name, step.milliseconds);
  for (const ReportedObject &object : objects) {
    text += fmt::format("\n  {}: ", object.operation.empty() ? "kernel" : object.operation);
    if (object.from == "built")
      text += fmt::format("built in {:.1f} ms", object.milliseconds);
    else
      text += "reused from " + object.from;
    if (object.bytes > 0) text += fmt::format(", {} B", object.bytes);
  }
  // An adjoint may compute a product of the user's line several times: one line for each method.
  std::vector<std::pair<std::string, int>> ways;
  for (const ReportedProduct &product : products) {
    std::string way =
        fmt::format("at {}: {}by groups of warps from bulk copies{}{}", product.where.to_string(),
                    product.why_not.empty() ? "" : "not ", product.why_not.empty() ? "" : ", since ", product.why_not);
    for (const std::string &copied : product.copied) way += "; " + copied;
    const auto same = std::ranges::find(ways, way, &std::pair<std::string, int>::first);
    if (same != ways.end())
      ++same->second;
    else
      ways.emplace_back(way, 1);
  }
  if (blocks.sum_parts > 1)
    text += fmt::format("\n  sums are computed in {} parts, and added up {}", blocks.sum_parts,
                        blocks.parts_in_clusters ? "by the blocks of a cluster" : "by a further kernel");
  if (plan != TilePlan()) text += "\n  plan: " + samite::to_string(plan);
  if (trials != 0) text += fmt::format("\n  {} trial{} of plans", trials, trials == 1 ? "" : "s");
  if (blocks.teams != 0) text += fmt::format("\n  {} teams of a block's threads multiply in turn", blocks.teams);
  if (blocks.cluster_blocks != 0)
    text += fmt::format("\n  blocks bring each other windows in clusters of {}", blocks.cluster_blocks);
  for (const auto &[way, count] : ways)
    text += count == 1 ? "\n  the product " + way : fmt::format("\n  {} products {}", count, way);
  return text;
}

std::string KernelReport::to_string() const {
  std::string text = fmt::format("kernel '{}': {} variants", kernel, variants.size());
  if (variants.empty()) text = "kernel '" + kernel + "': nothing compiled";
  if (variants.size() == 1) text.pop_back();
  for (const ReportedVariant &variant : variants) text += "\n" + variant.to_string();
  return text;
}

std::string KernelReport::to_json() const {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const ReportedVariant &variant : variants) {
    Json steps = Json::object(), objects = Json::array(), products = Json::array();
    for (const ReportedProduct &product : variant.products)
      products.push_back(
          {{"where", product.where.to_string()}, {"why_not", product.why_not}, {"copied", product.copied}});
    Json plan = Json::object();
    for (const PlanField &field : plan_fields())
      if (const TilePlan::Field &value = variant.plan.*field.value) plan[std::string(field.name)] = *value;
    for (const ReportedVariant::Step &step : variant.steps) steps[step.name] = step.milliseconds;
    for (const ReportedObject &object : variant.objects)
      objects.push_back({{"name", object.name},
                         {"operation", object.operation},
                         {"from", object.from},
                         {"milliseconds", object.milliseconds},
                         {"bytes", object.bytes}});
    all.push_back({{"direction", name(variant.direction)},
                   {"target", variant.target},
                   {"active", variant.active},
                   {"from", variant.from},
                   {"milliseconds", variant.milliseconds},
                   {"steps", steps},
                   {"objects", objects},
                   {"image_bytes", variant.image_bytes},
                   {"peak_compiler_bytes", variant.peak_compiler_bytes},
                   {"registers", variant.resources.registers},
                   {"spill_store_bytes", variant.resources.spill_store_bytes},
                   {"spill_load_bytes", variant.resources.spill_load_bytes},
                   {"local_bytes", variant.resources.local_bytes},
                   {"shared_bytes", variant.resources.shared_bytes},
                   {"sum_parts", variant.blocks.sum_parts},
                   {"parts_in_clusters", variant.blocks.parts_in_clusters},
                   {"teams", variant.blocks.teams},
                   {"plan", plan},
                   {"trials", variant.trials},
                   {"cluster_blocks", variant.blocks.cluster_blocks},
                   {"products", products}});
  }
  return Json{{"kernel", kernel}, {"variants", all}}.dump(2);
}

std::ostream &operator<<(std::ostream &stream, const KernelReport &report) { return stream << report.to_string(); }

KernelReport jit::report(const KernelDefinition &definition) {
  KernelReport report{.kernel = definition.name(), .variants = {}};
  for (const auto &variant : definition.variants())
    for (const Variant *part : parts_of(*variant))
      report.variants.push_back(jit::report(*part, definition.parameters()));
  return report;
}

}  // namespace samite
