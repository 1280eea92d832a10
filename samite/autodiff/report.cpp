// The text of an adjoint's report.
#include "samite/autodiff/adjoint.h"

#include <fmt/format.h>

#include <ostream>

namespace samite::autodiff {

std::optional<std::int64_t> KeptValue::bytes() const {
  if (!elements || !length) return std::nullopt;
  return *elements * *length * static_cast<std::int64_t>(size_of(type));
}

std::string KeptValue::to_string() const {
  const std::string place = loop.to_string();
  std::string count = length ? std::to_string(*length) + " " : "";
  switch (kept_for) {
    case KeptFor::iterations: count += "iterations of the loop at " + place; break;
    case KeptFor::chunks: count += "checkpoints of the loop at " + place; break;
    case KeptFor::chunk_iterations: count += "iterations of a chunk of the loop at " + place; break;
  }
  const auto size = static_cast<std::int64_t>(size_of(type));
  std::string each = fmt::format("{} B", elements ? size * *elements : size);
  if (!elements) each += " x the elements of the array";
  return fmt::format("{}, {} x {}, assigned at {}", name(type), each, count, assigned.to_string());
}

std::optional<std::int64_t> AdjointReport::bytes() const {
  std::int64_t sum = 0;
  for (const KeptValue &value : kept) {
    if (!value.bytes()) return std::nullopt;
    sum += *value.bytes();
  }
  return sum;
}

namespace {

std::string times(int n) { return fmt::format("{} {}", n, n == 1 ? "time" : "times"); }

}  // namespace

std::string AdjointReport::to_string() const {
  std::string text = "adjoint of kernel '" + kernel + "' keeps ";
  if (kept.empty())
    text += "nothing";
  else if (auto sum = bytes())
    text += fmt::format("{} B for each instance", *sum);
  else
    text += "for each instance";
  for (const KeptValue &value : kept) text += "\n  " + value.to_string();
  for (const LoopRuns &run : loops) {
    text += "\n  the body of the loop at " + run.loop.to_string() + " runs forward ";
    if (const std::int64_t beyond = run.checkpoints_beyond.value_or(0); beyond > 0)
      text += fmt::format("{}; beyond {} iterations ", times(run.runs - 1), beyond);
    text += times(run.runs);
    if (run.checkpoints_beyond) text += ", with checkpoints";
  }
  for (const std::string &array : values_before)
    text += "\n  needs the elements of array '" + array + "' from before the launch";
  return text;
}

std::ostream &operator<<(std::ostream &stream, const AdjointReport &report) { return stream << report.to_string(); }

AdjointReport report(const ir::Kernel &structured, const Adjoint &adjoint) {
  AdjointReport report{structured.name, adjoint.kept, adjoint.loops, {}};
  for (std::uint32_t array : adjoint.values_before) report.values_before.push_back(structured.parameters[array].name);
  return report;
}

}  // namespace samite::autodiff
