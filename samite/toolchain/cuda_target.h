// The names of NVRTC's targets: "sm_80", "sm_90a" and "sm_100f" for machine code, "compute_80" for PTX, which a driver
// compiles for its own device of that capability or a later one.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace samite {

struct CudaTarget {
  int capability = 0;  // 90 for 9.0
  bool ptx = false;
  bool one_device = false;  // "a": code only for this capability
  bool family = false;      // "f": for this capability and later ones of the same major version

  // Whether a device of the capability runs the code.
  bool runs_on(int device) const {
    if (ptx) return device >= capability;
    return one_device ? device == capability : device / 10 == capability / 10 && device >= capability;
  }
};

// Empty for an invalid name.
inline std::optional<CudaTarget> cuda_target(std::string_view name) {
  constexpr int lowest = 10;
  CudaTarget target;
  target.ptx = name.starts_with("compute_");
  if (!target.ptx && !name.starts_with("sm_")) return std::nullopt;
  name.remove_prefix(target.ptx ? 8 : 3);
  target.one_device = name.ends_with('a');
  target.family = name.ends_with('f');
  if (target.one_device || target.family) {
    if (target.ptx) return std::nullopt;
    name.remove_suffix(1);
  }
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), target.capability);
  if (error != std::errc() || end != name.data() + name.size() || target.capability < lowest) return std::nullopt;
  return target;
}

}  // namespace samite
