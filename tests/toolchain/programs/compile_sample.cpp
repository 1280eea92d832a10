// Compiles the sample kernel with the amount argv[1], runs it, and prints the events as "name value" lines. argv[2], if
// given, is the size in bytes of the largest file that this process may write, to simulate a full disk.
#include "samite/base/warning.h"
#include "tests/toolchain/sample_kernel.h"

#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char **argv) {
  using namespace samite;
  set_warning_sink(
      [](std::string_view text) { std::printf("warning %.*s\n", static_cast<int>(text.size()), text.data()); });
  if (argc > 2) {
    const rlim_t bytes = std::strtoull(argv[2], nullptr, 10);
    const rlimit limit{bytes, bytes};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  try {
    const CompiledHost compiled = compile_host(test::adding(argc > 1 ? argv[1] : "1."), test::sample_prelude);
    std::printf("sum %g\n", static_cast<double>(test::run_add(*compiled.image)));
    std::printf("from_cache %d\nprelude_was_precompiled %d\ncompiler_loaded %d\ncompiles %d\nmilliseconds %g\n",
                compiled.report.from_cache, compiled.report.prelude_was_precompiled, host_compiler_loaded(),
                host_compile_count(), compiled.report.times.total_ms);
    return 0;
  } catch (const std::exception &error) {
    std::printf("error %s\n", error.what());
    return 1;
  }
}
