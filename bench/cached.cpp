// How long a new process takes to get the code of a kernel that an earlier process has compiled. Peer: the same process
// with an empty cache.
//
// The program runs itself as that process, with --child: it then prints the milliseconds from the construction of the
// kernel to its recorded launch, forward and adjoint.
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "bench/support/shading.h"
#include "samite/toolchain/host_compiler.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>

using namespace samite;

namespace {

struct Times {
  double forward, adjoint;  // milliseconds
};

int child() {
  bench::Scene scene(64, 5);
  // The kernel is captured again for the adjoint, so that each time is that of a process that requests one of them.
  double forward = bench::seconds([&] { scene.record(bench::shading(bench::usual_ambient), Direction::forward); });
  double adjoint = bench::seconds([&] { scene.record(bench::shading(bench::usual_ambient), Direction::adjoint); });
  fmt::print("{}\n",
             nlohmann::json{{"forward", forward * 1e3}, {"adjoint", adjoint * 1e3}, {"compiles", host_compile_count()}}
                 .dump());
  return 0;
}

Times run_child(const bench::CacheFolder &cache, int compiles) {
  cache.use();
  std::string command = fmt::format("'{}' --child", std::filesystem::read_symlink("/proc/self/exe").string());
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot start " + command);
  std::array<char, 256> line{};
  if (!std::fgets(line.data(), line.size(), pipe.get())) throw std::runtime_error(command + " printed nothing");
  auto answer = nlohmann::json::parse(line.data());
  if (answer["compiles"] != compiles)
    throw std::runtime_error(
        fmt::format("the process compiled {} times, not {}", answer["compiles"].get<int>(), compiles));
  return {answer["forward"], answer["adjoint"]};
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--child") return child();
  return bench::run("cached", [](bench::Report &report) {
    bench::CacheFolder filled;
    run_child(filled, 2);
    std::vector<double> forward, adjoint, forward_empty, adjoint_empty;
    for (int round = 0; round < 20; ++round) {
      Times cached = run_child(filled, 0);
      forward.push_back(cached.forward), adjoint.push_back(cached.adjoint);
      bench::CacheFolder empty;
      Times compiled = run_child(empty, 2);
      forward_empty.push_back(compiled.forward), adjoint_empty.push_back(compiled.adjoint);
    }
    report.add({"forward, first of the process", "time from kernel to launch", bench::median(forward), "ms",
                "the same, empty cache", bench::median(forward_empty)},
               {.value_at_most = 5});
    report.add({"adjoint, second of the process", "time from kernel to launch", bench::median(adjoint), "ms",
                "the same, empty cache", bench::median(adjoint_empty)},
               {.value_at_most = 5});
  });
}
