#include "tests/jit/capture_model.h"

namespace samite::test {
namespace {

using Kind = ModelOperation::Kind;

std::string text_of(const ModelView &view) {
  std::string text = (view.gradient ? "gradient " : "array ") + std::to_string(view.array);
  if (view.shape == ModelView::Shape::matrix) return text + " as 3 x 4";
  if (view.shape == ModelView::Shape::transposed) return text + " as the transpose of 4 x 3";
  return text + "[" + std::to_string(view.begin) + ":" + std::to_string(view.end) + ":" + std::to_string(view.step) +
         "]";
}

}  // namespace

std::vector<int> ModelView::elements() const {
  std::vector<int> elements;
  if (shape == Shape::slice)
    for (int i = begin; step > 0 ? i < end : i > end; i += step) elements.push_back(i);
  else
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column)
        elements.push_back(shape == Shape::matrix ? 4 * row + column : 3 * column + row);
  return elements;
}

std::string ModelOperation::to_string(const std::string &indent) const {
  static constexpr const char *names[] = {"assign", "add",           "count", "below", "fill",  "copy", "write",
                                          "set",    "zero_gradient", "clone", "reset", "while", "if",   "graph"};
  std::string text = indent + names[static_cast<int>(kind)];
  if (kind == Kind::assign || kind == Kind::add) text += " (" + std::string(name(direction)) + ")";
  text += " y: " + text_of(y) + ", x: " + text_of(x) + ", amount " + std::to_string(amount) + ", condition " +
          std::to_string(condition) + (enabled ? "" : ", not enabled") + "\n";
  for (const ModelOperation &inner : body) text += inner.to_string(indent + "  ");
  return text;
}

std::string to_string(const ModelProgram &program) {
  std::string text;
  for (const ModelOperation &operation : program) text += operation.to_string();
  return text;
}

std::vector<ModelOperation *> launches_of(ModelProgram &program) {
  std::vector<ModelOperation *> launches;
  for (ModelOperation &operation : program) {
    if (operation.is_launch()) launches.push_back(&operation);
    if (operation.kind != Kind::while_ && operation.kind != Kind::if_) continue;
    for (ModelOperation *inner : launches_of(operation.body)) launches.push_back(inner);
  }
  return launches;
}

void ModelState::add_array() {
  values.emplace_back();
  gradients.emplace_back();
}

std::array<double, model_elements> &ModelState::of(const ModelView &view) {
  return (view.gradient ? gradients : values)[static_cast<std::size_t>(view.array)];
}

void ModelState::launch(const ModelOperation &operation) {
  const auto y = static_cast<std::size_t>(operation.y.array), x = static_cast<std::size_t>(operation.x.array);
  const std::vector<int> to = operation.y.elements(), from = operation.x.elements();
  const bool assigns = operation.kind == Kind::assign;
  const double factor = assigns ? 2 : 1;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const auto i = static_cast<std::size_t>(to[k]), j = static_cast<std::size_t>(from[k]);
    if (operation.direction == Direction::adjoint) {
      gradients[x][j] += factor * gradients[y][i];
      if (assigns) gradients[y][i] = 0;
      continue;
    }
    if (operation.direction == Direction::tangent)
      gradients[y][i] = factor * gradients[x][j] + (assigns ? 0 : gradients[y][i]);
    values[y][i] = factor * values[x][j] + (assigns ? operation.amount : values[y][i]);
  }
}

void ModelState::run(const ModelOperation &operation) {
  const auto condition = static_cast<std::size_t>(operation.condition);
  int &counter = counters[condition], &flag = flags[condition];
  if (!operation.enabled) return;
  switch (operation.kind) {
    case Kind::assign:
    case Kind::add: return launch(operation);
    case Kind::count: counter += operation.amount; return;
    case Kind::below: flag = counter < operation.amount; return;
    case Kind::reset: counter = 0; return;
    case Kind::while_:
      while (flag) run(operation.body);
      return;
    case Kind::if_:
      if (flag) run(operation.body);
      return;
    case Kind::graph: return run(operation.body);
    default: break;
  }
  auto &to = of(operation.y);
  const std::vector<int> elements = operation.y.elements();
  std::vector<double> read;  // whole, before the first is written
  for (const int element : operation.x.elements()) read.push_back(of(operation.x)[static_cast<std::size_t>(element)]);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    double &element = to[static_cast<std::size_t>(elements[k])];
    switch (operation.kind) {
      case Kind::fill: element = operation.amount; break;
      case Kind::zero_gradient: element = 0; break;
      case Kind::write: element = operation.values[k]; break;
      case Kind::set: element = k == 0 ? operation.amount : element; break;
      default: element = read[k]; break;
    }
  }
}

void ModelState::run(const ModelProgram &program) {
  for (const ModelOperation &operation : program) run(operation);
}

}  // namespace samite::test
