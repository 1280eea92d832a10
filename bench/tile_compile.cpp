// How long a kernel with a product of tiles takes from C++ to code that is ready to be loaded: forward alone; forward
// and the adjoints of both factors, at the same time, as `record_with_adjoint` has them; and after an edit of the
// kernel that leaves the product as it was. Every time is a new process's, which opens its compilers; on the CPU and
// for CUDA, which takes NVRTC and nvJitLink but no GPU. Peer: the other of two that a user may choose between, which is
// named.
//
// The program runs itself as the new process, with --child.
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "samite/jit/at_once.h"
#include "samite/samite.h"
#include "samite/toolchain/cuda_libraries.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

using namespace samite;

namespace {

struct Shape {
  std::int64_t rows, columns, inner;
  bool narrow;  // factors of bfloat16, else of float

  std::string to_string() const { return fmt::format("{}x{}x{} {}", rows, columns, inner, narrow ? "bf16" : "f32"); }
};

// Rows, columns, terms.
constexpr Shape small{8, 8, 4, false}, large{128, 128, 32, true};
constexpr std::array shapes{
    small, Shape{32, 32, 16, false}, Shape{64, 64, 32, false}, Shape{64, 64, 32, true}, Shape{128, 64, 32, true},
    large};

template <class T>
auto product(const Shape &shape, float factor) {
  return TileKernel{"product", [=](Array<const T, 2> a, Array<const T, 2> b, Array<float, 2> c) {
                      auto [i, j] = block_index<2>();
                      Tile<float> sum = tile::zeros<float>({shape.rows, shape.columns});
                      const Int steps = tile::ceil_div(a.extent(1), static_cast<int>(shape.inner));
                      for (Int k : range(steps))
                        tile::matmul(tile::load(a, {i, k}, {shape.rows, shape.inner}),
                                     tile::load(b, {k, j}, {shape.inner, shape.columns}), sum);
                      tile::store(c, {i, j}, sum * factor);
                    }};
}

std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) << 10;
}

// What a child is asked for, as its arguments.
struct Task {
  Shape shape;
  int cuda;  // a compute capability, or 0: the CPU
  bool adjoints;
  float factor;
};

template <class T>
int child(const Task &task) {
  constexpr std::uint64_t a = 1, b = 2, c = 4;
  const std::size_t before = peak_memory();
  KernelReport found;
  const double seconds = bench::seconds([&] {
    const auto kernel = product<T>(task.shape, task.factor);
    const jit::VariantKey forward{.unit_stride = a | b | c, .cuda = task.cuda, .aligned = a | b | c};
    jit::VariantKey adjoint = forward;
    adjoint.direction = Direction::adjoint;
    adjoint.active = a | b | c;
    std::vector<std::function<void()>> compiles{[&] { kernel.definition()->variant(forward); }};
    if (task.adjoints) compiles.emplace_back([&] { kernel.definition()->variant(adjoint); });
    jit::at_once(compiles);
    found = report(kernel);
  });
  std::size_t bytes = 0;
  for (const ReportedVariant &variant : found.variants) bytes += variant.image_bytes;
  fmt::print("{}\n", nlohmann::json{{"milliseconds", seconds * 1e3},
                                    {"bytes", bytes},
                                    {"memory", peak_memory() - before},
                                    {"compiles", host_compile_count() + cuda_compile_count()}}
                         .dump());
  return 0;
}

int child(char **argv) {
  const auto number = [&](int i) { return std::stoi(argv[i]); };
  const Task task{shapes.at(static_cast<std::size_t>(number(0))), number(1), number(2) != 0, std::stof(argv[3])};
  return task.shape.narrow ? child<bfloat16>(task) : child<float>(task);
}

struct Result {
  double milliseconds, bytes, memory;
  int compiles;
};

