#include "samite/driver/driver.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

namespace samite::driver {
namespace {

struct SystemDriver {
  std::mutex mutex;
  std::shared_ptr<const Driver> driver;
};

SystemDriver &system_driver() {
  static SystemDriver instance;
  return instance;
}

std::string with_remedy(std::string message, Result code) {
  const std::string_view remedy = remedy_of(code);
  if (!remedy.empty()) message += fmt::format("\n{}", remedy);
  return message;
}

// The function that returns the version may itself be missing.
int version_of(const EntryPoints &table) {
  int version = 0;
  const Result code = table.DriverGetVersion != nullptr ? table.DriverGetVersion(&version) : Result::success;
  if (code != Result::success)
    throw DriverError(
        code,
        with_remedy(fmt::format("cuDriverGetVersion() failed: {} ({})", name_of(code), static_cast<int>(code)), code));
  return version;
}

void require_version(int version) {
  if (version >= oldest_usable_version()) return;
  const std::string found = version > 0 ? "supports CUDA " + version_text(version) : "does not tell its version";
  throw DeviceError(
      fmt::format("the CUDA driver is too old: it {}, and Samite needs CUDA {} or newer. "
                  "Update the NVIDIA driver; the toolkit need not change.",
                  found, version_text(oldest_usable_version())));
}

void require_functions(const EntryPoints &table, int version) {
  std::string missing;
  for_each_missing(table, [&](Entry entry) {
    if (!info(entry).required()) return;
    missing += fmt::format("{}{} (since {})", missing.empty() ? "" : ", ", info(entry).symbol,
                           version_text(info(entry).version));
  });
  if (missing.empty()) return;
  throw DeviceError(
      fmt::format("the CUDA driver, version {}, lacks functions that Samite needs, although its version "
                  "should have them: {}. The driver's installation is damaged, or the table that was "
                  "handed in is not filled.",
                  version_text(version), missing));
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::shared_ptr<const Driver> Driver::system() {
  SystemDriver &system = system_driver();
  std::lock_guard lock(system.mutex);
  if (system.driver == nullptr) system.driver = open();
  return system.driver;
}

void Driver::provide(std::shared_ptr<const Driver> driver) {
  SystemDriver &system = system_driver();
  std::lock_guard lock(system.mutex);
  system.driver = std::move(driver);
}

std::shared_ptr<const Driver> Driver::from(const EntryPoints &table) {
  const int version = version_of(table);
  require_version(version);
  require_functions(table, version);

  const std::shared_ptr<const Driver> driver(new Driver(table, version));
  if (const Result code = table.Init(0); code != Result::success)
    throw DriverError(code, with_remedy("starting the CUDA driver, version " + version_text(version) +
                                            ": cuInit(flags=0) failed: " + driver->describe(code),
                                        code));
  return driver;
}

std::string Driver::describe(Result code) const {
  const char *name = nullptr, *text = nullptr;
  // The driver leaves the pointers null for an unknown code.
  table_.GetErrorName(code, &name);
  table_.GetErrorString(code, &text);
  const std::string_view known = name_of(code);
  return fmt::format("{} ({}){}{}",
                     name != nullptr ? name
                     : known.empty() ? "unknown error"
                                     : known,
                     static_cast<int>(code), text != nullptr ? ": " : "", text != nullptr ? text : "");
}

void Driver::fail(Entry entry, Result code, std::initializer_list<Argument> arguments, const Origin &origin) const {
  throw DriverError(code, with_remedy(fmt::format("{}{}({}) failed: {}", origin.prefix(), info(entry).symbol,
                                                  arguments_text(info(entry).parameters, arguments), describe(code)),
                                      code));
}

void Driver::fail_missing(Entry entry) const {
  throw DeviceError(info(entry).symbol,
                    fmt::format("this needs a driver for CUDA {} or newer, and the one here is for CUDA {}. "
                                "Update the NVIDIA driver.",
                                version_text(info(entry).version), version_text(version_)));
}

}  // namespace samite::driver
