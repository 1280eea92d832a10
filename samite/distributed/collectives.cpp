#include "samite/distributed/collectives.h"

#include "samite/base/error.h"
#include "samite/distributed/collective_call.h"
#include "samite/distributed/gradient_steps.h"
#include "samite/runtime/shared_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace samite {
namespace {

using namespace distributed;

// flat(values) = the sums of all ranks' cotangents.
void sum_all(const Communicator &ranks, const AnyBuffer &sums, const PackedValues &cotangents, const CallName &call) {
  ranks.transport().all_reduce(used_in(ranks.stream(), sums), cotangents.data(), elements(sums), sums.type(),
                               ReduceOp::sum, ranks.stream(), call);
  sums.mark_written();
}

// Calls work(to, from) with the addresses of contiguous memory. Arrays that are contiguous are used as they are:
// handles of copies alone would take as long as a short call of MPI.
template <class Work>
void with_packed(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, const Work &work) {
  const Stream &stream = ranks.stream();
  if (result.is_contiguous() && values.is_contiguous()) {
    work(used_in(stream, result), used_in(stream, values));
    return result.mark_written();
  }
  const PackedValues from(stream, values);
  PackedResult to(stream, result);
  work(to.data(), from.data());
  to.finish();
}

// Whether nothing more needs a check, as for most calls: the arrays are contiguous, of one type and size, each with
// memory of its own.
bool are_alike(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values) {
  if (!result.valid() || !values.valid()) return false;
  const Storage &to = *result.storage(), &from = *values.storage();
  return result.type() == values.type() && result.extents() == values.extents() && to.device() == ranks.device() &&
         from.device() == ranks.device() && !to.may_share(from) && result.is_contiguous() && values.is_contiguous();
}

// The result may be the values.
void reduce_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, ReduceOp reduction,
                const CallName &call) {
  with_packed(ranks, result, values, [&](void *to, const void *from) {
    ranks.transport().all_reduce(to, from, elements(result), result.type(), reduction, ranks.stream(), call);
  });
}

// The result may be empty, except on the root.
void reduce_to_root(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
                    ReduceOp reduction, const CallName &call) {
  const PackedValues from(ranks.stream(), values);
  PackedResult to(ranks.stream(), ranks.rank() == root ? result : AnyBuffer());
  ranks.transport().reduce(to.data(), from.data(), elements(values), values.type(), reduction, root, ranks.stream(),
                           call);
  to.finish();
}

void gather_on_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, const CallName &call) {
  with_packed(ranks, result, values, [&](void *to, const void *from) {
    ranks.transport().all_gather(to, from, elements(values) * size_of(values.type()), ranks.stream(), call);
  });
}

void reduce_parts(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, ReduceOp reduction,
                  const CallName &call) {
  with_packed(ranks, result, values, [&](void *to, const void *from) {
    ranks.transport().reduce_scatter(to, from, elements(result), result.type(), reduction, ranks.stream(), call);
  });
}

bool chooses(ReduceOp reduction) { return reduction == ReduceOp::min || reduction == ReduceOp::max; }
bool reads_values(ReduceOp reduction) { return chooses(reduction) || reduction == ReduceOp::product; }

