// Compiles a kernel that adds argv[1], and the object that it calls, and prints the events as "name value" lines.
#include "tests/toolchain/sample_kernel.h"

#include <cstdio>
#include <exception>

int main(int argc, char **argv) {
  using namespace samite;
  try {
    const HostSource objects[] = {test::halve()};
    const CompiledHost compiled =
        compile_host(test::calling_halve(argc > 1 ? argv[1] : "1."), test::sample_prelude, objects);
    std::printf("value %g\ncompiles %d\nobject_from_disk %d\n",
                static_cast<double>(compiled.image->function<float(float)>("call")(8)), host_compile_count(),
                compiled.report.objects.size() == 2 && compiled.report.objects[1].from == ObjectReport::From::disk);
    return 0;
  } catch (const std::exception &error) {
    std::printf("error %s\n", error.what());
    return 1;
  }
}
