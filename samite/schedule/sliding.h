// Functions that are stored outside of a serial loop and computed inside it (sliding window): an iteration finds the
// elements that the previous one has computed, and computes only the rest.
//
// If the function's memory is used cyclically (fold_storage), only as many elements are stored as are needed at once.
// Then warm-up iterations precede the loop's first one: they compute the elements that the first one needs, a row at a
// time, and skip the loop's own work.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

struct Sliding {
  struct Function {
    std::size_t dimension;  // along which the needed elements move forwards
    std::int64_t at_once;   // the number of elements along it that are needed at once
  };
  std::map<std::uint32_t, Function> functions;
  std::int64_t warm_up = 0;  // iterations before the first one
  Boxes before, first;       // elements that the iteration before the first one needs, and that the first one needs
  Boxes parts;               // elements needed if each function computes only its new part
};

// Whether the computed part of a function may begin anywhere along a dimension: each of its definitions covers the
// dimension by a variable, and calls the function itself only at the same index along it.
bool is_pure_along(const Lowering &lowering, std::uint32_t f, std::size_t dimension);

// For a serial loop around the one that computes a function: after its first iteration, earlier iterations have
// computed all needed elements before `next` along the dimension.
struct SlidingAround {
  passes::Symbol symbol;  // of the loop
  std::size_t dimension;
  passes::Affine next;
  std::int64_t at_once;  // as in Sliding::Function; 0 if unknown
};

// For loop l around loop i, which computes function f.
std::optional<SlidingAround> sliding_around(Lowering &lowering, const Site &site, std::size_t l, std::size_t i,
                                            std::uint32_t f);

// For loop i, which is open or about to be opened. Nothing if no function is known to slide.
std::optional<Sliding> sliding(Lowering &lowering, const Site &site, std::size_t i);

// The period of a function's memory, by dimension, if it slides in loops from number `from` on. For functions that the
// schedule does not fold.
std::map<int, std::int64_t> folds_of_sliding(Lowering &lowering, const Site &site, std::size_t from, std::uint32_t f);

}  // namespace samite::schedules
