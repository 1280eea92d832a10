#include "samite/distributed/data_parallel.h"

#include "samite/base/error.h"
#include "samite/distributed/collectives.h"
#include "samite/runtime/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

namespace samite {
namespace {

// Work queued in `later` from now on waits for the work queued in `earlier` so far.
void order(const Stream &earlier, const Stream &later) {
  Event event;
  event.record(earlier);
  later.wait(event);
}

std::vector<AnyBuffer> checked(const Communicator &ranks, std::vector<AnyBuffer> parameters, SourceLocation where) {
  for (const AnyBuffer &parameter : parameters)
    if (parameter.valid() && parameter.device() != ranks.device())
      throw UserError(where, fmt::format("data-parallel training: {} is not on the communicator's device, {}",
                                         parameter.to_string(), ranks.device().to_string()));
  return parameters;
}

}  // namespace

DataParallel::DataParallel(const Communicator &ranks, const std::vector<AnyBuffer> &parameters,
                           const solvers::Optimiser::Method &method, const DataParallelOptions &options,
                           SourceLocation where)
    : ranks_(ranks.on(Stream(ranks.device()))),
      runs_("data-parallel training", checked(ranks, parameters, where), where),
      rate_(std::visit([](const auto &one) { return one.rate; }, method)) {
  if (options.bucket_bytes < 0)
    throw UserError(where, fmt::format("data-parallel training: buckets of at least 0 bytes are expected, {} is given",
                                       options.bucket_bytes));
  make_buckets(parameters, options.bucket_bytes);
  const std::vector<AnyBuffer> own = options.sharded ? make_shares() : parameters;
  if (!own.empty())
    optimiser_ = std::make_unique<solvers::Optimiser>(
        own, method,
        solvers::OptimiserOptions{.clip_norm = options.clip_norm,
                                  .clipped_together = options.sharded ? parameters : std::vector<AnyBuffer>{}},
        where);
  without_gradients([&] {
    for (const AnyBuffer &run : runs_.runs()) broadcast(ranks, run, 0, where);
  });
}

// A tape goes back through the last parameters first.
void DataParallel::make_buckets(const std::vector<AnyBuffer> &parameters, std::int64_t least_bytes) {
  const std::vector<AnyBuffer> gradients = runs_.gradients();
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto &places = runs_.places();
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(places[a].run, places[a].begin) > std::pair(places[b].run, places[b].begin);
  });
  std::int64_t end = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto &place = places[order[k]];
    const auto size = static_cast<std::int64_t>(size_of(parameters[order[k]].type()));
    const bool starts =
        k == 0 || place.run != places[order[k - 1]].run || (end - places[order[k - 1]].begin) * size >= least_bytes;
    if (starts) buckets_.emplace_back(), end = place.begin + place.count;
    buckets_.back().gradient = gradients[place.run].slice(0, place.begin, end);
    buckets_.back().parameters.push_back(parameters[order[k]]);
  }
}

// Cuts each run into a share for each rank, and returns this rank's.
std::vector<AnyBuffer> DataParallel::make_shares() {
  std::vector<AnyBuffer> own;
  for (const AnyBuffer &run : runs_.runs())
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const std::int64_t begin = run.count() * rank / ranks_.size(), end = run.count() * (rank + 1) / ranks_.size();
      if (begin == end) continue;
      shares_.push_back({run.slice(0, begin, end), rank});
      if (rank == ranks_.rank()) own.push_back(shares_.back().values);
    }
  return own;
}

void DataParallel::backward(Tape &tape, const AnyBuffer &objective, SourceLocation where) {
  const Stream standard = Stream::standard(ranks_.device());
  // All ranks average the buckets in one order, regardless of the order in which they become final.
  std::vector<bool> is_final(buckets_.size());
  std::size_t averaged = 0;
  const auto average_final_ones = [&] {
    for (; averaged < buckets_.size() && is_final[averaged]; ++averaged) {
      order(standard, ranks_.stream());
      all_reduce(ranks_, buckets_[averaged].gradient, ReduceOp::average, where);
    }
  };
  std::vector<Tape::WhenFinal> calls;
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    calls.push_back({buckets_[i].parameters, [&, i] {
                       is_final[i] = true;
                       average_final_ones();
                     }});
  tape.backward(objective, calls, where);
  order(ranks_.stream(), standard);
}

void DataParallel::step(SourceLocation where) {
  if (optimiser_) optimiser_->step(where);
  if (shares_.empty()) return;
  std::vector<ArrayMessage> sent, received;
  for (const Share &share : shares_) {
    if (share.rank != ranks_.rank()) {
      received.push_back({share.values, share.rank});
      continue;
    }
    for (int rank = 0; rank < ranks_.size(); ++rank)
      if (rank != share.rank) sent.push_back({share.values, rank});
  }
  const Stream standard = Stream::standard(ranks_.device());
  order(standard, ranks_.stream());
  without_gradients([&] { exchange(ranks_, sent, received, where); });
  order(ranks_.stream(), standard);
}

void DataParallel::zero_gradients(SourceLocation where) {
  for (AnyBuffer run : runs_.runs()) run.zero_gradient(where);
}

double DataParallel::rate() const { return rate_; }

void DataParallel::set_rate(double rate, SourceLocation where) {
  if (!(rate >= 0)) throw UserError(where, "data-parallel training: a rate of at least 0 is expected");
  rate_ = rate;
  if (optimiser_) optimiser_->set_rate(rate, where);
}

}  // namespace samite
