// expect: cast_one_operand
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Tile<std::int64_t> sum(const Tile<std::int32_t> &a, const Tile<std::uint32_t> &b) {
  return a + tile::cast<std::int64_t>(b);
}
#else
Tile<std::int64_t> sum(const Tile<std::int32_t> &a, const Tile<std::uint32_t> &b) { return a + b; }
#endif
