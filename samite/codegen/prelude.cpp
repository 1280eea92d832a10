#include "samite/codegen/prelude.h"

#include "samite/base/error.h"
#include "samite/codegen/embedded.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

namespace samite::codegen {
namespace {

std::string_view device_header(std::string_view path) {
  for (const EmbeddedFile &file : embedded_device_headers())
    if (file.path == path) return file.text;
  throw InternalError(fmt::format("the library holds no device header {}", path));
}

// The order here stands in for the headers' own #include lines: some of them come once for each lane count.
void append(std::string &text, std::string_view header) {
  std::string_view rest = header;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.starts_with("#include") && !line.starts_with("#pragma once")) text.append(line).push_back('\n');
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

}  // namespace

std::string cpu_prelude(int vector_bytes) {
  std::string text;
  for (std::string_view name : {"scalar", "float8", "half", "failure", "workspace", "math", "libmvec", "atomic"})
    append(text, device_header(fmt::format("samite/device/cpu/{}.h", name)));
  text += fmt::format("#define SAMITE_VECTOR_BYTES {}\n", vector_bytes);
  for (int lanes : {vector_bytes / 4, vector_bytes / 8}) {
    text += fmt::format("#define SAMITE_LANES {0}\n#define SAMITE_LANES_NAMESPACE lanes{0}\n", lanes);
    for (std::string_view name :
         {"types", "mask", "memory", "half", "atomic", "sum_rows", "integer", "math", "check", "local_array"})
      append(text, device_header(fmt::format("samite/device/cpu/lanes/{}.h", name)));
    text +=
        "#undef SAMITE_LANES\n#undef SAMITE_LANES_NAMESPACE\n#undef SAMITE_EACH_LANE\n"
        "#undef SAMITE_FOR_EACH_ACTIVE\n";
  }
  for (std::string_view name : {"steps", "cpu_matmul", "cpu_reduce", "scan_steps", "cpu_scan", "cpu_cholesky",
                                "cpu_triangular_solve", "sort_steps", "cpu_sort", "fourier_steps", "cpu_fourier"})
    append(text, device_header(fmt::format("samite/device/tile/{}.h", name)));
  return text;
}

std::string cuda_prelude(bool tiles) {
  return cuda_prelude_with(device_header("samite/device/cuda/intrinsics.h"), tiles);
}

std::string cuda_prelude_with(std::string_view intrinsics, bool tiles) {
  std::string text;
  append(text, device_header("samite/device/cuda/scalar.h"));
  append(text, intrinsics);
  append(text, device_header("samite/device/cpu/float8.h"));
  for (std::string_view name : {"half", "math", "memory", "atomic", "reduce", "channel", "workspace"})
    append(text, device_header(fmt::format("samite/device/cuda/{}.h", name)));
  if (!tiles) return text;
  for (std::string_view name :
       {"steps", "rows", "fragments", "cuda_load", "cuda_spread", "cuda_multiply_threads", "cuda_multiply_matrices",
        "cuda_multiply", "cuda_matmul", "cuda_reduce", "scan_steps", "cuda_scan", "cuda_cholesky",
        "cuda_triangular_solve", "sort_steps", "cuda_sort", "fourier_steps", "cuda_fourier"})
    append(text, device_header(fmt::format("samite/device/tile/{}.h", name)));
  return text;
}

}  // namespace samite::codegen
