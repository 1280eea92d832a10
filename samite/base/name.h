// A name that a program gives to something, such as a kernel or its parameter.
//
// Strings convert to it implicitly. A null pointer throws a UserError with the line of that conversion; std::string
// would throw an error without a line.
#pragma once

#include "samite/base/source_location.h"

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace samite {

class Name {
 public:
  Name(const char *text, SourceLocation where = std::source_location::current()) : text_(checked(text, where)) {}
  Name(std::string text) : text_(std::move(text)) {}

  const std::string &text() const & { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  static const char *checked(const char *text, SourceLocation where);

  std::string text_;
};

// Several names in order: {"y", "x"}, or strings that a program already has.
class Names {
 public:
  Names(std::initializer_list<Name> names);
  template <std::same_as<std::string> Text>
  Names(std::initializer_list<Text> texts) : texts_(texts) {}
  Names(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  const std::vector<std::string> &texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace samite
