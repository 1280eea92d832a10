// expect: pipeline_given_a_number_for_an_array.cpp
#include "samite/samite.h"

using namespace samite;

void launch(const Pipeline<void(Array<float, 1>, Float)> &pipeline, const Buffer<float> &y) {
#ifdef SAMITE_EXPECT_OK
  pipeline.launch({.schedule = "fast"}, y, 2.0f);
  pipeline.launch(y, 2.0f);
#else
  pipeline.launch(2.0f, y);
#endif
}
