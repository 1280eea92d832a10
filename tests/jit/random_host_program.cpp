#include "tests/jit/random_host_program.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace samite::test {
namespace {

// Bounded, and with bounded derivatives, so that differences give good gradients.
const Kernel wave{"wave", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                    Int i = thread_index();
                    y(i) = sin(x(i));
                  }};
const Kernel mix{"mix", {"y", "x", "w"}, [](Array<double, 1> y, Array<const double, 1> x, Array<const double, 1> w) {
                   Int i = thread_index();
                   y(i) = 0.5 * x(i) * cos(w(i));
                 }};
const Kernel accumulate{"accumulate", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                          Int i = thread_index();
                          y(i) += 0.5 * sin(x(i));
                        }};
const Kernel damp{"damp", {"x"}, [](Array<double, 1> x) {
                    Int i = thread_index();
                    x(i) = 0.8 * x(i) + 0.1 * x(i) * cos(x(i));
                  }};
const Kernel total{"total", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                     atomic_add(sum(0), 0.25 * x(thread_index()));
                   }};

constexpr int launch_count = 4;  // elements that a launch works on

bool overlap(const HostView &a, const HostView &b) {
  return a.array == b.array &&
         std::ranges::any_of(a.elements, [&](int element) { return std::ranges::count(b.elements, element) > 0; });
}

// An adjoint kernel's gradients may not be neighbours in one array.
bool in_one_array(const HostView &a, const HostView &b, const HostView &c) {
  return a.array == b.array || a.array == c.array || b.array == c.array;
}

double &at(HostValues &values, const HostView &view, std::size_t i) {
  return values[static_cast<std::size_t>(view.array)][static_cast<std::size_t>(view.elements[i])];
}

}  // namespace

HostProgram::HostProgram(unsigned seed, Device device, const std::vector<Device> &others)
    : random_(seed), device_(device) {
  const auto tracked = [&](Device on, const std::string &name) {
    const int array = add(Buffer<double>(on, {size}, random_values(size), Gradient::tracked), name);
    arrays_[static_cast<std::size_t>(array)].gradient =
        add(arrays_[static_cast<std::size_t>(array)].buffer.gradient(), name + ".gradient()");
  };
  for (const char *name : {"a", "b", "c"}) tracked(device, name);
  for (int array : {0, 2, 4}) arrays_[static_cast<std::size_t>(array) + 1].buffer.track_gradient();
  add(Buffer<double>(device, {size}, random_values(size)), "plain");
  for (const Device &far : others) tracked(far, "on " + far.to_string());
  for (HostArray &array : arrays_) array.tracked = array.buffer.tracks_gradient();
}

int HostProgram::add(const Buffer<double> &buffer, const std::string &name) {
  arrays_.push_back({buffer, name});
  arrays_.back().tracked = buffer.tracks_gradient();
  return static_cast<int>(arrays_.size()) - 1;
}

std::vector<double> HostProgram::random_values(std::size_t count) {
  std::vector<double> values(count);
  for (double &value : values) value = (below(2001) - 1000) / 1000.0;
  return values;
}

HostValues HostProgram::values() const {
  HostValues values;
  for (const HostArray &array : arrays_) values.push_back(array.buffer.to_vector());
  return values;
}

int HostProgram::any_array(bool may_use_untracked, bool for_kernels) {
  for (;;) {
    const int array = below(static_cast<int>(arrays_.size()));
    const HostArray &one = arrays_[static_cast<std::size_t>(array)];
    if (for_kernels && is_far(array)) continue;
    if (one.tracked || (may_use_untracked && one_in(2))) return array;
  }
}

