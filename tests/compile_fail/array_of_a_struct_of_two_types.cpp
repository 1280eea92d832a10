// expect: declare an array for each field and use zip<S>(arrays…)
#include "samite/samite.h"

using namespace samite;

struct Cell {
  Vec2f flow;
  Int kind;
};

#ifdef SAMITE_EXPECT_OK
Kernel stop{"stop", [](Array<Vec2f, 1> flows, Array<std::int32_t, 1> kinds) {
              Cell cell = zip<Cell>(flows, kinds)(0);
              if_(cell.kind == 1, [&] { flows(0) = Vec2f(); });
            }};
#else
Kernel stop{"stop", [](Array<Cell, 1> cells) {
              Cell cell = cells(0);
              if_(cell.kind == 1, [&] { cell.flow = Vec2f(); });
            }};
#endif
