#include "samite/base/name.h"

#include "samite/base/error.h"

namespace samite {

const char *Name::checked(const char *text, SourceLocation where) {
  if (text == nullptr) throw UserError(where, "a name is a string, such as \"scale\"; a null pointer is given");
  return text;
}

Names::Names(std::initializer_list<Name> names) {
  texts_.reserve(names.size());
  for (const Name &name : names) texts_.push_back(name.text());
}

}  // namespace samite
