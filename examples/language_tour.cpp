// Every part of the language that docs/language.md describes, in small kernels that check their results.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace samite;

namespace {

const Device device = Device::preferred();

void check(bool right, const char *what) {
  std::printf("%-16s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}

// A template over the scalar serves kernels in float and in double.
template <class T>
Traced<T> polynomial(Traced<T> x) {
  Traced<T> sum = 0;
  for (double coefficient : {0.25, -1.0, 3.0}) sum = sum * x + coefficient;  // a C++ loop: unrolled by the capture
  return sum;
}

Float soft_root(Float x) {
  return returning<Float>([&](auto return_) {
    if_(x <= 0, [&] { return_(0); });
    if_(x < 1, [&] { return_(x * x); });
    return sqrt(x);
  });
}

void values() {
  Kernel kernel{"values", [](Array<double, 1> out, Array<const std::uint8_t, 1> bytes, Float scale) {
                  Int i = thread_index();
                  Float grey = bytes(i) * scale;    // u8 promotes to Float
                  Double precise = grey + out(i);   // Float meets Double: Double
                  Int level = cast<Int>(grey * 4);  // towards zero, by an explicit cast
                  precise += select(level % 2 == 0, 0.5, precise);
                  out(i) = precise;
                }};
  Buffer<std::uint8_t> bytes{device, {3}, {0, 51, 255}};
  Buffer<double> out{device, {3}, {1, 1, 1}};
  kernel.launch({3}, out, bytes, 1 / 255.0f);
  check(out.at(0) == 1.5 && std::abs(out.at(1) - 1.7) < 1e-7 && out.at(2) == 2.5, "values");
}

void control_flow() {
  Kernel collatz{"collatz", [](Array<std::int32_t, 1> steps, Array<std::int32_t, 1> sums) {
                   Int i = thread_index();
                   Int n = i + 1, count = 0;
                   while_([&] { return n != 1; },
                          [&] {
                            if_(n % 2 == 0, [&] { n /= 2; }, [&] { n = 3 * n + 1; });
                            count += 1;
                          });
                   steps(i) = count;

                   Int sum = 0;
                   for (Int k : range(i, 0, -2)) sum += k;  // i, i - 2, … above 0
                   sums(i) = sum;
                 }};
  Buffer<std::int32_t> steps{device, {27}}, sums{device, {27}};
  collatz.launch({27}, steps, sums);
  check(steps.at(26) == 111 && sums.at(5) == 9, "control flow");
}

void jumps() {
  Kernel search{"search", [](Array<std::int32_t, 1> found, Array<const std::int32_t, 1> keys) {
                  Int i = thread_index();
                  Int first = -1;
                  for (Int k : range(keys.extent(0))) {
                    if_(keys(k) < 0, [] { continue_(); });
                    if_(keys(k) == i, [&] {
                      first = k;
                      break_();
                    });
                  }
                  if_(first == -1, [] { return_(); });
                  found(i) = first;
                }};
  Buffer<std::int32_t> keys{device, {5}, {3, -1, 0, 3, 0}}, found{device, {4}};
  found.fill(9);
  search.launch({4}, found, keys);
  check(found.to_vector() == std::vector<std::int32_t>{2, 9, 9, 0}, "jumps");
}

void local_arrays() {
  Kernel kernel{"digits", [](Array<std::int32_t, 1> digits) {
                  Int i = thread_index();
                  LocalArray<std::int32_t, 10> count;  // ten zeros
                  Int n = i * i, most = 0;
                  while_([&] { return n > 0; },
                         [&] {
                           count(n % 10) += 1;
                           n /= 10;
                         });
                  for (Int digit : range(1, 10)) if_(count(digit) > count(most), [&] { most = digit; });
                  digits(i) = most;
                }};
  Buffer<std::int32_t> digits{device, {213}};
  kernel.launch({213}, digits);
  check(digits.at(212) == 4 && digits.at(100) == 0, "local arrays");  // of 44944 and 10000
}

void functions() {
  Kernel kernel{"functions", [](Array<float, 1> single, Array<double, 1> twice, Array<float, 1> roots) {
                  Int i = thread_index();
                  single(i) = polynomial<float>(i);
                  twice(i) = polynomial<double>(i);
                  roots(i) = soft_root(cast<Float>(i) - 0.5);
                }};
  Buffer<float> single{device, {4}}, roots{device, {4}};
  Buffer<double> twice{device, {4}};
  kernel.launch({4}, single, twice, roots);
  check(single.at(2) == 2 && twice.at(2) == 2, "functions");
  check(roots.at(0) == 0 && roots.at(1) == 0.25 && roots.at(2) == std::sqrt(1.5f), "early return");
}

void arrays() {
  Kernel column_sums{"column_sums", [](Array<float, 1> sums, Array<const float, 2> matrix) {
                       auto [row, column] = thread_index<2>();
                       if_(row < matrix.extent(0), [&] { atomic_add(sums(column), matrix(row, column)); });
                     }};
  Buffer<float> matrix{device, {2, 3}, {1, 2, 3, 4, 5, 6}};
  Buffer<float> sums{device, {3}}, sums_of_transposed{device, {2}};
  column_sums.launch({2, 3}, sums, matrix);
  column_sums.launch({3, 2}, sums_of_transposed, matrix.transpose());  // a view: nothing is copied
  check(sums.to_vector() == std::vector<float>{5, 7, 9} && sums_of_transposed.at(1) == 15, "arrays");
}

Float mean(const Array<const float, 1> &values) {
  Float sum = 0;
  for (Int k : range(values.extent(0))) sum += values(k);
  return sum / values.extent(0);
}

void views() {
  Kernel means{"means", [](Array<float, 1> of_rows, Array<float, 1> of_columns, Array<const float, 2> matrix) {
                 Int i = thread_index();
                 of_rows(i) = mean(matrix.row(i));
                 of_columns(i) = mean(matrix.column(i).slice(0, 1, matrix.extent(0)));  // without the first row
               }};
  Buffer<float> matrix{device, {2, 3}, {1, 2, 3, 4, 5, 6}};
  Buffer<float> of_rows{device, {2}}, of_columns{device, {2}};
  means.launch({2}, of_rows, of_columns, matrix);
  check(of_rows.to_vector() == std::vector<float>{2, 5} && of_columns.to_vector() == std::vector<float>{4, 5}, "views");
}

class Smoother {
 public:
  Smoother() : weigh_{"weigh", [](Array<float, 1> x, Float weight) { x(thread_index()) *= weight; }} {}
  void run(const Buffer<float> &x) const { weigh_.launch({x.extent(0)}, x, 0.5f); }

 private:
  Kernel<void(Array<float, 1>, Float)> weigh_;
};

class Filter {
 public:
  void blur() {
    weigh_ = Kernel{"halve", [](Array<float, 1> x) { x(thread_index()) *= 0.5f; }};
  }
  void run(const Buffer<float> &x) const {
    if (!weigh_.empty()) weigh_.launch({x.extent(0)}, x);
  }

 private:
  AnyKernel weigh_;
};

void members() {
  Filter filter;
  Buffer<float> y{device, {2}, {2, 4}};
  filter.run(y);
  filter.blur();
  filter.run(y);
  check(y.to_vector() == std::vector<float>{1, 2}, "a member of any type");

  Smoother smoother;
  Buffer<float> x{device, {2}, {2, 4}};
  smoother.run(x);
  check(x.to_vector() == std::vector<float>{1, 2}, "members");
}

void atomics() {
  Kernel keep_positive{"keep_positive", [](Array<float, 1> kept, Array<std::int32_t, 1> count, Array<float, 1> largest,
                                           Array<const float, 1> x) {
                         Int i = thread_index();
                         if_(x(i) > 0, [&] {
                           Int place = atomic_add(count(0), 1);  // a different one for each instance
                           kept(place) = x(i);
                           atomic_max(largest(0), x(i));
                         });
                       }};
  Buffer<float> x{device, {5}, {3, -1, 4, -1, 5}}, kept{device, {5}}, largest{device, {1}};
  Buffer<std::int32_t> count{device, {1}};
  keep_positive.launch({5}, kept, count, largest, x);
  check(count.at(0) == 3 && largest.at(0) == 5 && kept.at(0) + kept.at(1) + kept.at(2) == 12, "atomics");
}

void words() {
  Kernel roots{"roots", [](Array<float, 1> out, Array<const float, 1> in) {
                 Int i = thread_index();
                 check(in(i) >= 0, "no root of ", in(i));
                 out(i) = sqrt(in(i));
                 if_(out(i) > 10, [&] { print("instance ", i, " found ", out(i)); });
               }};
  Buffer<float> in{device, {3}, {4, 144, -1}}, out{device, {3}};
  std::string printed, message;
  set_print_sink([&](std::string_view line) { printed += line; });
  try {
    roots.launch({3}, out, in);
  } catch (const UserError &error) {
    message = error.what();
  }
  set_print_sink({});
  check(printed == "instance 1 found 12", "print");
  check(message.find("a check failed in instance (2): no root of -1\n") != std::string::npos, "check");
}

void launches() {
  Kernel scale{"scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
                 Int i = thread_index();
                 out(i) = factor * in(i);
               }};
  Buffer<float> in{device, {3}, {1, 2, 3}, Gradient::tracked}, out{device, {3}, Gradient::tracked};
  auto [forward, adjoint] = scale.record_with_adjoint({3}, out, in, 2.0f);

  forward.set("factor", 10.0f);
  forward.set_dim(0, 2);  // the first two elements only
  forward.launch();
  check(out.to_vector() == std::vector<float>{10, 20, 0}, "launches");

  out.gradient().fill(1);
  adjoint.launch();
  check(in.gradient().at(1) == 2 && out.gradient().at(1) == 0, "adjoint");
}

void tapes() {
  Kernel square{"square", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  out(i) = in(i)*in(i);
                }};
  Buffer<double> x{device, {2}, {3, 4}, Gradient::tracked};
  Buffer<double> y{device, {2}, Gradient::tracked}, z{device, {2}, Gradient::tracked};
  Tape tape;
  tape.record([&] {
    square.launch({2}, y, x);
    square.launch({2}, z, y);
  });
  tape.backward({{z, Buffer<double>{device, {2}, {1, 10}}}});  // of 1 * z[0] + 10 * z[1]
  check(x.gradient().at(0) == 4 * 27 && x.gradient().at(1) == 10 * 4 * 64, "tape");
  tape.zero_gradients();
}

void debug_mode_finds_the_index() {
  Kernel shift{"shift", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                 Int i = thread_index();
                 out(i) = in(i + 1);
               }};
  Buffer<float> in{device, {3}}, out{device, {3}};
  std::string message;
  try {
    shift.launch({3}, {.debug = true}, out, in);
  } catch (const UserError &error) {
    message = error.what();
  }
  std::printf("  %s\n", message.c_str());
  check(message.find("in instance (2): index 3 is outside of dimension 0 of array 'in', whose extent is 3\n") !=
            std::string::npos,
        "debug mode");
}

