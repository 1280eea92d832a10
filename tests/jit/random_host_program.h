// Random sequences of a program's buffer operations, and their plain meaning: launches in all directions, copies,
// fills, values of the host, clones, on views of a few arrays.
//
// A HostProgram knows for each step which elements it reads and writes, so that it can be executed twice: by the
// library, on buffers, and on a std::vector<double> for each array, from any initial values. Differences of the second
// give the gradients.
#pragma once

#include "samite/samite.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace samite::test {

// An array of the program, and its meaning's number. A gradient is an array, too.
struct HostArray {
  Buffer<double> buffer;
  std::string name;
  int gradient = -1;  // the number of its gradient, if it tracks one
  bool tracked = false;
};

// A view of an array, and which elements it has, in row-major order.
struct HostView {
  int array = 0;
  Buffer<double> buffer;
  std::vector<int> elements;
  std::string text;
};

using HostValues = std::vector<std::vector<double>>;  // of each array

struct HostStep {
  std::string text;
  std::function<void()> run;                  // by the library
  std::function<void(HostValues &)> meaning;  // plainly
  std::vector<HostView> written = {};         // as a tape sees it
  std::vector<HostView> read = {};            // perhaps
  bool uses_untracked = false;                // a gradient might be lost
};

class HostProgram {
 public:
  static constexpr int size = 12;  // elements of each array

  // Arrays on `device`, and one on each of the others, for steps that need only copies of lines and no kernel.
  HostProgram(unsigned seed, Device device, const std::vector<Device> &others);

  // Appends a random step, makes the library do it, and does it plainly.
  HostStep step(bool may_use_untracked);
  // A fill, a copy or values of the host.
  HostStep host_step(bool may_use_untracked);

  const std::vector<HostArray> &arrays() const { return arrays_; }
  // A view of any array that tracks a gradient, of any shape.
  HostView tracked_view();
  std::vector<double> random_values(std::size_t count);
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

  // The library's current values in all arrays.
  HostValues values() const;

 private:
  int add(const Buffer<double> &buffer, const std::string &name);
  int any_array(bool may_use_untracked, bool for_kernels);
  bool is_far(int array) const { return arrays_[static_cast<std::size_t>(array)].buffer.device() != device_; }
  int shape_for(std::initializer_list<int> arrays);
  HostView kernel_view(int array, bool strided);
  HostView view(int array, int shape, bool may_broadcast);
  HostView gradient_of(const HostView &view) const;
  HostStep launch(bool may_use_untracked);
  HostStep copy(bool may_use_untracked);
  HostStep clone();

  std::mt19937 random_;
  Device device_;
  std::vector<HostArray> arrays_;
  int clones_ = 0;
};

}  // namespace samite::test
