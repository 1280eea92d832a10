// How long a kernel with a product of tiles takes from C++ to loadable code: forward alone; forward and the adjoints of
// both factors, concurrently, as `record_with_adjoint` compiles them; and after an edit of the kernel that leaves the
// product unchanged. Every time is a new process's, which opens its compilers; on the CPU and for CUDA, which takes
// NVRTC but no GPU. Peer: a named alternative that a user may choose. The same for larger programs: products by warp
// groups, attention, decompositions.
//
// The program runs itself as the new process, with --child.
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "samite/jit/at_once.h"
#include "samite/jit/definition.h"
#include "samite/jit/target.h"
#include "samite/ops/attention.h"
#include "samite/ops/attention_kernels.h"
#include "samite/ops/matmul_by_type.h"
#include "samite/samite.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/nvrtc.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
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

using Definition = std::shared_ptr<jit::KernelDefinition>;

// A = L U in place of A, for each block a matrix of 4 x 4 tiles, without row exchanges: columns of a tile on the
// diagonal one after another, then those right of it and below, and the rest minus their products.
constexpr int lu_tile = 32, lu_tiles = 4;

// Both factors of a tile: below the diagonal those of L, whose diagonal is ones.
Tile<float> lu_of_tile(Tile<float> a) {
  const Tile<int> row = tile::coordinate({lu_tile, lu_tile}, 0), column = tile::coordinate({lu_tile, lu_tile}, 1);
  for (Int j : range(lu_tile)) {
    const Tile<float> of_row = tile::sum(select(row == j, a, 0.0f), {0}),
                      of_column = tile::sum(select(column == j, a, 0.0f), {1}),
                      pivot = tile::sum(select(column == j, of_row, 0.0f), {1});
    const Tile<float> factors = of_column / pivot;
    a = select(row > j && column > j, a - factors * of_row, select(row > j && column == j, factors, a));
  }
  return a;
}

const TileKernel blocked_lu{
    "blocked_lu", {"a"}, [](Array<float, 3> a) {
      const Int matrix = block_index();
      const auto at = [&](const Int &i, const Int &j) { return tile::load(a, {matrix, i, j}, {lu_tile, lu_tile}); };
      const Tile<int> row = tile::coordinate({lu_tile, lu_tile}, 0), column = tile::coordinate({lu_tile, lu_tile}, 1);
      for (Int k : range(lu_tiles)) {
        const Tile<float> both = lu_of_tile(at(k, k));
        tile::store(a, {matrix, k, k}, both);
        const Tile<float> lower = select(row == column, 1.0f, both);
        for (Int j : range(k + 1, lu_tiles)) {
          tile::store(a, {matrix, k, j}, tile::solve_triangular(lower, at(k, j)));
          // X U = A is Uᵀ Xᵀ = Aᵀ.
          const Tile<float> below =
              tile::solve_triangular(both, tile::transpose(at(j, k)), {.upper = true, .transposed = true});
          tile::store(a, {matrix, j, k}, tile::transpose(below));
        }
        for (Int i : range(k + 1, lu_tiles))
          for (Int j : range(k + 1, lu_tiles)) {
            Tile<float> product = tile::zeros<float>({lu_tile, lu_tile});
            tile::matmul(at(i, k), at(k, j), product);
            tile::store(a, {matrix, i, j}, at(i, j) - product);
          }
      }
    }};

// For a matrix that needs no row exchanges.
void require_factors() {
  constexpr int n = lu_tile * lu_tiles;
  std::vector<float> values;
  for (int i = 0; i < n * n; ++i)
    values.push_back(static_cast<float>((i * 37 + 11) % 101) / 101.0f + (i % (n + 1) == 0 ? n : 0));
  const Buffer<float> a(Device::cpu(), {1, n, n}, values);
  blocked_lu.launch({1}, a);
  const std::vector<float> both = a.to_vector();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k <= std::min(i, j); ++k)
        sum += (k == i ? 1.0 : static_cast<double>(both[static_cast<std::size_t>(i * n + k)])) *
               static_cast<double>(both[static_cast<std::size_t>(k * n + j)]);
      bench::require_close(sum, static_cast<double>(values[static_cast<std::size_t>(i * n + j)]), 1e-3,
                           "an element of L U");
    }
}

// Solves a symmetric system for each block.
const TileKernel cholesky_solve{
    "cholesky_solve", {"x", "a", "b"}, [](Array<double, 2> x, Array<const double, 2> a, Array<const double, 2> b) {
      Int i = block_index();
      const Tile<double> l = tile::cholesky(tile::load(a, {i, 0}, {32, 32}));
      const Tile<double> y = tile::solve_triangular(l, tile::load(b, {i, 0}, {32, 1}));
      tile::store(x, {i, 0}, tile::solve_triangular(l, y, {.transposed = true}));
    }};

