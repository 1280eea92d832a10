// Writes the definitions of a function one after another, each with its loops.
#pragma once

#include "samite/schedule/lowering.h"

namespace samite::schedules {

struct Computed {
  std::uint32_t function;
  Region region;
};

void compute(Lowering &lowering, std::uint32_t f, const Region &region);
// Computes several functions; the others' definitions share the loops of the first one's.
void compute(Lowering &lowering, const std::vector<Computed> &functions);

// One definition, with those that share its loops.
struct Defined {
  std::uint32_t function;
  std::size_t definition;
  Region region;
};
void define(Lowering &lowering, const Defined &what, const std::vector<Defined> &followers = {});

}  // namespace samite::schedules
