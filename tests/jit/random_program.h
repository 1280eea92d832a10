// Programs for capture_model.h, drawn at random.
#pragma once

#include "tests/jit/capture_model.h"

#include <random>

namespace samite::test {

class RandomPrograms {
 public:
  // With `few_variants`, the arrays of launches have few layouts, each of which takes another compile.
  explicit RandomPrograms(std::uint32_t seed, bool few_variants = false) : random_(seed), few_variants_(few_variants) {}

  // `arrays` is how many there are, and grows with each clone.
  ModelProgram program(int &arrays) {
    arrays_before_ = arrays;
    return program(arrays, 0, true);
  }
  // One that may be run outside of a capture, too.
  ModelOperation simple_operation(int arrays);
  // For the place of a launch in a graph: assign or add, in the same direction.
  ModelOperation instead_of(const ModelOperation &launch, int arrays);
  int number(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

 private:
  ModelProgram program(int &arrays, int depth, bool may_clone);
  ModelView slice(int arrays, int count);
  ModelView view_of_launch(int arrays, int count);
  ModelView any_view(int arrays, int count);
  void add_loop(ModelProgram &program, int &arrays, int depth);

  std::mt19937 random_;
  bool few_variants_;
  int arrays_before_ = 0;  // arrays that graphs captured before may have
};

}  // namespace samite::test
