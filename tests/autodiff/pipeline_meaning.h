// The meaning of a pipeline's algorithm, in double: each definition of each Func, element by element, without a
// schedule. An element of an array that does not exist is NaN.
#pragma once

#include "samite/schedule/algorithm.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace samite::test {

struct MeantArray {
  std::vector<std::int64_t> extents;
  std::vector<double> values;
};

class PipelineMeaning {
 public:
  // Arguments by parameter; a scalar is an array of one element.
  PipelineMeaning(const ir::CapturedPipeline &captured, std::vector<MeantArray> &arguments);

  // Fills the arrays that Funcs fill.
  void run();

 private:
  using Point = std::vector<std::int64_t>;
  struct Table {
    std::map<Point, std::vector<double>> elements;
    bool updated = false;
  };
  using Locals = std::vector<double>;

  // Updates run over these elements, and the others do not exist.
  static constexpr std::int64_t first = -12, end = 26;

  double value(std::uint32_t f, std::size_t value, const Point &point);
  const std::vector<double> &at_first(std::uint32_t f, const Point &point);
  void update(std::uint32_t f);
  void update(std::uint32_t f, const schedules::Definition &definition, Locals &locals, std::size_t reduction);
  void store(std::uint32_t f, const schedules::Definition &definition, Locals &locals, std::size_t dimension);
  void compute(const ir::Block &body, Locals &locals);
  double of(const ir::Operation &operation, const Locals &locals);
  double of(const ir::Value &value, const Locals &locals) const;
  double load(const ir::Operation &operation, const Locals &locals);

  schedules::Algorithm algorithm_;
  std::vector<MeantArray> &arguments_;
  std::vector<MeantArray> filled_;  // by the Funcs that have run
  std::vector<Table> tables_;       // by function
};

}  // namespace samite::test
