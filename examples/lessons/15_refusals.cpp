// Lesson 15. Gradients that are refused, and what to do: two kernels whose adjoint would be wrong, and their repair.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

template <class K, class... As>
void differentiate(const K &kernel, const As &...arguments) {
  try {
    kernel.launch({3}, {.direction = Direction::adjoint}, arguments...);
    std::printf("%s: fine\n\n", kernel.name().c_str());
  } catch (const UserError &error) {
    std::printf("%s\n\n", error.what());
  }
}

int main() {
  Device device = Device::preferred();
  Buffer<double> x{device, {4}, {1, 2, 3, 4}, Gradient::tracked}, y{device, {4}, Gradient::tracked};
  Buffer<double> sum{device, {1}, Gradient::tracked};

  // Reads a neighbour that another instance may have written already.
  differentiate(Kernel{"in_place",
                       {"x"},
                       [](Array<double, 1> x) {
                         Int i = thread_index();
                         x(i) = x(i) * x(i + 1);
                       }},
                x);
  // Repair: write to another array.
  differentiate(Kernel{"apart",
                       {"y", "x"},
                       [](Array<double, 1> y, Array<const double, 1> x) {
                         Int i = thread_index();
                         y(i) = x(i) * x(i + 1);
                       }},
                y, x);

  // The value that an atomic function returns depends on the order of the instances.
  differentiate(Kernel{"ordered",
                       {"y", "sum", "x"},
                       [](Array<double, 1> y, Array<double, 1> sum, Array<const double, 1> x) {
                         Int i = thread_index();
                         y(i) = atomic_add(sum(0), x(i));
                       }},
                y, sum, x);
  // Repair: each instance sums in the order of the elements.
  differentiate(Kernel{"prefix",
                       {"y", "x"},
                       [](Array<double, 1> y, Array<const double, 1> x) {
                         Int i = thread_index();
                         Double before = 0;
                         for (Int k : range(i)) before += x(k);
                         y(i) = before;
                       }},
                y, x);
}
