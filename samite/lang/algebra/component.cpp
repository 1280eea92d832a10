#include "samite/lang/algebra/component.h"

namespace samite::lang {

void ComponentIndex::fail(int size, const char *what) const {
  throw UserError(where_, std::string(what) + " " + std::to_string(value_) + " is asked for, and there are " +
                              std::to_string(size) + ", 0 to " + std::to_string(size - 1));
}

void check_matrix_index(const Index &index, int size, const char *what) {
  if (!index.value().is_constant()) return;
  ComponentIndex(index.value().as_int(), index.where()).within(size, what);
}

}  // namespace samite::lang
