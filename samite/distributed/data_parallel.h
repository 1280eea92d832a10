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
// Gradients are averaged in buckets of parameters that are adjacent in memory, as those of a parameter_block() are, the
// last parameters first. Each bucket is averaged as soon as its gradients are final; on CUDA that happens in a separate
// stream, concurrently with the remaining adjoints. All ranks make the same calls. Their parameters stay equal, bit by
// bit.
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
  double clip_norm = 0;                                // norm limit for the averaged gradients; 0: none
  std::int64_t bucket_bytes = std::int64_t{25} << 20;  // smallest size of gradients that are averaged together
  bool sharded = false;
};

class DataParallel {
 public:
  // Broadcasts rank 0's parameters to all ranks. UserError for parameters that are not on the communicator's device,
  // and as for solvers::Optimiser.
  DataParallel(const Communicator &ranks, const std::vector<AnyBuffer> &parameters,
               const solvers::Optimiser::Method &method, const DataParallelOptions &options = {},
               SourceLocation where = std::source_location::current());

  // tape.backward(objective), with gradients averaged over ranks; repeated calls add up the averages. Parameters that
  // the tape does not use are averaged, too.
  void backward(Tape &tape, const AnyBuffer &objective, SourceLocation where = std::source_location::current());
  void step(SourceLocation where = std::source_location::current());
  void zero_gradients(SourceLocation where = std::source_location::current());

  double rate() const;
  void set_rate(double rate, SourceLocation where = std::source_location::current());
  // This rank's optimiser; nullptr if it has no share.
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
