// samite-info: lists what Samite finds on this machine, and one line for each missing part.
#include "tools/samite_info/findings.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace {

using samite::info::Finding;

void print_text(const std::vector<Finding> &findings) {
  std::size_t width = 0;
  for (const Finding &finding : findings)
    if (!finding.found.empty()) width = std::max(width, finding.what.size());
  fmt::print("samite {}\n\n", SAMITE_VERSION);
  for (const Finding &finding : findings)
    if (!finding.found.empty()) fmt::print("{:{}}  {}\n", finding.what, width, finding.found);
  bool first = true;
  for (const Finding &finding : findings) {
    if (finding.missing.empty()) continue;
    fmt::print("{}{}: {}\n", first ? "\nMissing:\n" : "", finding.what, finding.missing);
    first = false;
  }
}

void print_json(const std::vector<Finding> &findings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding &finding : findings) {
    nlohmann::ordered_json row = {{"what", finding.what}};
    if (!finding.found.empty()) row["found"] = finding.found;
    if (!finding.missing.empty()) row["missing"] = finding.missing;
    rows.push_back(row);
  }
  fmt::print("{}\n", nlohmann::ordered_json({{"samite", SAMITE_VERSION}, {"findings", rows}}).dump(2));
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("What Samite finds on this machine: devices, drivers, compilers, the kernel cache", "samite-info");
  bool json = false;
  app.add_flag("--json", json, "Print JSON");
  app.set_version_flag("--version", SAMITE_VERSION);
  CLI11_PARSE(app, argc, argv);
  const std::vector<Finding> findings = samite::info::findings();
  json ? print_json(findings) : print_text(findings);
  return 0;
}