// This rank's part of the gradient of a reduction, from the sums of all ranks' cotangents, which it may overwrite.
// `values` are this rank's; `results` are read for min and max only.
AnyBuffer gradient_of(const Communicator &ranks, ReduceOp reduction, const AnyBuffer &sums, const AnyBuffer &values,
                      const AnyBuffer &results, const CallName &call) {
  const Stream &stream = ranks.stream();
  if (reduction == ReduceOp::average) scale(sums, 1.0 / ranks.size(), stream);
  if (!reads_values(reduction)) return sums;
  const PackedValues own(stream, values);
  if (reduction == ReduceOp::product) {
    const AnyBuffer all(sums.device(), sums.type(), {ranks.size(), sums.count()});
    ranks.transport().all_gather(used_in(stream, all), own.data(), own.bytes(), stream, call);
    all.mark_written();
    multiply_by_others(sums, all, ranks.rank(), stream);
    return sums;
  }
  const AnyBuffer owner(sums.device(), ScalarType::Int32, sums.extents()), kept = like(sums);
  claim(owner, own.memory().reshape(sums.extents()), PackedValues(stream, results).memory().reshape(sums.extents()),
        ranks.rank(), ranks.size(), stream);
  ranks.transport().all_reduce(used_in(stream, owner), used_in(stream, owner), elements(owner), owner.type(),
                               ReduceOp::min, stream, call);
  owner.mark_written();
  keep_owned(kept, sums, owner, ranks.rank(), stream);
  return kept;
}

// All ranks' parts of an array.
AnyBuffer gathered(const Communicator &ranks, const AnyBuffer &part, const CallName &call) {
  const PackedValues from(ranks.stream(), part);
  const AnyBuffer all(part.device(), part.type(), {ranks.size() * part.count()});
  ranks.transport().all_gather(used_in(ranks.stream(), all), from.data(), from.bytes(), ranks.stream(), call);
  all.mark_written();
  return all;
}

// A copy of the root's array, which has the number of elements of `as_many`; elsewhere `array` may be empty.
AnyBuffer from_root(const Communicator &ranks, const AnyBuffer &array, const AnyBuffer &as_many, int root,
                    const CallName &call) {
  const AnyBuffer copy = like(as_many);
  if (ranks.rank() == root)
    AnyBuffer(copy).copy_from(PackedValues(ranks.stream(), array).memory().reshape(copy.extents()));
  ranks.transport().broadcast(used_in(ranks.stream(), copy), elements(copy) * size_of(copy.type()), root,
                              ranks.stream(), call);
  copy.mark_written();
  return copy;
}

// Messages of equal parts of `data` to or from each rank.
std::vector<Message> messages_of_parts(const Communicator &ranks, void *data, std::size_t bytes) {
  std::vector<Message> messages;
  for (int rank = 0; rank < ranks.size(); ++rank)
    messages.push_back({static_cast<std::byte *>(data) + static_cast<std::size_t>(rank) * bytes, bytes, rank});
  return messages;
}
std::vector<Message> messages_of_parts(void *data, std::size_t element, const std::vector<std::int64_t> &counts) {
  std::vector<Message> messages;
  auto *at = static_cast<std::byte *>(data);
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const std::size_t bytes = static_cast<std::size_t>(counts[rank]) * element;
    messages.push_back({at, bytes, static_cast<int>(rank)});
    at += bytes;
  }
  return messages;
}

void gather_parts(const Communicator &ranks, void *to, const PackedValues &from, int root, const CallName &call) {
  const Message own{from.data(), from.bytes(), root};
  const auto parts = ranks.rank() == root ? messages_of_parts(ranks, to, from.bytes()) : std::vector<Message>{};
  ranks.transport().exchange({&own, 1}, parts, ranks.stream(), call);
}
void exchange_arrays(const Communicator &ranks, const std::vector<ArrayMessage> &sent,
                     const std::vector<ArrayMessage> &received, const CallName &call) {
  std::vector<PackedValues> from;
  std::vector<PackedResult> to;
  std::vector<Message> sends, receives;
  from.reserve(sent.size()), to.reserve(received.size());
  sends.reserve(sent.size()), receives.reserve(received.size());
  for (const ArrayMessage &message : sent)
    from.emplace_back(ranks.stream(), message.array),
        sends.push_back({from.back().data(), from.back().bytes(), message.rank});
  for (const ArrayMessage &message : received)
    to.emplace_back(ranks.stream(), message.array),
        receives.push_back({to.back().data(), to.back().bytes(), message.rank});
  ranks.transport().exchange(sends, receives, ranks.stream(), call);
  for (PackedResult &result : to) result.finish();
}
void scatter_parts(const Communicator &ranks, void *to, std::size_t bytes, void *from, int root, const CallName &call) {
  const Message own{to, bytes, root};
  const auto parts = ranks.rank() == root ? messages_of_parts(ranks, from, bytes) : std::vector<Message>{};
  ranks.transport().exchange(parts, {&own, 1}, ranks.stream(), call);
}

}  // namespace

