#include "samite/lang/tile_functions.h"

#include <set>

namespace samite::lang {

std::int64_t reduced_count(const ir::Type &type, Dimensions along, SourceLocation where) {
  std::set<int> dimensions;
  for (const int dimension : along) dimensions.insert(tile_dimension(dimension, type, where));
  std::int64_t count = along.size() == 0 ? type.count() : 1;
  for (const int dimension : dimensions) count *= type.shape()[dimension];
  return count;
}

}  // namespace samite::lang
