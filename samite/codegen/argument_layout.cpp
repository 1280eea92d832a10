#include "samite/codegen/argument_layout.h"

namespace samite::codegen {

ArgumentLayout argument_layout(const std::vector<ir::Parameter> &parameters) {
  static_assert(sizeof(void *) == 8 && sizeof(long long) == 8);
  ArgumentLayout layout;
  for (const ir::Parameter &parameter : parameters) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += 8 + 16 * static_cast<std::size_t>(parameter.rank);
  }
  return layout;
}

}  // namespace samite::codegen