void all_reduce(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, ReduceOp reduction,
                SourceLocation where) {
  CallName call{"all_reduce", where};
  if (runs_alone() && are_alike(ranks, result, values) && has_reduction(result.type(), reduction)) {
    describe(call, result, reduction);
    ranks.transport().all_reduce(used_in(ranks.stream(), result), used_in(ranks.stream(), values), elements(result),
                                 result.type(), reduction, ranks.stream(), call);
    return result.mark_written();
  }
  check_result(ranks, call, result), check_array(ranks, call, "the array of values", values);
  check_pair(call, result, values, 1, 1), check_reduction(call, result.type(), reduction);
  describe(call, result, reduction);
  run(Collective{ranks,
                 call,
                 {result},
                 {values},
                 [=] { reduce_all(ranks, result, values, reduction, call); },
                 [=](const FunctionGradients &of) {
                   const CallName adjoint = adjoint_of(call, "adjoint of all_reduce");
                   const AnyBuffer sums = like(result);
                   sum_all(ranks, sums, cotangent(ranks, of, 0, result), adjoint);
                   add_gradient(of, 0,
                                gradient_of(ranks, reduction, sums, of.input_values[0], of.output_values[0], adjoint),
                                ranks);
                 },
                 reads_values(reduction),
                 chooses(reduction)});
}

void all_reduce(const Communicator &ranks, const AnyBuffer &values, ReduceOp reduction, SourceLocation where) {
  CallName call{"all_reduce", where};
  check_result(ranks, call, values), check_reduction(call, values.type(), reduction), check_in_place(call, values);
  describe(call, values, reduction);
  if (runs_alone()) return reduce_all(ranks, values, values, reduction, call);
  run_in_place(ranks, call, values, [=] { reduce_all(ranks, values, values, reduction, call); });
}

void reduce(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root, ReduceOp reduction,
            SourceLocation where) {
  CallName call{"reduce", where};
  check_root(ranks, call, root), check_array(ranks, call, "the array of values", values);
  check_reduction(call, values.type(), reduction);
  const bool is_root = ranks.rank() == root;
  if (is_root) check_result(ranks, call, result), check_pair(call, result, values, 1, 1);
  describe(call, values, reduction, root);
  if (runs_alone()) return reduce_to_root(ranks, result, values, root, reduction, call);
  run(Collective{
      ranks,
      call,
      is_root ? std::vector{result} : std::vector<AnyBuffer>{},
      {values},
      [=] { reduce_to_root(ranks, result, values, root, reduction, call); },
      [=](const FunctionGradients &of) {
        const CallName adjoint = adjoint_of(call, "adjoint of reduce");
        const AnyBuffer cotangents = is_root ? cotangent(ranks, of, 0, result).memory() : AnyBuffer();
        const AnyBuffer sums = from_root(ranks, cotangents, values, root, adjoint);
        const AnyBuffer results =
            chooses(reduction) ? from_root(ranks, is_root ? of.output_values[0] : AnyBuffer(), values, root, adjoint)
                               : AnyBuffer();
        add_gradient(of, 0, gradient_of(ranks, reduction, sums, of.input_values[0], results, adjoint), ranks);
      },
      reads_values(reduction),
      chooses(reduction)});
}

