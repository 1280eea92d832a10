// The include rules of docs/architecture.md, and a checker of one file against them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace samite::house {

// For each module, the modules that its files may include: its row of the table, closed transitively, and itself.
using ModuleTable = std::map<std::string, std::set<std::string>>;

// Reads the table under "## Modules" of a Markdown text. Throws std::runtime_error if a row names a module that no row
// above it describes.
ModuleTable read_module_table(std::string_view markdown);

// The violations in the file at `path` (relative to the repository) with the text `text`, one sentence each, starting
// with "path:line: "; empty if there are none.
std::vector<std::string> check_file(const ModuleTable &table, const std::filesystem::path &path, std::string_view text);

}  // namespace samite::house
