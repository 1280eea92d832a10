#include "samite/distributed/grid.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace samite {
namespace {

template <class T>
std::vector<T> for_each_dimension(const std::vector<T> &given, T by_default, int rank, const char *what,
                                  SourceLocation where) {
  if (given.empty()) return std::vector<T>(static_cast<std::size_t>(rank), by_default);
  if (given.size() != static_cast<std::size_t>(rank))
    throw UserError(where, fmt::format("a grid of {} dimensions: {} values of {} are given", rank, given.size(), what));
  return given;
}

std::int64_t product(const std::vector<int> &factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

// The number of elements that the block with the most neighbours receives.
double exchanged(const Extents &extents, const std::vector<int> &blocks, const std::vector<int> &ghosts) {
  double elements = 0;
  for (int d = 0; d < extents.rank(); ++d) {
    double face =
        static_cast<double>(ghosts[static_cast<std::size_t>(d)]) * std::min(blocks[static_cast<std::size_t>(d)] - 1, 2);
    for (int other = 0; other < extents.rank(); ++other)
      if (other != d) face *= static_cast<double>(extents[other]) / blocks[static_cast<std::size_t>(other)];
    elements += face;
  }
  return elements;
}

// Whether each block has at least as many elements as its neighbours copy.
bool has_room(const Extents &extents, const std::vector<int> &blocks, const std::vector<int> &ghosts) {
  for (int d = 0; d < extents.rank(); ++d) {
    const auto index = static_cast<std::size_t>(d);
    if (extents[d] / blocks[index] < std::max(1, ghosts[index])) return false;
  }
  return true;
}

// Tries every way to cut dimensions `d` and up into `left` blocks, and keeps the best.
void cut(const Extents &extents, const std::vector<int> &ghosts, int d, int left, std::vector<int> &blocks,
         std::vector<int> &best) {
  const auto index = static_cast<std::size_t>(d);
  if (d == extents.rank() - 1) {
    blocks[index] = left;
    if (has_room(extents, blocks, ghosts) &&
        (best.empty() || exchanged(extents, blocks, ghosts) < exchanged(extents, best, ghosts)))
      best = blocks;
    return;
  }
  for (int factor = 1; factor <= left; ++factor)
    if (left % factor == 0) {
      blocks[index] = factor;
      cut(extents, ghosts, d + 1, left / factor, blocks, best);
    }
}

}  // namespace

Grid::Grid(const Communicator &ranks, const Extents &extents, const GridOptions &options, SourceLocation where)
    : ranks_(ranks),
      extents_(extents),
      ghosts_(for_each_dimension(options.ghosts, 1, extents.rank(), "ghosts", where)),
      periodic_(for_each_dimension(options.periodic, false, extents.rank(), "periodic", where)) {
  if (std::ranges::any_of(ghosts_, [](int width) { return width < 0; }))
    throw UserError(where, fmt::format("a grid with ghosts of {}: expected 0 or more", fmt::join(ghosts_, ", ")));
  if (options.ranks.empty()) {
    std::vector<int> blocks(static_cast<std::size_t>(rank()));
    cut(extents_, ghosts_, 0, ranks.size(), blocks, blocks_);
  } else {
    blocks_ = for_each_dimension(options.ranks, 1, rank(), "ranks", where);
    if (std::ranges::any_of(blocks_, [](int count) { return count < 1; }) || product(blocks_) != ranks.size())
      throw UserError(where, fmt::format("a grid of {} blocks for {} ranks", fmt::join(blocks_, " x "), ranks.size()));
    if (!has_room(extents_, blocks_, ghosts_)) blocks_.clear();
  }
  if (blocks_.empty())
    throw UserError(where,
                    fmt::format("a grid of {} is too small for {} ranks: each block needs as many elements as it "
                                "has ghosts, {}",
                                extents_.to_string(), ranks.size(), fmt::join(ghosts_, ", ")));
  position_ = position_of(ranks.rank());
  std::vector<std::int64_t> block, padded;
  for (int d = 0; d < rank(); ++d) {
    const auto index = static_cast<std::size_t>(d);
    begin_.push_back(begin_of(d, position_[index]));
    block.push_back(begin_of(d, position_[index] + 1) - begin_.back());
    padded.push_back(block.back() + std::int64_t{2} * ghosts_[index]);
  }
  block_ = Extents(block, where), padded_ = Extents(padded, where);
  plan_exchange();
}

std::int64_t Grid::begin_of(int dimension, int at) const {
  const std::int64_t count = blocks_[static_cast<std::size_t>(dimension)];
  return extents_[dimension] / count * at + std::min<std::int64_t>(at, extents_[dimension] % count);
}

std::vector<int> Grid::position_of(int rank) const {
  std::vector<int> position(blocks_.size());
  for (std::size_t d = blocks_.size(); d-- > 0; rank /= blocks_[d]) position[d] = rank % blocks_[d];
  return position;
}
int Grid::rank_at(const std::vector<int> &position) const {
  int rank = 0;
  for (std::size_t d = 0; d < blocks_.size(); ++d) rank = rank * blocks_[d] + position[d];
  return rank;
}

int Grid::neighbour(int dimension, int side) const {
  const auto index = static_cast<std::size_t>(dimension);
  std::vector<int> position = position_;
  position[index] += side;
  if (position[index] < 0 || position[index] >= blocks_[index]) {
    if (!periodic_[index]) return -1;
    position[index] = (position[index] + blocks_[index]) % blocks_[index];
  }
  return rank_at(position);
}

void Grid::check_array(const AnyBuffer &array, SourceLocation where) const {
  if (!array.valid() || !(array.extents() == padded_))
    throw UserError(where, fmt::format("{} is no array of this grid: expected extents {}, a block with its ghosts",
                                       array.valid() ? array.to_string() : "an empty buffer", padded_.to_string()));
}
void Grid::check_whole(const AnyBuffer &whole, const AnyBuffer &array, SourceLocation where) const {
  if (!whole.valid() || !(whole.extents() == extents_) || whole.type() != array.type())
    throw UserError(where, fmt::format("{} is no array of the whole grid: expected {} of extents {}",
                                       whole.valid() ? whole.to_string() : "an empty buffer", name(array.type()),
                                       extents_.to_string()));
}

AnyBuffer Grid::without_ghosts(const AnyBuffer &array, SourceLocation where) const {
  check_array(array, where);
  AnyBuffer view = array;
  for (int d = 0; d < rank(); ++d) {
    const int width = ghosts_[static_cast<std::size_t>(d)];
    view = view.slice(d, width, width + block_[d]);
  }
  return view;
}

AnyBuffer Grid::block_of(const AnyBuffer &whole, int rank) const {
  const std::vector<int> position = position_of(rank);
  AnyBuffer view = whole;
  for (int d = 0; d < extents_.rank(); ++d) {
    const int at = position[static_cast<std::size_t>(d)];
    view = view.slice(d, begin_of(d, at), begin_of(d, at + 1));
  }
  return view;
}

void Grid::gather(const AnyBuffer &whole, const AnyBuffer &array, int root, SourceLocation where) const {
  const AnyBuffer own = without_ghosts(array, where);
  std::vector<ArrayMessage> received;
  if (ranks_.rank() == root) {
    check_whole(whole, array, where);
    for (int rank = 0; rank < ranks_.size(); ++rank) received.push_back({block_of(whole, rank), rank});
  }
  samite::exchange(ranks_, {{own, root}}, received, where);
}

void Grid::scatter(const AnyBuffer &array, const AnyBuffer &whole, int root, SourceLocation where) const {
  const AnyBuffer own = without_ghosts(array, where);
  std::vector<ArrayMessage> sent;
  if (ranks_.rank() == root) {
    check_whole(whole, array, where);
    for (int rank = 0; rank < ranks_.size(); ++rank) sent.push_back({block_of(whole, rank), rank});
  }
  samite::exchange(ranks_, sent, {{own, root}}, where);
}

}  // namespace samite
