#include "samite/base/name.h"

#include "samite/base/error.h"

namespace samite {

const char *Name::checked(const char *text, SourceLocation where) {
  if (text == nullptr) throw UserError(where, "a name is a string, such as \"scale\"; a null pointer is given");
  return text;
}

std::vector<std::string> texts_of(std::initializer_list<Name> names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const Name &name : names) texts.push_back(name.text());
  return texts;
}

}  // namespace samite
