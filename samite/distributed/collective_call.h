// Common code of the collective operations: their entry on tapes and in graphs, checks of arrays, and gradients.
#pragma once

#include "samite/distributed/array_memory.h"
#include "samite/distributed/communicator.h"
#include "samite/distributed/gradient_type.h"
#include "samite/distributed/tape_entry.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/tape_function.h"

#include <algorithm>
#include <string>
#include <vector>

namespace samite::distributed {

inline bool is_recorded() { return jit::TapeAccess::recording() != nullptr; }
// Neither recorded nor captured. A call then runs at once, and nothing needs to own its arrays, which would take as
// long as NCCL's own call.
inline bool runs_alone() { return !is_recorded() && jit::GraphCapture::current() == nullptr; }

// A collective call: this rank's arrays, and the forward and backward operations.
template <class Forward, class Backward>
struct Collective {
  const Communicator &ranks;
  const CallName &call;
  std::vector<AnyBuffer> results, values;  // those that are not empty
  Forward forward;
  Backward backward;
  bool reads_values = false, reads_results = false;  // backward
};

template <class Forward, class Backward>
void run(const Collective<Forward, Backward> &collective) {
  if (runs_alone()) return collective.forward();
  const auto differs = [](const AnyBuffer &array) { return has_gradients(array.type()); };
  const bool differentiable =
      std::ranges::any_of(collective.results, differs) || std::ranges::any_of(collective.values, differs);
  run_on_tapes(collective.ranks,
               {collective.results,
                collective.values,
                collective.forward,
                [differentiable, backward = collective.backward](const FunctionGradients &of) {
                  if (differentiable) backward(of);
                },
                {.name = collective.call.operation,
                 .reads_inputs = collective.reads_values,
                 .reads_outputs = collective.reads_results}},
               collective.call.where);
}

// Recorded in graphs, but not on tapes.
template <class Work>
void run_in_place(const Communicator &ranks, const CallName &call, const AnyBuffer &values, const Work &work) {
  if (jit::GraphCapture::current() == nullptr) return work();
  run_on_tapes(ranks, {{values}, {}, work, {}, {.name = call.operation}}, call.where);
}

[[noreturn]] void refuse(const CallName &call, const std::string &what);

// UserErrors with the caller's line.
void check_array(const Communicator &ranks, const CallName &call, const char *role, const AnyBuffer &array);
void check_result(const Communicator &ranks, const CallName &call, const AnyBuffer &result);
void check_root(const Communicator &ranks, const CallName &call, int root);
// For `result_times` elements of the result, there must be `values_times` elements of the values.
void check_pair(const CallName &call, const AnyBuffer &result, const AnyBuffer &values, std::int64_t result_times,
                std::int64_t values_times);
void check_reduction(const CallName &call, ScalarType type, ReduceOp reduction);
void check_in_place(const CallName &call, const AnyBuffer &values);

// A UserError on all ranks if one of them has a message: that rank throws the message, the others name the rank.
void refuse_together(const Communicator &ranks, const std::string &operation, const std::string &message,
                     SourceLocation where);

// Adds the arguments to the text of a call.
void describe(CallName &call, const AnyBuffer &array, std::optional<ReduceOp> reduction = {}, int root = -1);
CallName adjoint_of(CallName call, const char *name);

inline std::size_t elements(const AnyBuffer &array) { return static_cast<std::size_t>(array.count()); }
// A vector of zeros with equally many elements.
inline AnyBuffer like(const AnyBuffer &array) { return {array.device(), array.type(), {array.count()}}; }

// The gradient of result `index`, contiguous; zeros if it has none.
PackedValues cotangent(const Communicator &ranks, const FunctionGradients &of, std::size_t index,
                       const AnyBuffer &result);
// Adds a vector to the gradient of value `index`, if it has one.
void add_gradient(const FunctionGradients &of, std::size_t index, const AnyBuffer &flat, const Communicator &ranks);

}  // namespace samite::distributed
