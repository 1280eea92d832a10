// Sums that the text keeps in locals while a loop runs, and adds to their elements when it is over.
//
// A loss, or the gradient of a scalar, is accumulated by every instance into one element. An atomic step for each
// would serialise all threads of the machine on it. In lanes, a loop keeps a vector of partial sums: a thread loop, or
// a serial loop around thread loops. Where a thread runs each instance, a thread keeps what all instances of the launch
// add to (`ir::Accumulate::over_launch`), and a block adds the sums of its threads. Only of arrays with which the
// kernel does nothing else, whose order could be told.
#pragma once

#include "samite/codegen/memory_access.h"

#include <map>

namespace samite::codegen {

struct Sum {
  const ir::Accumulate *first;
  SourceLocation where;
  std::string name;
};

class Sums {
 public:
  Sums(Emission &emission, const Values &values, MemoryAccess &memory)
      : emission_(emission), values_(values), memory_(memory) {}

  // The sum of an addition, where one is open; else null.
  const Sum *of(const ir::Accumulate &accumulate) const;
  std::size_t open_count() const { return sums_.size(); }

  void declare_in_lanes(const ir::For &loop);
  void add_lanes(std::size_t outer);  // of those that are open, all but the first `outer`, which stay
  void declare_of_launch(const ir::For &outermost);
  void add_of_blocks();

 private:
  using Element = std::vector<std::uint64_t>;
  static Element element_of(const ir::Accumulate &accumulate);
  std::vector<Sum> lanes_of(const ir::For &loop) const;
  void open(Sum sum);

  Emission &emission_;
  const Values &values_;
  MemoryAccess &memory_;
  std::vector<Sum> sums_;
  std::map<Element, std::size_t> number_of_;  // the place in sums_
};

}  // namespace samite::codegen