HostView HostProgram::kernel_view(int array, bool strided) {
  const int step = strided ? 2 + below(2) : 1, reach = (launch_count - 1) * step, begin = below(size - reach);
  const bool reversed = strided && one_in(2);
  const HostArray &of = arrays_[static_cast<std::size_t>(array)];
  HostView view{array, {}, {}, {}};
  for (int i = 0; i < launch_count; ++i) view.elements.push_back(begin + i * step);
  if (reversed) {
    std::ranges::reverse(view.elements);
    view.buffer = of.buffer.slice(0, begin + reach, begin - 1, -step);
  } else {
    view.buffer = of.buffer.slice(0, begin, begin + reach + 1, step);
  }
  view.text = of.name + "[" + std::to_string(view.elements[0]) + ", " + std::to_string(view.elements[1]) + " …]";
  return view;
}

// Shapes: 0 and 1, a line of 4 with gaps or without; 2, 2 × 3 of several layouts; 3, all elements; 4, one element.
HostView HostProgram::view(int array, int shape, bool may_broadcast) {
  const HostArray &of = arrays_[static_cast<std::size_t>(array)];
  HostView view{array, of.buffer, std::vector<int>(size), of.name};
  std::iota(view.elements.begin(), view.elements.end(), 0);
  if (shape == 3) return view;
  if (shape == 4) {
    const int element = below(size);
    return {array, of.buffer.slice(0, element, element + 1), {element}, of.name + "[" + std::to_string(element) + "]"};
  }
  if (shape < 2 && may_broadcast && one_in(4)) {
    const int element = below(size);
    return {array, of.buffer.slice(0, element, element + 1).broadcast({launch_count}),
            std::vector<int>(launch_count, element), of.name + "[" + std::to_string(element) + "] repeated"};
  }
  if (shape < 2) return kernel_view(array, shape == 1);
  view.elements.clear();
  if (one_in(2)) {  // rows 1 and 0, or columns, of 4 × 3
    const int first = below(3);
    view.buffer = of.buffer.reshape({4, 3}).slice(0, first + 1, first - 1, -1);
    for (int i = 1; i >= 0; --i)
      for (int j = 0; j < 3; ++j) view.elements.push_back((first + i) * 3 + j);
  } else {  // of 3 × 4, transposed
    const int first = below(3);
    view.buffer = of.buffer.reshape({3, 4}).transpose().slice(0, first, first + 2);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j) view.elements.push_back(j * 4 + first + i);
  }
  view.text = of.name + "[2 x 3 from " + std::to_string(view.elements[0]) + "]";
  return view;
}

int HostProgram::shape_for(std::initializer_list<int> arrays) {
  for (;;) {
    const int shape = below(5);
    if (shape != 2 || std::ranges::none_of(arrays, [&](int array) { return is_far(array); })) return shape;
  }
}

HostView HostProgram::tracked_view() {
  for (;;) {
    const int array = any_array(false, false);
    if (arrays_[static_cast<std::size_t>(array)].gradient >= 0) return view(array, shape_for({array}), false);
  }
}

HostView HostProgram::gradient_of(const HostView &view) const {
  return {arrays_[static_cast<std::size_t>(view.array)].gradient, view.buffer.gradient(), view.elements,
          "gradient of " + view.text};
}