void broadcast(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
               SourceLocation where) {
  CallName call{"broadcast", where};
  check_root(ranks, call, root), check_result(ranks, call, result);
  const bool is_root = ranks.rank() == root;
  if (is_root) check_array(ranks, call, "the array of values", values), check_pair(call, result, values, 1, 1);
  describe(call, result, {}, root);
  run(Collective{ranks,
                 call,
                 {result},
                 is_root ? std::vector{values} : std::vector<AnyBuffer>{},
                 [=] {
                   PackedResult to(ranks.stream(), result);
                   if (is_root)
                     AnyBuffer(to.memory())
                         .copy_from(PackedValues(ranks.stream(), values).memory().reshape(to.memory().extents()));
                   ranks.transport().broadcast(to.data(), to.bytes(), root, ranks.stream(), call);
                   to.finish();
                 },
                 [=](const FunctionGradients &of) {
                   const PackedValues from = cotangent(ranks, of, 0, result);
                   const AnyBuffer sums = like(result);
                   ranks.transport().reduce(used_in(ranks.stream(), sums), from.data(), elements(sums), sums.type(),
                                            ReduceOp::sum, root, ranks.stream(),
                                            adjoint_of(call, "adjoint of broadcast"));
                   sums.mark_written();
                   if (is_root) add_gradient(of, 0, sums, ranks);
                 }});
}

void broadcast(const Communicator &ranks, const AnyBuffer &values, int root, SourceLocation where) {
  CallName call{"broadcast", where};
  check_root(ranks, call, root), check_result(ranks, call, values), check_in_place(call, values);
  describe(call, values, {}, root);
  run_in_place(ranks, call, values, [=] {
    PackedResult to(ranks.stream(), values);
    if (!values.is_contiguous()) AnyBuffer(to.memory()).copy_from(values);
    ranks.transport().broadcast(to.data(), to.bytes(), root, ranks.stream(), call);
    to.finish();
  });
}

void all_gather(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, SourceLocation where) {
  CallName call{"all_gather", where};
  check_result(ranks, call, result), check_array(ranks, call, "the array of values", values);
  check_pair(call, result, values, ranks.size(), 1);
  describe(call, values);
  if (runs_alone()) return gather_on_all(ranks, result, values, call);
  run(Collective{ranks,
                 call,
                 {result},
                 {values},
                 [=] { gather_on_all(ranks, result, values, call); },
                 [=](const FunctionGradients &of) {
                   const PackedValues from = cotangent(ranks, of, 0, result);
                   const AnyBuffer sums = like(values);
                   ranks.transport().reduce_scatter(used_in(ranks.stream(), sums), from.data(), elements(sums),
                                                    sums.type(), ReduceOp::sum, ranks.stream(),
                                                    adjoint_of(call, "adjoint of all_gather"));
                   sums.mark_written();
                   add_gradient(of, 0, sums, ranks);
                 }});
}

void reduce_scatter(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, ReduceOp reduction,
                    SourceLocation where) {
  CallName call{"reduce_scatter", where};
  check_result(ranks, call, result), check_array(ranks, call, "the array of values", values);
  check_pair(call, result, values, 1, ranks.size()), check_reduction(call, result.type(), reduction);
  describe(call, result, reduction);
  if (runs_alone()) return reduce_parts(ranks, result, values, reduction, call);
  run(Collective{
      ranks,
      call,
      {result},
      {values},
      [=] { reduce_parts(ranks, result, values, reduction, call); },
      [=](const FunctionGradients &of) {
        const CallName adjoint = adjoint_of(call, "adjoint of reduce_scatter");
        const AnyBuffer sums = gathered(ranks, cotangent(ranks, of, 0, result).memory(), adjoint);
        const AnyBuffer results = chooses(reduction) ? gathered(ranks, of.output_values[0], adjoint) : AnyBuffer();
        add_gradient(of, 0, gradient_of(ranks, reduction, sums, of.input_values[0], results, adjoint), ranks);
      },
      reads_values(reduction),
      chooses(reduction)});
}

