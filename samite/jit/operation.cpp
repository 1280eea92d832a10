#include "samite/jit/operation.h"

#include "samite/jit/graph_capture.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape.h"
#include "samite/jit/tape_access.h"
#include "samite/runtime/shared_elements.h"

#include <algorithm>

namespace samite::jit {
namespace {

// Its kernels add to each gradient without atomics, and read every gradient of a result more than once.
bool all_lie_apart(const std::vector<Operation::Array> &arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].buffer.is_broadcast()) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (share_elements(arrays[i].buffer, arrays[j].buffer)) return false;
  }
  return true;
}

bool passes_gradients(const std::vector<Operation::Array> &arrays) {
  const auto tracks = [&](bool written) {
    return std::ranges::any_of(arrays, [&](const Operation::Array &array) {
      return array.written == written && array.buffer.tracks_gradient();
    });
  };
  return tracks(false) && tracks(true);
}

}  // namespace

void perform(const Operation &operation, const std::function<void(bool derived)> &run, SourceLocation where) {
  Tape *tape = TapeAccess::recording();
  if (!tape || GraphCapture::current() || !passes_gradients(operation.arrays)) return run(false);
  if (TangentLaunches::current() || !all_lie_apart(operation.arrays) || !TapeAccess::takes_given_adjoints(*tape))
    return run(true);
  TapeAccess::append(*tape, operation, where, run);
}

}  // namespace samite::jit
