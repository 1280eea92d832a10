// The declarations of the joined device headers. A kernel's text includes only those that it needs, since some
// compilers parse the headers again with each text.
//
// The headers must be laid out by clang-format: a declaration begins at the start of a line, and its other lines are
// indented or begin with a brace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace samite::codegen {

class Declarations {
 public:
  // Headers one after another, each after its dependencies, without #include lines, all in namespace samite. Throws
  // InternalError if a declaration's name is not found.
  explicit Declarations(std::string headers);
  Declarations(const Declarations &) = delete;
  Declarations &operator=(const Declarations &) = delete;

  // The declarations whose names are in `text`, those that these name, and so on, in their order. All declarations of a
  // name, overloads and specialisations, come together.
  std::string needed_by(std::string_view text) const;

  // All names, sorted.
  std::vector<std::string> names() const;

 private:
  struct Declaration {
    std::string_view text;
    std::vector<std::string_view> names;
  };

  void read();
  // The declarations named in `text`, possibly repeated.
  std::vector<std::size_t> named_in(std::string_view text) const;

  std::string headers_;
  std::vector<Declaration> declarations_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> of_name_;
};

}  // namespace samite::codegen