void gather(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
            SourceLocation where) {
  CallName call{"gather", where};
  check_root(ranks, call, root), check_array(ranks, call, "the array of values", values);
  const bool is_root = ranks.rank() == root;
  if (is_root) check_result(ranks, call, result), check_pair(call, result, values, ranks.size(), 1);
  describe(call, values, {}, root);
  run(Collective{ranks,
                 call,
                 is_root ? std::vector{result} : std::vector<AnyBuffer>{},
                 {values},
                 [=] {
                   PackedResult to(ranks.stream(), is_root ? result : AnyBuffer());
                   gather_parts(ranks, to.data(), PackedValues(ranks.stream(), values), root, call);
                   to.finish();
                 },
                 [=](const FunctionGradients &of) {
                   const PackedValues from =
                       is_root ? cotangent(ranks, of, 0, result) : PackedValues(ranks.stream(), AnyBuffer());
                   const AnyBuffer own = like(values);
                   scatter_parts(ranks, used_in(ranks.stream(), own), elements(own) * size_of(own.type()), from.data(),
                                 root, adjoint_of(call, "adjoint of gather"));
                   own.mark_written();
                   add_gradient(of, 0, own, ranks);
                 }});
}

void scatter(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, int root,
             SourceLocation where) {
  CallName call{"scatter", where};
  check_root(ranks, call, root), check_result(ranks, call, result);
  const bool is_root = ranks.rank() == root;
  if (is_root)
    check_array(ranks, call, "the array of values", values), check_pair(call, result, values, 1, ranks.size());
  describe(call, result, {}, root);
  run(Collective{ranks,
                 call,
                 {result},
                 is_root ? std::vector{values} : std::vector<AnyBuffer>{},
                 [=] {
                   const PackedValues from(ranks.stream(), is_root ? values : AnyBuffer());
                   PackedResult to(ranks.stream(), result);
                   scatter_parts(ranks, to.data(), to.bytes(), from.data(), root, call);
                   to.finish();
                 },
                 [=](const FunctionGradients &of) {
                   const AnyBuffer all = is_root ? like(values) : AnyBuffer();
                   gather_parts(ranks, used_in(ranks.stream(), all), cotangent(ranks, of, 0, result), root,
                                adjoint_of(call, "adjoint of scatter"));
                   if (!is_root) return;
                   all.mark_written();
                   add_gradient(of, 0, all, ranks);
                 }});
}

void all_to_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values, SourceLocation where) {
  const CallName call{"all_to_all", where};
  check_array(ranks, call, "the array of values", values);
  if (values.count() % ranks.size() != 0)
    refuse(call, fmt::format("{} elements are not equal parts for {} ranks", values.count(), ranks.size()));
  const std::vector<std::int64_t> parts(static_cast<std::size_t>(ranks.size()), values.count() / ranks.size());
  all_to_all(ranks, result, values, parts, parts, where);
}

void all_to_all(const Communicator &ranks, const AnyBuffer &result, const AnyBuffer &values,
                const std::vector<std::int64_t> &sent, const std::vector<std::int64_t> &received,
                SourceLocation where) {
  CallName call{"all_to_all", where};
  check_result(ranks, call, result), check_array(ranks, call, "the array of values", values);
  if (result.type() != values.type())
    refuse(call, fmt::format("the result is {} and the values are {}: expected the same type", result.to_string(),
                             values.to_string()));
  if (share_elements(result, values)) refuse(call, "the result shares elements with the values");
  const auto check_counts = [&](const std::vector<std::int64_t> &counts, const AnyBuffer &array, const char *role) {
    if (counts.size() != static_cast<std::size_t>(ranks.size()))
      refuse(call, fmt::format("{} numbers of {} elements are given for {} ranks", counts.size(), role, ranks.size()));
    for (const std::int64_t count : counts)
      if (count < 0) refuse(call, fmt::format("a number of {} elements is {}", role, count));
    const std::int64_t total = std::reduce(counts.begin(), counts.end(), std::int64_t{0});
    if (total != array.count())
      refuse(call, fmt::format("{} {} elements are given, and the array has {}", total, role, array.count()));
  };
  check_counts(sent, values, "sent"), check_counts(received, result, "received");
  call.type = values.type();
  const std::size_t element = size_of(values.type());
  run(Collective{ranks,
                 call,
                 {result},
                 {values},
                 [=] {
                   const PackedValues from(ranks.stream(), values);
                   PackedResult to(ranks.stream(), result);
                   ranks.transport().exchange(messages_of_parts(from.data(), element, sent),
                                              messages_of_parts(to.data(), element, received), ranks.stream(), call);
                   to.finish();
                 },
                 [=](const FunctionGradients &of) {
                   const PackedValues from = cotangent(ranks, of, 0, result);
                   const AnyBuffer own = like(values);
                   ranks.transport().exchange(messages_of_parts(from.data(), element, received),
                                              messages_of_parts(used_in(ranks.stream(), own), element, sent),
                                              ranks.stream(), adjoint_of(call, "adjoint of all_to_all"));
                   own.mark_written();
                   add_gradient(of, 0, own, ranks);
                 }});
}