constexpr ops::PlanDevice h200{90, 132};
constexpr ops::MatmulShape cube{1, 8192, 8192, 8192};

// Heads of 64. A user's version, in tiles of 64 by 64; and the library's version for that GPU.
template <class T>
Definition attention() {
  return ops::detail::AttentionKernels<T>::forward(
             {.queries = 64, .keys = 64, .size = 64, .threads = 128, .causal = true, .stages = 2})
      .definition();
}
constexpr ops::AttentionShape heads{2, 16, 4096, 64, 4096};
Definition planned_attention() { return ops::attention_launch(ScalarType::BFloat16, heads, true, h200).kernel; }
std::vector<Definition> attention_adjoint() {
  const auto own = ops::attention_adjoint_launches(ScalarType::BFloat16, heads, true, h200);
  return {own.row_products.kernel, own.of_queries.kernel, own.of_keys.kernel};
}

// Programs of the library and their derived adjoints. Milliseconds; 0: no target, or not requested.
struct Program {
  const char *name;
  Definition (*make)();
  double forward, full;
  bool gathered = false;                           // the adjoint, in wide windows
  std::vector<Definition> (*adjoint)() = nullptr;  // kernels instead of the derived one
};
const Program programs[] = {
    {"128x256x64 bf16 by groups of warps",
     [] { return ops::matmul_launch({ScalarType::BFloat16, {ScalarType::BFloat16}}, cube, h200).kernel; }, 600, 1500,
     true},
    {"e4m3 scaled by blocks, GELU",
     [] {
       return ops::scaled_matmul_launch({ScalarType::Float8E4M3,
                                         ScalarType::Float8E4M3,
                                         {ops::ScaleGroup::one, ops::ScaleGroup::block},
                                         {ops::ScaleGroup::block, ops::ScaleGroup::block},
                                         {ScalarType::BFloat16, ops::Activation::gelu},
                                         {.b = true}},
                                        cube, h200)
           .kernel;
     },
     800, 0},
    {"causal attention, 64 x 64 tiles, heads of 64, f32", attention<float>, 600, 1500},
    {"causal attention, 64 x 64 tiles, heads of 64, bf16", attention<bfloat16>, 600, 1500},
    {"causal attention by groups of warps, heads of 64, bf16", planned_attention, 600, 1500, false, attention_adjoint},
    {"blocked LU 128x128 f32", [] { return blocked_lu.definition(); }, 700, 0},
    {"Cholesky and solve 32x32 f64", [] { return cholesky_solve.definition(); }, 0, 500},
};

std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) << 10;
}

// The file with the text that a program's forward kernel is compiled from, for `child_of_text`.
std::filesystem::path text_file() { return std::filesystem::path(std::getenv("SAMITE_CACHE_DIR")) / "text.cu"; }

void answer(double seconds, std::size_t bytes, std::size_t memory) {
  fmt::print("{}\n", nlohmann::json{{"milliseconds", seconds * 1e3},
                                    {"bytes", bytes},
                                    {"memory", memory},
                                    {"compiles", host_compile_count() + cuda_compile_count()}}
                         .dump());
}

// The same text compiled by NVRTC alone.
int child_of_text(int cuda) {
  std::stringstream text;
  text << std::ifstream(text_file()).rdbuf();
  std::size_t bytes = 0;
  const double seconds = bench::seconds([&] {
    const CudaSource source{.name = "one", .text = text.str()};
    bytes = jit::Target::of(cuda).compile(source).report.image_bytes;
  });
  answer(seconds, bytes, 0);
  return 0;
}

// For typical arrays of a launch: aligned, contiguous and disjoint, with tensor maps.
jit::VariantKey key_of(const jit::KernelDefinition &definition, int cuda) {
  std::uint64_t arrays = 0;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i)
    arrays |= std::uint64_t{definition.parameters()[i].is_array()} << i;
  return {
      .cuda = cuda,
      .arrays = {
          .unit_stride = arrays, .unaliased = arrays, .aligned = arrays, .whole_rows = arrays, .tensor_maps = arrays}};
}

