// Lesson 8. Debugging: what a kernel can print and check, and what debug mode finds.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

template <class Work>
void report(const Work &work) {
  try {
    work();
  } catch (const UserError &error) {
    std::printf("%s\n\n", error.what());
  }
}

int main() {
  auto take_roots = [](Array<float, 1> out, Array<const float, 1> in) {
    Int i = thread_index();
    check(in(i) >= 0, "no root of ", in(i));
    if_(i == 1, [&] { print("in(", i, ") is ", in(i)); });
    out(i) = sqrt(in(i));
  };
  Kernel roots{"roots", {"out", "in"}, take_roots};
  Kernel pick{"pick",
              {"out", "in", "which"},
              [](Array<float, 1> out, Array<const float, 1> in, Array<const std::int32_t, 1> which) {
                Int i = thread_index();
                out(i) = in(which(i));
              }};
  Kernel count{"count", {"bins", "which"}, [](Array<float, 1> bins, Array<const std::int32_t, 1> which) {
                 Int i = thread_index();
                 bins(which(i)) += 1;
               }};

  Device device = Device::preferred();
  Buffer<float> in{device, {3}, {4, 9, -1}}, out{device, {3}}, longer{device, {4}};
  Buffer<std::int32_t> which{device, {3}, {1, 1, 7}}, good{device, {3}, {1, 1, 2}};

  report([&] { roots.launch({3}, out, in); });
  report([&] { roots.launch({4}, longer, in); });
  report([&] { pick.launch({3}, {.debug = true}, out, in, which); });
  report([&] { count.launch({3}, {.debug = true}, out, good); });
}