HostStep HostProgram::launch(bool may_use_untracked) {
  const bool strided = one_in(3);
  HostStep step;
  const auto argument = [&](bool is_derivative) {
    for (;;) {
      const int array = any_array(may_use_untracked, true);
      const int gradient = arrays_[static_cast<std::size_t>(array)].gradient;
      if (is_derivative && gradient < 0) continue;
      if (is_derivative && !may_use_untracked && !arrays_[static_cast<std::size_t>(gradient)].tracked) continue;
      step.uses_untracked = step.uses_untracked || !arrays_[static_cast<std::size_t>(array)].tracked;
      return kernel_view(array, strided);
    }
  };
  const int kind = below(9);
  const bool derivative = kind >= 6;
  HostView x, y, w;
  do {
    x = argument(derivative), y = argument(derivative), w = argument(derivative);
  } while (overlap(x, y) || overlap(x, w) || overlap(y, w) || (derivative && in_one_array(x, y, w)));
  const LaunchExtents extents{launch_count};
  switch (kind) {
    case 0:
      if (one_in(5)) y = x;  // in place
      step.text = "wave(" + y.text + ", " + x.text + ")";
      step.written = {y};
      step.run = [=] { wave.launch(extents, y.buffer, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) at(values, y, i) = std::sin(at(values, x, i));
      };
      break;
    case 1:
      step.text = "mix(" + y.text + ", " + x.text + ", " + w.text + ")";
      step.written = {y};
      step.run = [=] { mix.launch(extents, y.buffer, x.buffer, w.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i)
          at(values, y, i) = 0.5 * at(values, x, i) * std::cos(at(values, w, i));
      };
      break;
    case 2:
    case 3:
      step.text = "accumulate(" + y.text + ", " + x.text + ")";
      step.written = {y};
      step.run = [=] { accumulate.launch(extents, y.buffer, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) at(values, y, i) += 0.5 * std::sin(at(values, x, i));
      };
      break;
    case 4:
      step.text = "damp(" + x.text + ")";
      y = x;
      step.written = {x};
      step.run = [=] { damp.launch(extents, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) {
          double &value = at(values, x, i);
          value = 0.8 * value + 0.1 * value * std::cos(value);
        }
      };
      break;
    case 5: {
      const int begin = y.elements[0];
      HostView sum{y.array,
                   arrays_[static_cast<std::size_t>(y.array)].buffer.slice(0, begin, begin + 1),
                   {begin},
                   arrays_[static_cast<std::size_t>(y.array)].name + "[" + std::to_string(begin) + "]"};
      step.text = "total(" + sum.text + ", " + x.text + ")";
      step.written = {sum};
      step.run = [=] { total.launch(extents, sum.buffer, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) at(values, sum, 0) += 0.25 * at(values, x, i);
      };
      break;
    }
    case 6: {
      const HostView dx = gradient_of(x), dy = gradient_of(y);
      step.text = "adjoint of wave(" + y.text + ", " + x.text + ")";
      step.written = {dx, dy};
      step.run = [=] { wave.launch(extents, {.direction = Direction::adjoint}, y.buffer, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i)
          at(values, dx, i) += std::cos(at(values, x, i)) * std::exchange(at(values, dy, i), 0);
      };
      break;
    }
    case 7: {
      const HostView dx = gradient_of(x), dy = gradient_of(y), dw = gradient_of(w);
      step.text = "adjoint of mix(" + y.text + ", " + x.text + ", " + w.text + ")";
      step.written = {dx, dy, dw};
      step.run = [=] {
        Launch recorded = mix.record(extents, {.direction = Direction::adjoint}, y.buffer, x.buffer, w.buffer);
        recorded.launch();
      };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) {
          const double taken = std::exchange(at(values, dy, i), 0);
          at(values, dx, i) += 0.5 * std::cos(at(values, w, i)) * taken;
          at(values, dw, i) -= 0.5 * at(values, x, i) * std::sin(at(values, w, i)) * taken;
        }
      };
      break;
    }
    default: {
      const HostView dx = gradient_of(x), dy = gradient_of(y);
      step.text = "tangent of wave(" + y.text + ", " + x.text + ")";
      step.written = {y, dy};
      step.run = [=] { wave.launch(extents, {.direction = Direction::tangent}, y.buffer, x.buffer); };
      step.meaning = [=](HostValues &values) {
        for (std::size_t i = 0; i < launch_count; ++i) {
          at(values, y, i) = std::sin(at(values, x, i));
          at(values, dy, i) = std::cos(at(values, x, i)) * at(values, dx, i);
        }
      };
    }
  }
  step.read = {x};
  if (kind == 1 || kind == 7) step.read.push_back(w);
  if (derivative) step.read.push_back(y);
  // Gradients are arrays of a derivative launch, too, and not all of them have gradients.
  if (derivative)
    for (const HostView *view : {&x, &y, &w})
      if (kind == 7 || view != &w)
        step.uses_untracked =
            step.uses_untracked || !arrays_[static_cast<std::size_t>(gradient_of(*view).array)].tracked;
  return step;
}

