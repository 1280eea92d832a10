// Builds C++ text line by line, indented, with a comment when the user's line changes, and a list of the user's line
// for each of its lines.
#pragma once

#include "samite/base/source_location.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace samite::codegen {

class SourceWriter {
 public:
  explicit SourceWriter(bool comments, int depth = 0) : depth_(depth), comments_(comments) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args &&...args) {
    const std::size_t begin = text_.size();
    text_.append(2 * static_cast<std::size_t>(depth_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
    const auto lines = std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(), '\n');
    lines_.insert(lines_.end(), static_cast<std::size_t>(lines), here_);
  }

  // A line that ends in '{', and the one that begins with its '}'.
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args &&...args) {
    line(format, std::forward<Args>(args)...);
    ++depth_;
    scopes_.push_back(++opened_);
  }
  void close(std::string_view text = "}") {
    --depth_;
    scopes_.pop_back();
    here_ = {};
    line("{}", text);
  }

  // The current scope, and whether it is still open: its declarations are then visible.
  std::uint64_t scope() const { return scopes_.empty() ? 0 : scopes_.back(); }
  bool is_open(std::uint64_t scope) const { return scope == 0 || std::ranges::find(scopes_, scope) != scopes_.end(); }

  // The user's line of the text from here on.
  void location(SourceLocation where) {
    here_ = where;
    if (!comments_ || !where.known() || where == last_) return;
    last_ = where;
    std::string_view file = where.file;
    line("{}:{}", remark(file.substr(file.rfind('/') + 1)), where.line);
  }

  // "// text", always on one line: the text contains the user's names.
  static std::string remark(std::string_view text) {
    std::string comment = "// ";
    for (char c : text) comment += static_cast<unsigned char>(c) < ' ' || c == '\\' ? '?' : c;
    return comment;
  }

  // A place between lines, and other text there. Later places move.
  struct Place {
    std::size_t text, line;
  };
  Place place() const { return {text_.size(), lines_.size()}; }
  void insert(Place at, const std::string &text, const std::vector<SourceLocation> &lines) {
    text_.insert(at.text, text);
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at.line), lines.begin(), lines.end());
  }

  std::string take() { return std::move(text_); }
  std::vector<SourceLocation> take_lines() { return std::move(lines_); }

 private:
  std::string text_;
  std::vector<SourceLocation> lines_;
  int depth_;                          // of the indentation
  std::vector<std::uint64_t> scopes_;  // open scopes, the innermost last
  std::uint64_t opened_ = 0;
  bool comments_;
  SourceLocation last_, here_;
};

}  // namespace samite::codegen
