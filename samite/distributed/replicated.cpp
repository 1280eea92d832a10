#include "samite/base/error.h"
#include "samite/distributed/collective_call.h"
#include "samite/distributed/collectives.h"
#include "samite/jit/options.h"
#include "samite/runtime/buffer.h"

#include <fmt/format.h>

#include <cstring>

namespace samite {

using namespace distributed;

namespace {

bool is_nonzero(const AnyBuffer &array) {
  const auto any = [](const auto &values) {
    for (const auto value : values)
      if (static_cast<double>(value) != 0) return true;
    return false;
  };
  switch (array.type()) {
    case ScalarType::Float16: return any(Buffer<half>(array).to_vector());
    case ScalarType::BFloat16: return any(Buffer<bfloat16>(array).to_vector());
    case ScalarType::Float32: return any(Buffer<float>(array).to_vector());
    default: return any(Buffer<double>(array).to_vector());
  }
}

// UserError on all ranks unless all have the values of rank 0.
void check_replicated(const Communicator &ranks, const CallName &call, const AnyBuffer &values) {
  const AnyBuffer own = values.clone().to(Device::cpu()), first = values.clone();
  ranks.transport().broadcast(used_in(ranks.stream(), first), elements(first) * size_of(first.type()), 0,
                              ranks.stream(), call);
  first.mark_written();
  const AnyBuffer expected = first.to(Device::cpu());
  const bool same = std::memcmp(own.data(), expected.data(), elements(own) * size_of(own.type())) == 0;
  const Buffer<std::int32_t> differing(ranks.device(), {1}, {same ? ranks.size() : ranks.rank()});
  ranks.transport().all_reduce(used_in(ranks.stream(), differing), used_in(ranks.stream(), differing), 1,
                               ScalarType::Int32, ReduceOp::min, ranks.stream(), call);
  differing.mark_written();
  if (const std::int32_t rank = differing.at(0); rank != ranks.size())
    refuse(call, fmt::format("the values of rank {} differ from those of rank 0", rank));
}

}  // namespace

void replicated(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, SourceLocation where) {
  CallName call{"replicated", where};
  check_result(ranks, call, result), check_array(ranks, call, "the array of values", values);
  check_pair(call, result, values, 1, 1);
  describe(call, values);
  run(Collective{
      ranks,
      call,
      {result},
      {values},
      [=] {
        if (debug_mode()) check_replicated(ranks, call, values);
        AnyBuffer(result).copy_from(PackedValues(ranks.stream(), values).memory().reshape(result.extents()));
      },
      [=](const FunctionGradients &of) {
        const PackedValues from = cotangent(ranks, of, 0, result);
        const Buffer<std::int32_t> seeded(ranks.device(), {1}, {is_nonzero(from.memory()) ? 1 : 0});
        const CallName adjoint = adjoint_of(call, "adjoint of replicated");
        ranks.transport().all_reduce(used_in(ranks.stream(), seeded), used_in(ranks.stream(), seeded), 1,
                                     ScalarType::Int32, ReduceOp::sum, ranks.stream(), adjoint);
        seeded.mark_written();
        if (const std::int32_t count = seeded.at(0); count > 1)
          refuse(call, fmt::format("{} ranks give cotangents to an array that is the same on all of them, so that the "
                                   "objective counts it {} times: give one on a single rank",
                                   count, count));
        add_gradient(of, 0, from.memory().reshape({from.memory().count()}), ranks);
      }});
}

}  // namespace samite
