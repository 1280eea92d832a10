// Which elements of an array can be touched by more than one instance of a launch.
//
// An index tells instances apart where it is thread_index(k), or what is left when that is subtracted, plus something
// that is the same for all of them. So does where a tile begins, at a multiple of thread_index(k) that is no smaller
// than the tile. Where one
// of the indices is the same shift of thread_index(k) in all accesses to an array, two instances that meet at an
// element have the same thread_index(k), whatever the other indices are; where that holds for every dimension of the
// launch, no two instances meet.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::passes {

// What is known of an integer local across the instances of a launch.
struct Shift {
  enum class Kind : std::uint8_t { Unknown, Invariant, Thread } kind = Kind::Unknown;
  int dimension = 0;                     // of Thread: scale * thread_index(dimension) plus an invariant
  std::optional<std::int64_t> offset{};  // the invariant, where it is a constant
  std::int64_t scale = 1;
};

class ShiftAnalysis {
 public:
  // The index of `loop`, if any, counts as that of one more dimension of the launch.
  explicit ShiftAnalysis(const ir::Kernel &kernel, const ir::For *loop = nullptr);

  Shift operator()(const ir::Value &value) const {
    return value.is_local() ? shifts_[value.id()] : Shift{Shift::Kind::Invariant};
  }

 private:
  Shift shift(const ir::Operation &operation) const;

  std::vector<Shift> shifts_;
  bool tiles_;
};

// The accesses to one array, as far as they tell instances apart.
class Accesses {
 public:
  // Of an element of type `element`, or of a tile.
  void add(const std::vector<ir::Value> &indices, const ir::Type &element, const ShiftAnalysis &shift);

  // Whether no two instances meet. Also where nothing was added.
  bool one_to_one(int launch_rank) const;

  // Whether the index in this place is the same in all accesses of an instance.
  bool fixed(std::size_t place) const { return places_[place].fixed; }

 private:
  struct Place {
    ir::Value index;
    Shift shift;
    bool fixed;
    std::int64_t extent = 1;  // of the tiles along this dimension of the array
  };

  static bool same(const Place &a, const Place &b);

  std::vector<Place> places_;
};

}  // namespace samite::passes
