// Buffers, views, borrowed memory, pinned memory, and launches from several threads: the code of docs/buffers.md and
// docs/threads-and-streams.md.
#include <samite/samite.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

using namespace samite;

namespace {

const Device device = Device::preferred();

void check(bool right, const char *what) {
  std::printf("%-16s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}

const Kernel doubled{"doubled", [](Array<float, 1> y, Array<const float, 1> x) {
                       Int i = thread_index();
                       y(i) = 2 * x(i);
                     }};

void making() {
  Buffer<float> zeros{device, {3, 4}};
  Buffer<float> given{device, {2, 2}, {1, 2, 3, 4}};  // row by row
  std::vector<double> values(100, 0.5);
  Buffer<double> of_vector{device, {10, 10}, values, Gradient::tracked};

  zeros.fill(7);
  zeros.set({1, 2}, 8);
  float one = zeros.at(1, 2);
  std::vector<float> all = given.to_vector();

  check(one == 8 && all[2] == 3 && of_vector.gradient().at(9, 9) == 0, "making");
}

void handles() {
  Buffer<float> a{device, {3}, {1, 2, 3}};
  Buffer<float> same = a, other = a.clone();
  a.set({0}, 10);
  check(same.at(0) == 10 && other.at(0) == 1, "handles");
}

void views() {
  Buffer<float> a{device, {4, 6}};
  Buffer<float> rows = a.slice(0, 1, 3);                        // rows 1 and 2
  Buffer<float> every_second = a.slice(1, 0, 6, 2);             // columns 0, 2 and 4
  Buffer<float> backwards = a.slice(1, 5, -1, -1);              // columns from the last to the first
  Buffer<float> turned = a.transpose();                         // 6 by 4
  Buffer<float> flat = a.reshape({24});                         // contiguous buffers only
  Buffer<float> repeated = a.slice(0, 0, 1).broadcast({4, 6});  // row 0, four times; read-only

  rows.fill(1);
  turned.set({0, 0}, 5);
  check(a.at(1, 3) == 1 && a.at(0, 0) == 5 && flat.at(0) == 5 && repeated.at(3, 0) == 5 &&
            every_second.extent(1) == 3 && backwards.at(0, 5) == 5,
        "views");
}

void gradients() {
  Buffer<float> x{device, {3}, {1, 2, 3}, Gradient::tracked}, y{device, {3}, Gradient::tracked};
  Buffer<float> part = x.slice(0, 0, 2);
  doubled.launch({3}, y, x);
  y.gradient().fill(1);
  doubled.launch({3}, {.direction = Direction::adjoint}, y, x);
  check(part.gradient().at(1) == 2, "gradients");
  part.zero_gradient();  // only of these two elements
  check(x.gradient().at(1) == 0 && x.gradient().at(2) == 2, "gradients of views");
}

void memory_of_others() {
  std::vector<float> mine(512 * 512, 1);
  Buffer<float> field = borrow(Device::cpu(), mine.data(), {512, 512});  // no copy; `mine` outlives `field`
  field.set({0, 0}, 3);
  check(mine[0] == 3, "borrowed");
}

void devices() {
  Buffer<float> here{Device::cpu(), {3}, {1, 2, 3}};
  Buffer<float> there = here.to(device);  // a copy, also on the same device
  there.fill(0);
  here.copy_from(there);
  check(here.at(2) == 0, "devices");
}

void pinned_memory() {
  Stream stream{device};
  Buffer<float> x{device, {1000}}, y{device, {1000}};
  PinnedArray<float> in{device, {1000}}, out{device, {1000}};
  std::iota(in.values().begin(), in.values().end(), 0.0f);

  x.copy_from(in, stream);  // returns at once
  doubled.launch({1000}, {.stream = stream}, y, x);
  y.copy_to(out, stream);
  check(out.values()[999] == 1998, "pinned memory");  // values() waits for the copy
}

void several_threads() {
  // A Kernel is shared; each thread has its own buffers and stream.
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &results] {
      Stream stream{device};
      Buffer<float> x{device, {8}, std::vector<float>(8, static_cast<float>(t))}, y{device, {8}};
      doubled.launch({8}, {.stream = stream}, y, x);
      results[t] = y.at(7);  // reading waits for the stream
    });
  for (std::thread &thread : threads) thread.join();
  check(results == std::vector<float>{0, 2, 4, 6}, "several threads");
}

void order_of_streams() {
  Stream first{device}, second{device};
  Buffer<float> x{device, {8}}, y{device, {8}}, z{device, {8}};
  x.fill(1);

  doubled.launch({8}, {.stream = first}, y, x);
  Event ready;
  ready.record(first);
  second.wait(ready);
  doubled.launch({8}, {.stream = second}, z, y);
  check(z.at(0) == 4, "two streams");
}

}  // namespace

int main() {
  making();
  handles();
  views();
  gradients();
  memory_of_others();
  devices();
  pinned_memory();
  several_threads();
  order_of_streams();
}