HostStep HostProgram::copy(bool may_use_untracked) {
  const int target = any_array(may_use_untracked, false), source = any_array(may_use_untracked, false),
            shape = shape_for({target, source});
  const HostView to = view(target, shape, false), from = view(source, shape, true);
  HostStep step{to.text + ".copy_from(" + from.text + ")", {}, {}, {to}, {from}};
  step.uses_untracked =
      !arrays_[static_cast<std::size_t>(to.array)].tracked || !arrays_[static_cast<std::size_t>(from.array)].tracked;
  step.run = [=] { Buffer<double>(to.buffer).copy_from(from.buffer); };
  step.meaning = [=](HostValues &values) {
    std::vector<double> read;
    for (std::size_t i = 0; i < from.elements.size(); ++i) read.push_back(at(values, from, i));
    for (std::size_t i = 0; i < to.elements.size(); ++i) at(values, to, i) = read[i];
  };
  return step;
}

HostStep HostProgram::clone() {
  const HostView from = view(any_array(false, true), 3, false);
  const std::string name = "clone" + std::to_string(clones_++);
  const int to = add(Buffer<double>(device_, {size}, Gradient::tracked), name);
  const int gradient = add(arrays_[static_cast<std::size_t>(to)].buffer.gradient(), name + ".gradient()");
  arrays_[static_cast<std::size_t>(to)].gradient = gradient;
  HostStep step{name + " = " + from.text + ".clone()", {}, {}, {}, {from}};
  // The clone's copy replaces the buffer, and later views of the array are made from it.
  step.run = [this, to, gradient, from] {
    Buffer<double> copy = from.buffer.clone(Gradient::tracked);
    arrays_[static_cast<std::size_t>(to)].buffer = copy;
    arrays_[static_cast<std::size_t>(gradient)].buffer = copy.gradient();
  };
  step.meaning = [to, from](HostValues &values) {
    values.resize(std::max(values.size(), static_cast<std::size_t>(to) + 2), std::vector<double>(size));
    values[static_cast<std::size_t>(to)] = values[static_cast<std::size_t>(from.array)];
  };
  step.written = {{to, {}, from.elements, name}};
  return step;
}

HostStep HostProgram::host_step(bool may_use_untracked) {
  const int kind = below(5);
  if (kind < 2) return copy(may_use_untracked);
  const int target = any_array(may_use_untracked, false);
  const HostView to = view(target, kind == 4 ? 4 : shape_for({target}), false);
  HostStep step{{}, {}, {}, {to}};
  step.uses_untracked = !arrays_[static_cast<std::size_t>(to.array)].tracked;
  const std::vector<double> given =
      kind == 2 ? std::vector<double>(to.elements.size(), below(1000) / 1000.0) : random_values(to.elements.size());
  if (kind == 2) {
    step.text = to.text + ".fill(" + std::to_string(given[0]) + ")";
    step.run = [=] { Buffer<double>(to.buffer).fill(given[0]); };
  } else if (kind == 3) {
    step.text = to.text + ".copy_from(values)";
    step.run = [=] { Buffer<double>(to.buffer).copy_from(given); };
  } else {
    step.text = to.text + ".set(" + std::to_string(given[0]) + ")";
    step.run = [=] { Buffer<double>(to.buffer).set({0}, given[0]); };
  }
  step.meaning = [=](HostValues &values) {
    for (std::size_t i = 0; i < to.elements.size(); ++i) at(values, to, i) = given[i];
  };
  return step;
}

HostStep HostProgram::step(bool may_use_untracked) {
  if (one_in(25) && clones_ < 2) return clone();
  return one_in(3) ? host_step(may_use_untracked) : launch(may_use_untracked);
}

}  // namespace samite::test