// Compiles; the forward variant.
std::shared_ptr<const jit::Variant> child(const std::function<Definition()> &make, int cuda, bool adjoints,
                                          bool gathered,
                                          const std::function<std::vector<Definition>()> &own_adjoint = {}) {
  const std::size_t before = peak_memory();
  KernelReport found;
  std::shared_ptr<const jit::Variant> forward;
  const double seconds = bench::seconds([&] {
    const Definition definition = make();
    const jit::VariantKey key = key_of(*definition, cuda);
    jit::VariantKey adjoint = key;
    adjoint.direction = Direction::adjoint;
    adjoint.derivative.gather = adjoint.derivative.wide_windows = gathered;
    for (std::size_t i = 0; i < definition->parameters().size(); ++i)
      if (const ir::Parameter &parameter = definition->parameters()[i]; parameter.is_array())
        adjoint.derivative.active |= std::uint64_t{is_floating(parameter.type)} << i;
    std::vector<std::function<void()>> compiles{[&] { forward = definition->variant(key); }};
    const std::vector<Definition> kernels = adjoints && own_adjoint ? own_adjoint() : std::vector<Definition>();
    for (const Definition &kernel : kernels)
      compiles.emplace_back([&kernel, cuda] { kernel->variant(key_of(*kernel, cuda)); });
    if (adjoints && kernels.empty()) compiles.emplace_back([&] { definition->variant(adjoint); });
    jit::at_once(compiles);
    found = jit::report(*definition);
  });
  std::size_t bytes = 0;
  for (const ReportedVariant &variant : found.variants) bytes += variant.image_bytes;
  answer(seconds, bytes, peak_memory() - before);
  return forward;
}

void keep_text(const jit::Variant &forward) {
  std::ofstream text(text_file());
  text << forward.text.source;
}

// A child's arguments: a shape or, after those, a program; a compute capability, or 0, which is the CPU; 1 for the
// adjoints too, 2 for the text of a program that was compiled before; and a factor.
int child(char **argv) {
  const auto number = [&](int i) { return std::stoi(argv[i]); };
  const auto index = static_cast<std::size_t>(number(0));
  const int cuda = number(1);
  if (number(2) == 2) return child_of_text(cuda);
  const bool adjoints = number(2) != 0;
  const float factor = std::stof(argv[3]);
  if (index >= shapes.size()) {
    const Program &program = programs[index - shapes.size()];
    const auto forward = child(program.make, cuda, adjoints, program.gathered, program.adjoint);
    if (!adjoints) keep_text(*forward);
    return 0;
  }
  const Shape &shape = shapes.at(index);
  const auto make = [&] {
    return shape.narrow ? product<bfloat16>(shape, factor).definition() : product<float>(shape, factor).definition();
  };
  child(make, cuda, adjoints, false);
  return 0;
}

struct Result {
  double milliseconds, bytes, memory;
  int compiles;
};

Result run_child(std::size_t index, int cuda, int what, float factor) {
  const std::string command = fmt::format(
      "'{}' --child {} {} {} {}", std::filesystem::read_symlink("/proc/self/exe").string(), index, cuda, what, factor);
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

// The numbers of texts that are compiled: the kernel's and, on the CPU, its objects'.
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
    if (cuda == 0) run_child((shape + 1) % shapes.size(), cuda, 0, 7);
    return folder;
  };
  for (int round = 0; round < rounds; ++round) {
    {
      const auto folder = prepared();
      const Result forward = run_child(shape, cuda, 0, 2);
      require_compiles(forward, cuda == 0 ? 2 : 1);
      measured.forward.add(forward);
      const Result edited = run_child(shape, cuda, 0, 3);
      require_compiles(edited, 1);
      measured.edited.add(edited);
    }
    const auto folder = prepared();
    const Result full = run_child(shape, cuda, 1, 2);
    require_compiles(full, cuda == 0 ? 5 : 2);
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

void report_programs(bench::Report &report, const char *target, int cuda) {
  for (std::size_t i = 0; i < std::size(programs); ++i) {
    const Program &program = programs[i];
    std::vector<double> forward, text, full;
    for (int round = 0; round < 3; ++round) {
      const bench::CacheFolder folder, another;
      folder.use();
      forward.push_back(run_child(shapes.size() + i, cuda, 0, 0).milliseconds);
      text.push_back(run_child(shapes.size() + i, cuda, 2, 0).milliseconds);
      another.use();
      if (program.full != 0) full.push_back(run_child(shapes.size() + i, cuda, 1, 0).milliseconds);
    }
    const std::string name = fmt::format("{}, {}: ", program.name, target);
    report.add({name + "forward", "compile time, empty cache", bench::median(forward), "ms", "NVRTC on the same text",
                bench::median(text)},
               {.value_at_most = program.forward, .ratio_at_least = 1 / 1.05});
    if (!full.empty())
      report.add({name + "forward and adjoint", "compile time, empty cache", bench::median(full), "ms", "forward",
                  bench::median(forward)},
                 {.value_at_most = program.full});
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 6 && std::string_view(argv[1]) == "--child") return child(argv + 2);
  return bench::run("tile_compile", [](bench::Report &report) {
    require_factors();
    report_target(report, "CPU", 0);
    try {
      nvrtc();
    } catch (const DeviceError &error) {
      return report.note("no CUDA: " + std::string(error.what()));
    }
    report_target(report, "sm_90a", 90);
    report_programs(report, "sm_90a", 90);
  });
}
