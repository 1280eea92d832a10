#include "samite/lang/algebra/component.h"

namespace samite::lang {

void ComponentIndex::fail(int size, const char *what) const {
  throw UserError(where_, std::string(what) + " " + std::to_string(value_) + " is asked for, and there are " +
                              std::to_string(size) + ", 0 to " + std::to_string(size - 1));
}

}  // namespace samite::lang
