// A grid that is cut into blocks, one for each rank, with ghosts: copies of the neighbours' elements around each block.
//
//   Grid grid{world, {512, 512}, {.ghosts = {1, 1}, .periodic = {true, false}}};
//   Buffer<float> now = grid.array<float>(Gradient::tracked), next = grid.array<float>(Gradient::tracked);
//   tape.record([&] {
//     for (int step = 0; step < 100; ++step) {
//       grid.exchange(now);
//       diffuse.launch(now.extents(), next, now);     // leaves out the outermost elements, as on one rank
//       std::swap(now, next);
//     }
//   });
//
// A rank's arrays hold its block and the ghosts on both sides of each dimension, so that a kernel written for an array
// with a margin runs on a block unchanged. exchange() copies the neighbours' elements into the ghosts, including
// corners. At a non-periodic end of the whole grid, the program sets the ghosts: boundary values. On a tape, gradients
// of ghosts are added to those of the elements that they were copied from.
//
// Immutable, and as thread-safe as its communicator. Errors are UserErrors, and those of collectives.
#pragma once

#include "samite/distributed/collectives.h"
#include "samite/distributed/grid_part.h"
#include "samite/runtime/buffer.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace samite {

namespace distributed {
class GhostTables;
struct GhostPlan;
}  // namespace distributed

struct GridOptions {
  std::vector<int> ghosts = {};     // in each dimension, on either side; default: 1
  std::vector<bool> periodic = {};  // default: false
  std::vector<int> ranks = {};      // blocks in each dimension; their product is the number of ranks. Default:
                                    // those that exchange the least
};

class Grid {
 public:
  // `extents` of the whole grid, without ghosts. A collective call. UserError if a block would be smaller than its
  // ghosts.
  Grid(const Communicator &ranks, const Extents &extents, const GridOptions &options = {},
       SourceLocation where = std::source_location::current());

  int rank() const noexcept { return extents_.rank(); }
  const Communicator &ranks() const noexcept { return ranks_; }
  const Extents &extents() const noexcept { return extents_; }                // of the whole grid
  const std::vector<int> &blocks() const noexcept { return blocks_; }         // in each dimension
  const std::vector<int> &position() const noexcept { return position_; }     // of this rank's block among them
  const Extents &block() const noexcept { return block_; }                    // extents of this rank's block
  const Extents &padded() const noexcept { return padded_; }                  // with ghosts
  const std::vector<std::int64_t> &begin() const noexcept { return begin_; }  // its first element in the whole grid

  // An array for this rank's block and its ghosts, zeros.
  template <Scalar T>
  Buffer<T> array(Gradient gradient = Gradient::untracked) const
    requires Differentiable<T>
  {
    return Buffer<T>(ranks_.device(), padded_, gradient);
  }
  template <Scalar T>
  Buffer<T> array() const
    requires(!Differentiable<T>)
  {
    return Buffer<T>(ranks_.device(), padded_);
  }
  // The view of an array without its ghosts.
  AnyBuffer without_ghosts(const AnyBuffer &array, SourceLocation where = std::source_location::current()) const;
  template <Scalar T>
  Buffer<T> without_ghosts(const Buffer<T> &array, SourceLocation where = std::source_location::current()) const {
    return Buffer<T>(without_ghosts(AnyBuffer(array), where));
  }

  // Copies the neighbours' elements into the ghosts. A collective call.
  void exchange(const AnyBuffer &array, SourceLocation where = std::source_location::current()) const;
  // The same while `work` runs: it is called with the interior when the messages are under way, and with each part of
  // the border when the ghosts have arrived. On the interior it must neither write to `array` nor read ghosts that
  // neighbours send. If it throws, the communicator is aborted.
  //
  // On CUDA, messages travel in a separate stream, concurrently with the launches of `work` in the communicator's
  // stream. In a graph, and backward on a tape, the interior overlaps with messages in the same way.
  void exchange(const AnyBuffer &array, const std::function<void(const GridPart &)> &work,
                SourceLocation where = std::source_location::current()) const {
    exchange(std::vector{array}, work, where);
  }
  void exchange(const std::vector<AnyBuffer> &arrays, const std::function<void(const GridPart &)> &work,
                SourceLocation where = std::source_location::current()) const;
  // The parts of a block. No interior: a block so narrow that each of its elements needs ghosts. No border: no
  // neighbour sends ghosts.
  const std::optional<GridPart> &interior() const;
  const std::vector<GridPart> &border() const;

  // The whole grid's elements, without ghosts, in an array of extents() on the root; elsewhere `whole` may be empty.
  void gather(const AnyBuffer &whole, const AnyBuffer &array, int root = 0,
              SourceLocation where = std::source_location::current()) const;
  // Cuts the root's array of extents() into the ranks' blocks; ghosts are unchanged.
  void scatter(const AnyBuffer &array, const AnyBuffer &whole, int root = 0,
               SourceLocation where = std::source_location::current()) const;

 private:
  class Pending;

  int rank_at(const std::vector<int> &position) const;
  void plan_exchange();
  // Whether an array's messages are packed together.
  bool packs(const AnyBuffer &array) const;
  // The neighbour in that dimension, before (-1) or after (1) this block; -1: none.
  int neighbour(int dimension, int side) const;
  std::vector<int> position_of(int rank) const;
  // The first element of block `at` along a dimension.
  std::int64_t begin_of(int dimension, int at) const;
  // The view of a rank's block in the whole grid's array.
  AnyBuffer block_of(const AnyBuffer &whole, int rank) const;
  void check_array(const AnyBuffer &array, SourceLocation where) const;
  void check_whole(const AnyBuffer &whole, const AnyBuffer &array, SourceLocation where) const;

  Communicator ranks_;
  Extents extents_;
  std::vector<int> ghosts_;
  std::vector<bool> periodic_;
  std::vector<int> blocks_, position_;
  std::vector<std::int64_t> begin_;
  Extents block_, padded_;
  std::shared_ptr<const distributed::GhostPlan> plan_;
  std::shared_ptr<const distributed::GhostTables> tables_;  // on CUDA
  std::optional<Stream> apart_;                             // on CUDA: for messages that overlap with other work
};

}  // namespace samite
