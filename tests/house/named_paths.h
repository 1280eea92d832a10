// The paths of the repository that a Markdown text names, and those of them that do not exist.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace samite::house {

struct NamedPath {
  std::string path;
  int line;   // from 1 on
  bool link;  // the target of a link, which is relative to the document; else the word of a code span

  friend bool operator==(const NamedPath &, const NamedPath &) = default;
};

// Targets of links, without addresses of other sites and places in the same document. Words with a slash in `code
// spans` and in code blocks of the shell, unless they are not paths of the repository: placeholders such as
// tests/<module>/, absolute paths, options, and build outputs below build/.
std::vector<NamedPath> named_paths(std::string_view markdown);

// "docs/ir.md:3: ir/expr.h is not there", one for each of them. `document` is relative to `root`. A code span may leave
// out samite/, and may name a path relative to the document's folder.
std::vector<std::string> missing_paths(const std::filesystem::path &root, const std::filesystem::path &document,
                                       std::string_view markdown);

}  // namespace samite::house