void send(const Communicator &ranks, const AnyBuffer &values, int to, SourceLocation where) {
  exchange(ranks, {{values, to}}, {}, where);
}
void receive(const Communicator &ranks, const AnyBuffer &result, int from, SourceLocation where) {
  exchange(ranks, {}, {{result, from}}, where);
}

void exchange(const Communicator &ranks, const std::vector<ArrayMessage> &sent,
              const std::vector<ArrayMessage> &received, SourceLocation where) {
  CallName call{received.empty() ? "send" : sent.empty() ? "receive" : "exchange", where};
  for (const ArrayMessage &message : sent)
    check_root(ranks, call, message.rank), check_array(ranks, call, "the array of values", message.array);
  for (std::size_t i = 0; i < received.size(); ++i) {
    const AnyBuffer &result = received[i].array;
    check_root(ranks, call, received[i].rank), check_result(ranks, call, result);
    for (const ArrayMessage &other : sent)
      if (share_elements(result, other.array)) refuse(call, "a result shares elements with an array that is sent");
    for (std::size_t k = 0; k < i; ++k)
      if (share_elements(result, received[k].array)) refuse(call, "two results share elements");
  }
  if (sent.empty() && received.empty()) return;
  describe(call, sent.empty() ? received.front().array : sent.front().array);
  if (runs_alone()) return exchange_arrays(ranks, sent, received, call);
  std::vector<AnyBuffer> values, results;
  for (const ArrayMessage &message : sent) values.push_back(message.array);
  for (const ArrayMessage &message : received) results.push_back(message.array);
  run(Collective{ranks, call, results, values, [=] { exchange_arrays(ranks, sent, received, call); },
                 [=](const FunctionGradients &of) {
                   std::vector<PackedValues> from;
                   std::vector<AnyBuffer> to;
                   std::vector<Message> sends, receives;
                   // Messages between two ranks keep their order.
                   for (std::size_t i = 0; i < received.size(); ++i) {
                     if (!has_gradients(received[i].array.type())) continue;
                     from.push_back(cotangent(ranks, of, i, received[i].array));
                     sends.push_back({from.back().data(), from.back().bytes(), received[i].rank});
                   }
                   for (const ArrayMessage &message : sent) {
                     to.push_back(like(message.array));
                     if (!has_gradients(message.array.type())) continue;
                     receives.push_back({used_in(ranks.stream(), to.back()),
                                         elements(to.back()) * size_of(to.back().type()), message.rank});
                   }
                   ranks.transport().exchange(sends, receives, ranks.stream(), adjoint_of(call, "adjoint of exchange"));
                   for (std::size_t i = 0; i < to.size(); ++i) {
                     to[i].mark_written();
                     add_gradient(of, i, to[i], ranks);
                   }
                 }});
}

}  // namespace samite
