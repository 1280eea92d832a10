// A shipped program: with the argument "other" it launches a kernel that was not compiled ahead of time.
#include "kernels.h"

#include <cstdio>
#include <string_view>

int main(int argc, char **argv) {
  using namespace samite;
  try {
    if (argc > 1 && std::string_view(argv[1]) == "other") {
      Kernel other{"other", {"y"}, [](Array<float, 1> y) { y(thread_index()) = 1; }};
      Buffer<float> y{Device::cpu(), {3}};
      other.launch({3}, y);
    }
    return cube_and_its_gradient_are_right() ? 0 : 1;
  } catch (const Error &error) {
    std::printf("%s\n", error.what());
    return 2;
  }
}
