// Data-parallel training: each rank has all parameters, and computes gradients from its own part of the data.
//
//   auto weights = parameter_block(world.device(), ScalarType::Float32, {{64, 32}, {64}});
//   DataParallel training(world, weights, solvers::AdamW{.rate = 1e-3});
//   for (…) {
//     Tape tape;
//     tape.record([&] { … });             // the loss of this rank's data
//     training.backward(tape, loss);      // gradients are the average over ranks
//     training.step();
//     training.zero_gradients();
//   }
//
// Gradients are averaged in buckets of parameters that lie side by side, as those of a parameter_block() do, the last
// parameters first: each bucket as soon as its gradients are final, on CUDA in a stream of its own, beside the adjoints
// that still run. All ranks call everything alike. Their parameters stay equal, bit by bit.
//
// With DataParallelOptions::sharded, each rank keeps and updates its share of the optimiser's state, and gets the other
// parameters from the other ranks after each step (Rajbhandari et al., ZeRO, 2020, stage 1).
#pragma once

#include "samite/distributed/communicator.h"
#include "samite/jit/tape.h"
#include "samite/solve/optimiser.h"

#include <memory>

namespace samite {

struct DataParallelOptions {
  double clip_norm = 0;                                // of the averaged gradients; 0: not clipped
  std::int64_t bucket_bytes = std::int64_t{25} << 20;  // of gradients that are averaged at a time, at least
  bool sharded = false;
};

class DataParallel {
 public:
  // Gives all ranks rank 0's parameters. UserError for parameters that are not on the communicator's device, and as
  // solvers::Optimiser.
  DataParallel(const Communicator &ranks, const std::vector<AnyBuffer> &parameters,
               const solvers::Optimiser::Method &method, const DataParallelOptions &options = {},
               SourceLocation where = std::source_location::current());

  // tape.backward(objective), with gradients averaged over ranks: their average is added up if it is called again.
  // Parameters that the tape does not use are averaged, too.
  void backward(Tape &tape, const AnyBuffer &objective, SourceLocation where = std::source_location::current());
  void step(SourceLocation where = std::source_location::current());
  void zero_gradients(SourceLocation where = std::source_location::current());

  double rate() const;
  void set_rate(double rate, SourceLocation where = std::source_location::current());
  // This rank's; nullptr if it has no share.
  solvers::Optimiser *optimiser() { return optimiser_.get(); }

 private:
  struct Bucket {
    AnyBuffer gradient;
    std::vector<AnyBuffer> parameters;
  };
  struct Share {
    AnyBuffer values;
    int rank;
  };
  void make_buckets(const std::vector<AnyBuffer> &parameters, std::int64_t least_bytes);
  std::vector<AnyBuffer> make_shares();

  Communicator ranks_;
  solvers::detail::ParameterRuns runs_;
  std::vector<Bucket> buckets_;
  std::vector<Share> shares_;  // of all ranks
  double rate_;
  std::unique_ptr<solvers::Optimiser> optimiser_;
};

}  // namespace samite