Result run_child(std::size_t shape, int cuda, bool adjoints, float factor) {
  const std::string command =
      fmt::format("'{}' --child {} {} {} {}", std::filesystem::read_symlink("/proc/self/exe").string(), shape, cuda,
                  adjoints ? 1 : 0, factor);
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  if (!pipe || !std::fgets(line.data(), line.size(), pipe.get()))
    throw std::runtime_error(command + " printed nothing");
  const auto answer = nlohmann::json::parse(line.data());
  return {answer["milliseconds"], answer["bytes"], answer["memory"], answer["compiles"]};
}

struct Series {
  std::vector<double> milliseconds, bytes, memory;

  void add(const Result &result) {
    milliseconds.push_back(result.milliseconds);
    bytes.push_back(result.bytes);
    memory.push_back(result.memory);
  }
};

// The numbers of texts that are compiled: the kernel's and its objects'.
void require_compiles(const Result &result, int expected) {
  if (result.compiles != expected)
    throw std::runtime_error(fmt::format("the process compiled {} texts, not {}", result.compiles, expected));
}

struct Measured {
  Series forward, full, edited;
};

// On the CPU the device code that all kernels of a machine share is precompiled first, once for all of them.
Measured measure(std::size_t shape, int cuda, int rounds) {
  Measured measured;
  const auto prepared = [&] {
    auto folder = std::make_unique<bench::CacheFolder>();
    folder->use();
    if (cuda == 0) run_child((shape + 1) % shapes.size(), cuda, false, 7);
    return folder;
  };
  for (int round = 0; round < rounds; ++round) {
    {
      const auto folder = prepared();
      const Result forward = run_child(shape, cuda, false, 2);
      require_compiles(forward, 2);
      measured.forward.add(forward);
      const Result edited = run_child(shape, cuda, false, 3);
      require_compiles(edited, 1);
      measured.edited.add(edited);
    }
    const auto folder = prepared();
    const Result full = run_child(shape, cuda, true, 2);
    require_compiles(full, 5);
    measured.full.add(full);
  }
  return measured;
}

void report_target(bench::Report &report, const char *target, int cuda) {
  struct Reach {
    double forward = 0, full = 0, edited = 0;
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const bool is_small = i == 0, is_large = i + 1 == shapes.size();
    const Reach reach = is_small ? Reach{250, 500, 100} : is_large ? Reach{500, 1200, 150} : Reach{};
    const Measured found = measure(i, cuda, is_small || is_large ? 5 : 3);
    const std::string name = fmt::format("{}, {}", shapes.at(i).to_string(), target);
    const double forward = bench::median(found.forward.milliseconds), full = bench::median(found.full.milliseconds);
    report.add({name + ": forward", "compile time, empty cache", forward, "ms", "forward and both adjoints", full},
               {.value_at_most = reach.forward, .ratio_at_least = 1});
    if (is_small || is_large) {
      report.add({name + ": forward and both adjoints", "compile time, empty cache", full, "ms", "forward", forward},
                 {.value_at_most = reach.full});
      report.add({name + ": kernel edited", "compile time, objects kept", bench::median(found.edited.milliseconds),
                  "ms", "empty cache", forward},
                 {.value_at_most = reach.edited});
    }
    report.add({name + ": forward", "image", bench::median(found.forward.bytes), "B", "forward and both adjoints",
                bench::median(found.full.bytes)},
               {.ratio_at_least = 1});
    report.add({name + ": forward", "peak memory of the compilers", bench::median(found.forward.memory) / 1e6, "MB",
                "forward and both adjoints", bench::median(found.full.memory) / 1e6},
               {.ratio_at_least = 1});
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 6 && std::string_view(argv[1]) == "--child") return child(argv + 2);
  return bench::run("tile_compile", [](bench::Report &report) {
    report_target(report, "CPU", 0);
    try {
      nvjitlink();
    } catch (const DeviceError &error) {
      return report.note("no CUDA: " + std::string(error.what()));
    }
    report_target(report, "sm_90a", 90);
  });
}
