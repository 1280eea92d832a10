// Functions that are kept outside of a serial loop and computed inside of it: what one iteration has computed is there
// for the next one, which computes the rest alone.
//
// Of a function whose memory is used in turn (fold_storage), no more is kept than is needed at once. Before its first
// iteration the loop then has further ones, which compute what the first one needs a row at a time, and leave the
// loop's own work out.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

struct Sliding {
  struct Function {
    std::size_t dimension;  // along which what is needed moves forwards
    std::int64_t at_once;   // so many of its elements along that are in use at a time
  };
  std::map<std::uint32_t, Function> functions;
  std::int64_t warm_up = 0;  // iterations before the first one
  Boxes before, first;       // what the iteration before needs, and what the first one does
  Boxes parts;               // what is needed where each of the functions computes its new part alone
};

// Whether the part of a function that is computed may begin anywhere along a dimension: each of its definitions goes
// along it by a variable, and calls the function itself nowhere else along it.
bool is_pure_along(const Lowering &lowering, std::uint32_t f, std::size_t dimension);

// In a serial loop around the one where a function is computed: after its first iteration, what an iteration needs of
// the function before `next` along the dimension was computed by the iterations before.
struct SlidingAround {
  passes::Symbol symbol;  // of the loop
  std::size_t dimension;
  passes::Affine next;
  std::int64_t at_once;  // as of Sliding::Function; 0 where that is not known
};

// Of loop l around loop i, in which function f is computed.
std::optional<SlidingAround> sliding_around(Lowering &lowering, const Site &site, std::size_t l, std::size_t i,
                                            std::uint32_t f);

// Of loop i, which is open or to be opened; nothing where no function slides so that all of this is known.
std::optional<Sliding> sliding(Lowering &lowering, const Site &site, std::size_t i);

// After how many elements the memory of a function is used again, by dimension, where loops from number `from` on have
// it slide. Of a function that is not folded by its schedule.
std::map<int, std::int64_t> folds_of_sliding(Lowering &lowering, const Site &site, std::size_t from, std::uint32_t f);

}  // namespace samite::schedules
