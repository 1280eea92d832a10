// expect: zip needs one array for each field of the struct
#include "samite/samite.h"

using namespace samite;

struct Cell {
  Vec2f flow;
  Int kind;
};

#ifdef SAMITE_EXPECT_OK
auto cells(Array<Vec2f, 1> flows, Array<std::int32_t, 1> kinds) { return zip<Cell>(flows, kinds); }
#else
auto cells(Array<Vec2f, 1> flows, Array<std::int32_t, 1>) { return zip<Cell>(flows); }
#endif
