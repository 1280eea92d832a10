#include "samite/distributed/collective_call.h"

#include "samite/base/error.h"
#include "samite/distributed/collectives.h"
#include "samite/distributed/gradient_steps.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/shared_elements.h"

#include <fmt/format.h>

namespace samite::distributed {

void refuse(const CallName &call, const std::string &what) {
  throw UserError(call.where, fmt::format("{}: {}", call.operation, what));
}

void check_array(const Communicator &ranks, const CallName &call, const char *role, const AnyBuffer &array) {
  if (!array.valid()) refuse(call, fmt::format("{} is an empty buffer", role));
  if (array.device() != ranks.device())
    refuse(call, fmt::format("{}, {}, is not on the communicator's device, {}", role, array.to_string(),
                             ranks.device().to_string()));
}

void check_result(const Communicator &ranks, const CallName &call, const AnyBuffer &result) {
  check_array(ranks, call, "the result", result);
  if (result.is_broadcast()) refuse(call, "the result, " + result.to_string() + ", is a broadcast view");
}

void check_root(const Communicator &ranks, const CallName &call, int root) {
  if (root < 0 || root >= ranks.size())
    refuse(call, fmt::format("rank {} is given, and the communicator has ranks 0 to {}", root, ranks.size() - 1));
}

void check_pair(const CallName &call, const AnyBuffer &result, const AnyBuffer &values, std::int64_t result_times,
                std::int64_t values_times) {
  if (result.type() != values.type())
    refuse(call, fmt::format("the result is {} and the values are {}: expected the same type", result.to_string(),
                             values.to_string()));
  if (result.count() * values_times != values.count() * result_times)
    refuse(call, fmt::format("the result is {} and the values are {}: expected {} elements in the result",
                             result.to_string(), values.to_string(), values.count() * result_times / values_times));
  if (share_elements(result, values)) refuse(call, "the result shares elements with the values");
}

void check_reduction(const CallName &call, ScalarType type, ReduceOp reduction) {
  if (!has_reduction(type, reduction))
    refuse(call, fmt::format("elements of type {} have no {}", name(type), name(reduction)));
}

void check_in_place(const CallName &call, const AnyBuffer &values) {
  if (is_recorded() && values.tracks_gradient())
    refuse(call,
           "in place, an array with a gradient loses the values that came before; on a tape, give another array "
           "for the result");
}

void refuse_together(const Communicator &ranks, const std::string &operation, const std::string &message,
                     SourceLocation where) {
  const Buffer<std::int32_t> own(ranks.device(), {1}, {message.empty() ? 0 : 1}), all(ranks.device(), {ranks.size()});
  without_gradients([&] { all_gather(ranks, all, own, where); });
  const std::vector<std::int32_t> refusals = all.to_vector();
  if (!message.empty()) throw UserError(where, operation + ": " + message);
  if (const auto refused = std::ranges::find(refusals, 1); refused != refusals.end())
    throw UserError(where, fmt::format("{}: rank {} has failed", operation, refused - refusals.begin()));
}

void describe(CallName &call, const AnyBuffer &array, std::optional<ReduceOp> reduction, int root) {
  call.count = array.count(), call.type = array.type(), call.reduction = reduction, call.root = root;
}

PackedValues cotangent(const Communicator &ranks, const FunctionGradients &of, std::size_t index,
                       const AnyBuffer &result) {
  const AnyBuffer &gradient = of.outputs[index];
  return {ranks.stream(), gradient.valid() ? gradient : like(result)};
}

void add_gradient(const FunctionGradients &of, std::size_t index, const AnyBuffer &flat, const Communicator &ranks) {
  const AnyBuffer &gradient = of.inputs[index];
  if (gradient.valid()) add_to(gradient, flat.reshape(gradient.extents()), ranks.stream());
}

CallName adjoint_of(CallName call, const char *name) {
  call.operation = name;
  return call;
}

}  // namespace samite::distributed