void a_gradient_is_right_or_refused() {
  Kernel power{"power", [](Array<float, 1> out, Array<const float, 1> in) {
                 Int i = thread_index();
                 Float x = in(i);
                 for (Int k : range(3)) x = x * x;  // its derivative needs each x that is overwritten: they are kept
                 out(i) = x;
               }};
  Buffer<float> in{device, {1}, {1}, Gradient::tracked}, out{device, {1}, Gradient::tracked};
  power.launch({1}, out, in);
  out.gradient().fill(1);
  power.launch({1}, {.direction = Direction::adjoint}, out, in);
  check(in.gradient().at(0) == 8, "gradient of a power");

  Kernel again{"again", [](Array<float, 1> x) {
                 Int i = thread_index();
                 x(i) = x(i) * x(i);
                 x(i) = x(i) * x(i);  // needs x from before the launch, which only a tape keeps
               }};
  std::string message;
  try {
    again.launch({1}, {.direction = Direction::adjoint}, in);
  } catch (const UserError &error) {
    message = error.what();
  }
  std::printf("  %s\n", message.c_str());
  check(message.find("launch the kernel while a Tape records") != std::string::npos, "refusal");
}

}  // namespace

int main() {
  values();
  control_flow();
  local_arrays();
  jumps();
  functions();
  arrays();
  views();
  members();
  atomics();
  words();
  launches();
  tapes();
  debug_mode_finds_the_index();
  a_gradient_is_right_or_refused();
  return 0;
}
