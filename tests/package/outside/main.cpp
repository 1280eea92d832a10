// A user's program, which must use only the Samite that `cmake --install` put into the folder in argv[1].
#include <link.h>
#include <samite/samite.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

// Whether every part of Samite that this process has loaded lies under `prefix`: otherwise the installed library works
// only because the build folder still exists.
bool loaded_from(const std::string &prefix) {
  struct Search {
    const std::string &prefix;
    int inside = 0, outside = 0;
  } search{prefix};
  dl_iterate_phdr(
      [](dl_phdr_info *object, std::size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        const std::string_view path = object->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libsamite")) {
          std::printf("loaded %s\n", object->dlpi_name);
          ++(path.starts_with(search.prefix) ? search.inside : search.outside);
        }
        return 0;
      },
      &search);
  return search.inside > 0 && search.outside == 0;
}

}  // namespace

int main(int, char **argv) {
  using namespace samite;
  Kernel square{"square", [](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<float> x{Device::cpu(), {3}, {1, 2, 3}, Gradient::tracked}, y{Device::cpu(), {3}, Gradient::tracked};
  square.launch({3}, y, x);
  y.gradient().fill(1);
  square.launch({3}, {.direction = Direction::adjoint}, y, x);
  bool right = y.at(2) == 9 && x.gradient().at(2) == 6;
  return right && loaded_from(argv[1]) ? 0 : 1;
}
