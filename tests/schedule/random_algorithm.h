// Random algorithms of pipelines, and their meaning: each element of each Func separately, as its definitions say.
//
// One seed is one algorithm. Its values are integers that are small enough to be exact, in f32 too and in sums of any
// order. It reads only elements inside of arrays, wherever its Funcs are computed.
#pragma once

#include "samite/ir/func.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace samite::test {

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool percent(int of) { return below(100) < of; }
  template <class T>
  const T &one_of(const std::vector<T> &all) {
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }

 private:
  std::mt19937 random_;
};

struct Expression;
using Node = std::shared_ptr<const Expression>;

struct Expression {
  enum class Kind : std::uint8_t {
    number,
    variable,  // of a Func, by its number
    reduced,   // of a Reduction, by its number
    scalar,    // a parameter
    extent,    // of an array
    element,   // of an array
    call,      // of a Func
    operation,
  } kind;
  ScalarType type = ScalarType::Int32;
  std::int64_t number = 0;  // or that of the variable, of the parameter or of the Func
  int attribute = 0;        // the dimension of an extent, the value of a call
  ir::Op op = ir::Op::Copy;
  std::vector<Node> operands{};  // indices, or of an operation
  std::int64_t most = 0;         // of the absolute value
};

struct RandomReduction {
  std::string name;
  int number;
  Node begin, extent;
};

struct RandomDefinition {
  std::vector<Node> indices, values;
  std::vector<RandomReduction> reductions{};
  Node predicate{};
};

struct RandomFunction {
  std::string name;
  std::vector<int> variables;  // of the first definition
  std::vector<ScalarType> types;
  std::vector<std::int64_t> most;
  std::optional<std::uint32_t> output{};
  std::vector<RandomDefinition> definitions{};
  bool inline_reduction = false;
  // By dimension: the range of its calls, if all are between constants.
  std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> called{};
  bool is_called = false;

  std::size_t rank() const { return variables.size(); }
};

// An argument: an array, or a scalar.
struct RandomArgument {
  std::vector<std::int64_t> extents{};
  std::vector<std::int64_t> values{};
};

struct RandomAlgorithm {
  std::vector<ir::Parameter> parameters;
  std::vector<RandomArgument> arguments;
  std::vector<RandomFunction> functions;  // each calls those before it
  int reductions = 0;                     // variables of such

  static const std::vector<std::string> variables;
  std::string to_string() const;
  ir::CapturedPipeline captured() const;
};

RandomAlgorithm random_algorithm(Chance &chance);

// Throws TooMuch if this takes too long.
class Meaning {
 public:
  struct TooMuch {};

  explicit Meaning(const RandomAlgorithm &algorithm)
      : algorithm_(algorithm), reduced_(static_cast<std::size_t>(algorithm.reductions)) {}

  using Point = std::vector<std::int64_t>;
  std::int64_t value(std::size_t function, std::size_t value, const Point &point) {
    return stage(function, algorithm_.functions[function].definitions.size() - 1, point)[value];
  }

 private:
  using Values = std::array<std::int64_t, 2>;
  using Elements = std::unordered_map<std::uint64_t, Values>;  // by their point

  // After the definitions up to number n.
  Values stage(std::size_t function, std::size_t n, const Point &point);
  Elements slice(std::size_t function, std::size_t n, const Point &point);
  std::int64_t of(const Expression &expression);
  void work() {
    if (++work_ > most_work) throw TooMuch();
  }

  static constexpr std::int64_t most_work = 1'000'000;

  const RandomAlgorithm &algorithm_;
  std::array<std::int64_t, 3> variables_{};
  std::vector<std::int64_t> reduced_;
  std::map<std::size_t, Elements> first_;  // by function
  // By function and definition, and by the indices that are variables.
  std::map<std::pair<std::size_t, std::size_t>, std::unordered_map<std::uint64_t, Elements>> slices_;
  // The updates in progress.
  struct Open {
    std::size_t function, definition;
    Elements *elements;
  };
  std::vector<Open> open_;
  std::int64_t work_ = 0;
};

}  // namespace samite::test
