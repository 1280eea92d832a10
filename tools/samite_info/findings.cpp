#include "tools/samite_info/findings.h"

#include "samite/base/error.h"
#include "samite/driver/device_info.h"
#include "samite/jit/target.h"
#include "samite/runtime/device.h"
#include "samite/toolchain/clang_plugin_loader.h"
#include "samite/toolchain/host_target.h"
#include "samite/toolchain/nvrtc.h"
#include "samite/toolchain/object_cache.h"
#include "samite/toolchain/run_nvrtc.h"

#include <fmt/format.h>

#include <functional>

namespace samite::info {
namespace {

// Joins the lines of a message into one: a line that has no punctuation at its end gets a full stop.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      if (c != ' ' || !line.ends_with(' ')) line += c;
    } else if (!line.empty()) {
      line += line.find_last_of(".:;,") == line.size() - 1 ? " " : ". ";
    }
  }
  return line;
}

// The result of `find`, or the error that it throws.
Finding finding(const std::string &what, const std::function<std::string()> &find) {
  try {
    return {what, find(), ""};
  } catch (const Error &error) {
    return {what, "", one_line(error.what())};
  }
}

void add_cuda(std::vector<Finding> &all) {
  std::shared_ptr<const driver::Driver> driver;
  std::vector<driver::DeviceInfo> devices;
  all.push_back(finding("CUDA driver", [&] {
    driver = driver::Driver::system();
    devices = list_devices(*driver);
    return "for CUDA " + driver::version_text(driver->version());
  }));
  for (const driver::DeviceInfo &device : devices) {
    const std::string text = device.to_string();
    const jit::Target target = jit::Target::of(device.compute_capability);
    const std::string untried =
        target.has_been_run() ? "" : fmt::format("; kernels for {} compile, but have not been run", target.name());
    all.push_back({text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1) + untried, ""});
  }
  all.push_back(finding("NVRTC", [] { return nvrtc().version.text() + ", " + nvrtc().path; }));
  if (!nvrtc_is_open() || devices.empty()) return;
  // The driver and NVRTC work by themselves; this checks that they fit together.
  const Finding matching = finding("NVRTC for this driver and its devices", [&] {
    require_driver_for_nvrtc(driver->version());
    for (const driver::DeviceInfo &device : devices)
      require_nvrtc_knows("sm_" + std::to_string(device.compute_capability));
    return std::string();
  });
  if (!matching.missing.empty()) all.push_back(matching);
}

std::string cache_text() {
  const std::shared_ptr<ObjectCache> cache = object_cache();
  if (cache->limit_bytes() == 0) return "switched off";
  if (const auto refusal = cache->refusal()) throw UserError("not used: " + *refusal);
  const ObjectCache::Usage usage = cache->usage();
  constexpr double megabyte = 1 << 20;
  return fmt::format("{}: {} entries, {:.1f} MB of at most {:.0f} MB", cache->folder().string(), usage.entries,
                     static_cast<double>(usage.bytes) / megabyte, static_cast<double>(cache->limit_bytes()) / megabyte);
}

}  // namespace

std::vector<Finding> findings() {
  std::vector<Finding> all;
  all.push_back(finding(
      "cpu", [] { return fmt::format("{}, vectors of {} bytes", Device::cpu().name(), host_target().vector_bytes); }));
  all.push_back(finding("CPU compiler", [] {
    clang_plugin();
    return clang_plugin_file();
  }));
  add_cuda(all);
  all.push_back(finding("kernel cache", cache_text));
  return all;
}

}  // namespace samite::info
