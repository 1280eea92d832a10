#include "tests/jit/random_program.h"

#include <algorithm>

namespace samite::test {
namespace {

using Kind = ModelOperation::Kind;
using Shape = ModelView::Shape;

}  // namespace

// A slice of `count` elements.
ModelView RandomPrograms::slice(int arrays, int count) {
  ModelView view{.array = number(0, arrays - 1)};
  const int largest_step = count > 1 ? (model_elements - 1) / (count - 1) : 1;
  view.step = number(1, std::min(largest_step, 3));
  const int reach = (count - 1) * view.step;
  view.begin = number(0, model_elements - 1 - reach);
  view.end = view.begin + reach + 1;
  if (number(0, 3) == 0) {
    const int first = view.begin;
    view.begin = first + reach, view.end = first - 1, view.step = -view.step;
  }
  return view;
}

ModelView RandomPrograms::view_of_launch(int arrays, int count) {
  if (!few_variants_) return slice(arrays, count);
  return {.array = number(0, arrays - 1), .step = model_elements / count};
}

ModelView RandomPrograms::any_view(int arrays, int count) {
  ModelView view = slice(arrays, count);
  view.gradient = number(0, 2) == 0;
  return view;
}

ModelOperation RandomPrograms::instead_of(const ModelOperation &launch, int arrays) {
  ModelOperation operation{.kind = launch.kind, .direction = launch.direction};
  const int count = few_variants_ ? model_elements / number(1, 2) : number(1, model_elements);
  operation.y = view_of_launch(arrays, count);
  do operation.x = view_of_launch(arrays, count);
  while (operation.x.array == operation.y.array);
  operation.amount = number(0, 2);
  operation.recorded = true;
  return operation;
}

ModelOperation RandomPrograms::simple_operation(int arrays) {
  if (number(0, 1) == 0) {
    static constexpr Direction directions[] = {Direction::forward, Direction::adjoint, Direction::tangent};
    ModelOperation launch =
        instead_of({.kind = number(0, 1) ? Kind::assign : Kind::add, .direction = directions[number(0, 2)]}, arrays);
    launch.recorded = number(0, 1) == 0;
    return launch;
  }
  static constexpr Kind kinds[] = {Kind::fill, Kind::copy, Kind::write, Kind::set, Kind::zero_gradient};
  ModelOperation operation{.kind = kinds[number(0, 4)]};
  const bool matrices = number(0, 3) == 0 && operation.kind != Kind::set;
  const int count = matrices ? model_elements : number(1, model_elements);
  operation.y = any_view(arrays, count);
  operation.x = any_view(arrays, count);
  if (matrices)
    for (ModelView *view : {&operation.y, &operation.x})
      *view = {
          .array = view->array, .gradient = view->gradient, .shape = number(0, 1) ? Shape::matrix : Shape::transposed};
  if (operation.kind == Kind::zero_gradient) operation.y.gradient = true;
  operation.amount = number(0, 2);
  for (int i = 0; i < count; ++i) operation.values.push_back(number(0, 3));
  return operation;
}

// Runs one to four times.
void RandomPrograms::add_loop(ModelProgram &program, int &arrays, int depth) {
  const int limit = number(1, 4);
  ModelOperation loop{.kind = number(0, 2) ? Kind::while_ : Kind::if_, .condition = depth};
  loop.body = this->program(arrays, depth + 1, false);
  const ModelOperation test{.kind = Kind::below, .amount = limit, .condition = depth, .recorded = true};
  loop.body.push_back({.kind = Kind::count, .amount = number(1, 2), .condition = depth});
  loop.body.push_back(test);
  program.push_back({.kind = Kind::reset, .condition = depth});
  program.push_back(test);
  program.push_back(std::move(loop));
}

ModelProgram RandomPrograms::program(int &arrays, int depth, bool may_clone) {
  ModelProgram program;
  const int count = number(1, depth == 0 ? 6 : 3);
  for (int i = 0; i < count; ++i) {
    const int choice = number(0, 11);
    if (choice == 0 && depth < model_conditions) {
      add_loop(program, arrays, depth);
    } else if (choice == 1 && may_clone) {
      ModelOperation clone{.kind = Kind::clone};
      clone.x = {.array = number(0, arrays - 1), .gradient = number(0, 1) == 0, .shape = Shape(number(0, 2))};
      clone.y = {.array = arrays++};
      program.push_back(clone);
    } else if (choice == 2) {
      ModelOperation graph{.kind = Kind::graph};
      for (int k = number(1, 3); k > 0; --k) graph.body.push_back(simple_operation(arrays_before_));
      if (number(0, 2) == 0 && depth < model_conditions) add_loop(graph.body, arrays_before_, depth);
      program.push_back(std::move(graph));
    } else {
      program.push_back(simple_operation(arrays));
    }
  }
  return program;
}

}  // namespace samite::test
