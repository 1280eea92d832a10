// expect: a struct parameter is given a struct of the host with the same scalars in the same order
#include "samite/samite.h"

using namespace samite;

struct Settings {
  Float step;
  Vec2f wind;
};
#ifdef SAMITE_EXPECT_OK
struct HostSettings {
  float step;
  std::array<float, 2> wind;
};
#else
struct HostSettings {
  double step;
  std::array<float, 2> wind;
};
#endif

void launch(Buffer<float> a) {
  Kernel blow{"blow", [](Array<float, 1> a, Settings s) { a(0) += s.step * s.wind.x(); }};
  blow.launch({1}, a, HostSettings{1, {2, 3}});
}
