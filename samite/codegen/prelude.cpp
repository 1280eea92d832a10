#include "samite/codegen/prelude.h"

#include "samite/base/error.h"
#include "samite/base/lines.h"
#include "samite/codegen/embedded.h"
#include "samite/ir/visit.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>
#include <vector>

namespace samite::codegen {
namespace {

bool has_device_header(std::string_view path) {
  return std::ranges::any_of(embedded_device_headers(), [&](const EmbeddedFile &file) { return file.path == path; });
}

const EmbeddedFile &embedded_file(std::string_view path) {
  for (const EmbeddedFile &file : embedded_device_headers())
    if (file.path == path) return file;
  throw InternalError(fmt::format("the library holds no device header {}", path));
}

bool is_include(std::string_view line) { return line.starts_with("#include"); }

// The header without its #include lines: the joined text has the included headers.
void append(std::string &text, std::string_view header) {
  while (!header.empty()) {
    const std::string_view line = take_line(header);
    if (!is_include(line) && !line.starts_with("#pragma once")) text.append(line).push_back('\n');
  }
}

// CUDA's headers, each once, after those that it includes.
class CudaHeaders {
 public:
  // `intrinsics`: the replacement of the headers that are not C++; empty: keeps them.
  explicit CudaHeaders(std::string_view intrinsics) : intrinsics_(intrinsics) { add(std::string(intrinsics_path)); }

  void add(const std::string &path) {
    if (std::ranges::find(added_, path) != added_.end()) return;
    added_.push_back(path);
    const std::string_view header = embedded_file(path).text;
    for (std::string_view rest = header; !rest.empty();) {
      if (const std::string_view line = take_line(rest); is_include(line)) add(included(line));
    }
    const bool own = path == intrinsics_path || path.starts_with(sm90_intrinsics);
    if (intrinsics_.empty() || !own)
      append(text_, header);
    else if (path == intrinsics_path)
      append(text_, intrinsics_);
  }

  std::string take() { return std::move(text_); }

 private:
  static constexpr std::string_view intrinsics_path = "samite/device/cuda/intrinsics.h";
  static constexpr std::string_view sm90_intrinsics = "samite/device/cuda/sm90_";

  // Headers for all targets include the CPU's header even if CUDA has its own.
  static std::string included(std::string_view line) {
    const std::size_t begin = line.find('"') + 1;
    std::string path(line.substr(begin, line.find('"', begin) - begin));
    constexpr std::string_view cpu = "samite/device/cpu/";
    if (!path.starts_with(cpu)) return path;
    std::string own = "samite/device/cuda/" + path.substr(cpu.size());
    return has_device_header(own) ? own : path;
  }

  std::string_view intrinsics_;
  std::vector<std::string> added_;
  std::string text_;
};

constexpr std::string_view of_cuda[] = {"half",   "math",    "memory",    "atomic",
                                        "reduce", "channel", "workspace", "copy_array"};
constexpr std::string_view of_cuda_tiles[] = {
    "instance",     "fragments",        "cuda_load",         "cuda_cast",     "cuda_reduce",           "cuda_spread",
    "cuda_scan",    "cuda_matmul",      "cuda_multiply",     "cuda_cholesky", "cuda_triangular_solve", "cuda_sort",
    "cuda_fourier", "cuda_store_quads", "sm90_product_loop", "sm90_parts",    "sm90_prefetch"};

// The parts of the CPU's prelude, in this order, which replaces the headers' own #include lines: some headers are
// included once for each lane count.
template <class Header, class Line>
void for_each_part(int vector_bytes, bool with_tiles, int lanes, const Header &header, const Line &line) {
  for (std::string_view name :
       {"scalar", "float8", "half", "failure", "workspace", "math", "digamma", "libmvec", "atomic"})
    header("cpu", name);
  line(fmt::format("#define SAMITE_VECTOR_BYTES {}\n", vector_bytes));
  std::vector<int> lane_counts{vector_bytes / 4, vector_bytes / 8};
  if (4 * lanes > vector_bytes) lane_counts = {lanes};
  for (const int count : lane_counts) {
    line(fmt::format("#define SAMITE_LANES {0}\n#define SAMITE_LANES_NAMESPACE lanes{0}\n", count));
    for (std::string_view name :
         {"types", "mask", "memory", "half", "atomic", "sum_rows", "integer", "math", "check", "local_array"})
      header("cpu/lanes", name);
    line(
        "#undef SAMITE_LANES\n#undef SAMITE_LANES_NAMESPACE\n#undef SAMITE_EACH_LANE\n"
        "#undef SAMITE_FOR_EACH_ACTIVE\n");
  }
  if (!with_tiles) return;
  for (std::string_view name : {"steps", "cpu_matmul", "cpu_reduce", "scan_steps", "cpu_scan", "cpu_cholesky",
                                "cpu_triangular_solve", "sort_steps", "cpu_sort", "fourier_steps", "cpu_fourier"})
    header("tile", name);
}

const EmbeddedFile &device_file(std::string_view folder, std::string_view name) {
  return embedded_file(fmt::format("samite/device/{}/{}.h", folder, name));
}

}  // namespace

std::string cpu_prelude(int vector_bytes, bool with_tiles, int lanes) {
  std::string text;
  for_each_part(
      vector_bytes, with_tiles, lanes,
      [&](std::string_view folder, std::string_view name) { append(text, device_file(folder, name).text); },
      [&](std::string_view line) { text += line; });
  return text;
}

bool calls_tiles(const ir::Kernel &planned) {
  bool calls = false;
  ir::for_each_statement(planned.body, [&](const ir::Stmt &stmt) { calls = calls || stmt.as<ir::TileCall>(); });
  return calls;
}

Hash128 cpu_prelude_key(int vector_bytes, bool with_tiles, int lanes) {
  Hasher hasher;
  for_each_part(
      vector_bytes, with_tiles, lanes,
      [&](std::string_view folder, std::string_view name) { hasher.add(device_file(folder, name).hash); },
      [&](std::string_view line) { hasher.add(line); });
  return hasher.result();
}

const Declarations &cuda_declarations() {
  static const Declarations all(cuda_prelude_with({}));
  return all;
}

std::string cuda_prelude(std::string_view text) { return cuda_declarations().needed_by(text); }

std::string cuda_prelude_with(std::string_view intrinsics) {
  CudaHeaders headers(intrinsics);
  for (std::string_view name : of_cuda) headers.add(fmt::format("samite/device/cuda/{}.h", name));
  headers.add("samite/device/cpu/digamma.h");
  for (std::string_view name : of_cuda_tiles) headers.add(fmt::format("samite/device/tile/{}.h", name));
  return headers.take();
}

}  // namespace samite::codegen
