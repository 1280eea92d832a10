// Gathers instead of scattering: the adjoint of a stencil as a stencil.
//
// The adjoint of `next(i) = … now(i + c) …` adds to the gradients of neighbours, where instances meet: it needs atomics
// or private sums, and where an index is kept within the array, lanes meet as well. But where i + c can be solved for
// i, each instance can fetch what its own element is owed:
//
//   accumulate ā[i + c] += f(i)      becomes      if i - c is an instance { accumulate ā[i] += f(i - c) }
//
// with f computed again for the other instance. An index that is kept within the array sends several instances to the
// first or the last element, which gets one more term for each. The conditions that are around the addition are part of
// f. Each element is then added to by one instance, plainly and in one order: the same bits on every run.
//
// f reads gradients that the adjoint takes (`exchange`), which must stay until all instances have read them: `gather`
// leaves them, and `clear`, launched after it over the same extents, sets them to zero.
//
// Not for tile kernels (passes/gather_tiles.h), for kernels with loops, whose f is too much to compute again, and not
// where the adjoint reads gradients that it adds to. What cannot be gathered stays as it was, next to what can.
#pragma once

#include "samite/passes/index_map.h"

namespace samite::passes {

struct GatheredAdjoint {
  // An extent of an array (a primal parameter) that must equal the launch's. Where one does not, the result is wrong.
  struct Cover {
    ArrayDimension array;
    int launch_dimension;
    friend bool operator==(const Cover &, const Cover &) = default;
  };

  // Of a tile kernel (passes/gather_tiles.h): a loop whose iterations are dealt to the blocks along these dimensions of
  // the launch. Its bounds are what these statements compute.
  struct DealtLoop {
    std::vector<int> launch_dimensions;
    ir::Block scalars;
    ir::Value begin, end;
  };

  ir::Kernel gather, clear;  // structured, simplified, with the adjoint's parameters; clear may do nothing
  std::vector<Cover> covers;
  std::vector<DealtLoop> dealt;
};

// Nothing where no addition to a gradient that needs atomics can be gathered; nor, but for `even_if_slower`, where
// computing f again seems to take longer than the atomics. `adjoint` is structured, with atomics relaxed; its gradient
// arrays share no memory.
std::optional<GatheredAdjoint> gather_adjoint(const ir::Kernel &adjoint, bool even_if_slower);

}  // namespace samite::passes
