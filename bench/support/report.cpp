#include "bench/support/report.h"

#include "bench/peers/openmp.h"
#include "samite/runtime/device.h"
#include "samite/toolchain/host_target.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace samite::bench {
namespace {

using Json = nlohmann::ordered_json;

#ifdef __clang__
constexpr const char *library_compiler = "clang " __clang_version__;
#else
constexpr const char *library_compiler = "GCC " __VERSION__;
#endif

Json machine() {
  return {{"bench", "machine"},
          {"cpu", Device::cpu().name()},
          {"vector_bits", host_target().vector_bytes * 8},
          {"peer_compiler", peer_compiler()},
          {"peer_threads", peer_threads()},
          {"library_compiler", library_compiler}};
}

void publish(const Json &line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  const char *path = std::getenv("SAMITE_BENCH_RESULTS");
  if (path == nullptr || *path == '\0') return;
  bool is_new = !std::filesystem::exists(path);
  std::ofstream file(path, std::ios::app);
  if (is_new) file << machine().dump() << '\n';
  file << line.dump() << '\n';
}

// As many digits as a median justifies.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
  return std::stod(fmt::format("{:.4g}", std::round(value / unit) * unit));
}

}  // namespace

bool Reach::reached_by(const Figure &figure) const {
  return (value_at_most == 0 || figure.value <= value_at_most) &&
         (ratio_at_least == 0 || figure.ratio() >= ratio_at_least);
}

std::string Reach::to_string() const {
  if (value_at_most != 0) return fmt::format("≤ {}", value_at_most);
  return ratio_at_least == 0 ? "" : fmt::format("ratio ≥ {:.3g}", ratio_at_least);
}

void Report::add(const Figure &figure, const Reach &reach) {
  Json line{{"bench", bench_},
            {"case", figure.name},
            {"metric", figure.metric},
            {"value", rounded(figure.value)},
            {"unit", figure.unit},
            {"peer", figure.peer},
            {"peer_value", rounded(figure.peer_value)},
            {"ratio", rounded(figure.ratio())}};
  if (!figure.rate.empty()) line["rate"] = figure.rate;
  publish(line);
  rows_.push_back({figure, reach});
}

void Report::print_table() const {
  fmt::print(stderr, "\n{:<34} {:>11} {:>11} {:>8}  {:<22} {}\n", bench_, "ours", "peer", "ratio", "reach", "peer");
  for (const auto &[figure, reach] : rows_) {
    std::string verdict = reach.to_string();
    if (!verdict.empty()) verdict += reach.reached_by(figure) ? ", reached" : ", MISSED";
    const std::string name = figure.rate.empty() ? figure.name : figure.name + ", " + figure.rate;
    fmt::print(stderr, "{:<34} {:>8.4g} {:<2} {:>8.4g} {:<2} {:>8.3g}  {:<22} {}\n", name, figure.value, figure.unit,
               figure.peer_value, figure.unit, figure.ratio(), verdict, figure.peer);
  }
  for (const std::string &note : notes_) fmt::print(stderr, "{}\n", note);
}

int run(const std::string &bench, const std::function<void(Report &)> &body) {
  Report report(bench);
  try {
    // Idle OpenMP threads would spin on the cores that our next run needs.
    let_peer_threads_sleep();
    body(report);
    report.print_table();
    return 0;
  } catch (const std::exception &error) {
    report.print_table();
    fmt::print(stderr, "{}: {}\n", bench, error.what());
    return 1;
  }
}

void require_close(double value, double expected, double tolerance, const std::string &what) {
  // Also throws if one of them is NaN.
  if (std::abs(value - expected) <= tolerance) return;
  throw std::runtime_error(fmt::format("{}: {} instead of {}", what, value, expected));
}

}  // namespace samite::bench
