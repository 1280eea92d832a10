// The device headers as text in the library: emitted code includes them from memory, so that a program runs without
// Samite's source tree. The build generates the definition from samite/device/**/*.h.
#pragma once

#include <span>
#include <string_view>

namespace samite {

struct EmbeddedFile {
  std::string_view path;  // as it is included: "samite/device/cpu/math.h"
  std::string_view hash;  // of the text, made by the build
  std::string_view text;
};

// Every device header, sorted by path. The views live as long as the process. Thread-safe.
std::span<const EmbeddedFile> embedded_device_headers();

}  // namespace samite
