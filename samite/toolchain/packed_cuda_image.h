// A compiled CUDA image in the cache or an archive: the length of the compiler's log on its own line, the log, the
// code.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace samite {

struct PackedCudaImage {
  std::string_view code, log;  // within the packed bytes
};

inline std::string packed_cuda_image(std::string_view code, std::string_view log) {
  return std::to_string(log.size()) + "\n" + std::string(log) + std::string(code);
}

// Empty if packed_cuda_image did not make the bytes.
inline std::optional<PackedCudaImage> unpacked_cuda_image(std::string_view bytes) {
  std::size_t log_bytes = 0;
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const char *const end = bytes.data() + line;  // NOLINT(bugprone-suspicious-stringview-data-usage): with its end
  const auto [after, error] = std::from_chars(end - line, end, log_bytes);
  if (error != std::errc() || after != end) return std::nullopt;
  const std::size_t from = line + 1;
  if (log_bytes > bytes.size() - from) return std::nullopt;
  return PackedCudaImage{bytes.substr(from + log_bytes), bytes.substr(from, log_bytes)};
}

}  // namespace samite
