// The meaning of a captured graph in plain numbers: launches, operations of the host on buffers, conditions and other
// graphs, run one after another on arrays of twelve numbers and their gradients.
//
// All numbers are at least 0, and nothing is subtracted, so that results compare by a relative error however they were
// rounded.
#pragma once

#include "samite/jit/options.h"

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace samite::test {

inline constexpr int model_elements = 12;
inline constexpr int model_conditions = 2;  // counters with flags, one for each depth of loops

// Some elements of an array or of its gradient, in an order.
struct ModelView {
  enum class Shape : std::uint8_t {
    slice,      // from `begin` in steps to before `end`
    matrix,     // all, as 3 rows of 4
    transposed  // all, as the transpose of 4 rows of 3
  };

  int array = 0;
  bool gradient = false;
  Shape shape = Shape::slice;
  int begin = 0, end = model_elements, step = 1;

  std::vector<int> elements() const;
};

struct ModelOperation {
  enum class Kind : std::uint8_t {
    assign,         // launch: y = 2 x + amount
    add,            // launch: y += x
    count,          // launch: counter += amount
    below,          // launch: flag = counter < amount
    fill,           // y = amount
    copy,           // y = x
    write,          // y = values
    set,            // the first element of y = amount
    zero_gradient,  // of y
    clone,          // a new array of all elements of x
    reset,          // counter = 0
    while_,         // body, as long as the flag holds
    if_,            // body, if it does
    graph           // body, captured before
  };

  Kind kind;
  Direction direction = Direction::forward;
  ModelView y{}, x{};
  int amount = 0;
  int condition = 0;  // of count, below, reset, while_ and if_
  std::vector<double> values{};
  std::vector<ModelOperation> body{};
  bool enabled = true;  // of a launch
  bool recorded = false;

  bool is_launch() const { return kind <= Kind::below; }
  bool has_body() const { return kind >= Kind::while_; }
  std::string to_string(const std::string &indent = "  ") const;
};
using ModelProgram = std::vector<ModelOperation>;

std::string to_string(const ModelProgram &program);

// The launches of a program by their numbers in its graph: those of conditions, but not of other graphs.
std::vector<ModelOperation *> launches_of(ModelProgram &program);

struct ModelState {
  std::vector<std::array<double, model_elements>> values, gradients;
  std::array<int, model_conditions> counters{}, flags{};

  void add_array();
  void run(const ModelOperation &operation);
  void run(const ModelProgram &program);

 private:
  std::array<double, model_elements> &of(const ModelView &view);
  void launch(const ModelOperation &operation);
};

}  // namespace samite::test
