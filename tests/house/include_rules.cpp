#include "include_rules.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <stdexcept>

namespace samite::house {
namespace {

std::string trimmed(std::string_view text, std::string_view unwanted = " \t`") {
  const auto first = text.find_first_not_of(unwanted);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(unwanted) - first + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

struct Include {
  std::string name;
  bool quoted;  // "name", not <name>
};

std::optional<Include> include_of(std::string_view line) {
  std::string rest = trimmed(line);
  if (!rest.starts_with('#')) return std::nullopt;
  rest = trimmed(rest.substr(1));
  if (!rest.starts_with("include")) return std::nullopt;
  rest = trimmed(rest.substr(7));
  const auto end = rest.find_first_of("\">", 1);
  if (end == std::string::npos || (rest[0] != '"' && rest[0] != '<')) return std::nullopt;
  return Include{rest.substr(1, end - 1), rest[0] == '"'};
}

bool under(std::string_view path, std::string_view folder) { return path.starts_with(folder); }

// The module of a path "samite/<module>/…"; empty for files directly in samite/ or outside it.
std::string module_of(std::string_view path) {
  if (!under(path, "samite/")) return "";
  const auto end = path.find('/', 7);
  return end == std::string_view::npos ? "" : std::string(path.substr(7, end - 7));
}

bool is_cuda_driver(std::string_view name) { return name == "cuda.h" || name == "cudaTypedefs.h"; }

bool is_compiler(std::string_view name) {
  for (std::string_view root : {"llvm/", "llvm-c/", "clang/", "clang-c/", "lld/"})
    if (under(name, root)) return true;
  return false;
}

// Headers without a suffix are the C++ library's.
bool is_cpp_or_cuda(std::string_view name) {
  return name.find('.') == std::string_view::npos || under(name, "cuda") || under(name, "nv/");
}

std::string problem_with(const ModuleTable &table, std::string_view path, const Include &include) {
  if (is_cuda_driver(include.name) && !under(path, "tests/driver/cuda_header/"))
    return fmt::format("only tests/driver/cuda_header/ may include {}: samite/driver/ declares what it needs",
                       include.name);
  if (is_compiler(include.name) && !under(path, "samite/toolchain/clang_plugin/"))
    return fmt::format("only toolchain/clang_plugin/ may include {}", include.name);

  const std::string from = module_of(path);
  if (from.empty()) return "";
  if (from == "device" && !include.quoted && is_cpp_or_cuda(include.name))
    return fmt::format("device/ may not include <{}>: it is compiled where there is no C++ or CUDA header",
                       include.name);
  if (!under(include.name, "samite/")) return "";
  const std::string to = module_of(include.name);
  if (to.empty()) return fmt::format("{}/ may not include {}, which is for users", from, include.name);
  if (!table.at(from).contains(to)) return fmt::format("{}/ may not include {}", from, include.name);
  return "";
}

}  // namespace

ModuleTable read_module_table(std::string_view markdown) {
  ModuleTable table;
  std::set<std::string> above;
  const auto start = markdown.find("## Modules");
  if (start == std::string_view::npos) throw std::runtime_error("no heading \"## Modules\"");
  bool inside = false;
  for (const std::string &line : split(markdown.substr(start), '\n')) {
    if (!line.starts_with('|')) {
      if (inside) break;
      continue;
    }
    inside = true;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() < 4 || !cells[1].ends_with('/')) continue;  // the head of the table and the line under it

    const std::string module = cells[1].substr(0, cells[1].size() - 1);
    std::set<std::string> allowed{module};
    if (cells[3] == "all above") {
      allowed.insert(above.begin(), above.end());
    } else if (cells[3] != "nothing") {
      for (const std::string &other : split(cells[3], ',')) {
        if (!table.contains(other))
          throw std::runtime_error(fmt::format("the row of {}/ names {}, which has no row above", module, other));
        allowed.insert(table[other].begin(), table[other].end());
      }
    }
    table[module] = allowed;
    above.insert(module);
  }
  return table;
}

std::vector<std::string> check_file(const ModuleTable &table, const std::filesystem::path &path,
                                    std::string_view text) {
  const std::string name = path.generic_string();
  const std::string module = module_of(name);
  if (!module.empty() && !table.contains(module))
    return {fmt::format("{}:1: the folder samite/{}/ has no row in docs/architecture.md", name, module)};

  std::vector<std::string> problems;
  int number = 0;
  bool once = false;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    ++number;
    once = once || line.starts_with("#pragma once");
    const std::optional<Include> include = include_of(line);
    if (!include) continue;
    const std::string problem = problem_with(table, name, *include);
    if (!problem.empty()) problems.push_back(fmt::format("{}:{}: {}", name, number, problem));
  }
  if (path.extension() == ".h" && !once) problems.push_back(fmt::format("{}:1: a header needs #pragma once", name));
  return problems;
}

}  // namespace samite::house
