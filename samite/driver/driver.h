// The CUDA driver: a table of its entry points.
//
// The driver's library is opened at run time, so Samite also runs without one. A program that already has the entry
// points (a framework with its own adapter, a test with a fake) provides a table.
//
// A Driver is immutable; every function may be called from any thread. Handles (Context, Stream, …) keep their driver
// alive.
#pragma once

#include "samite/driver/argument_text.h"
#include "samite/driver/entry_points.h"
#include "samite/driver/error.h"

#include <initializer_list>
#include <memory>
#include <string>

namespace samite::driver {

class Driver {
 public:
  // The process's driver: the provided one, or else the machine's, opened at the first call. DeviceError if there is
  // none or it cannot be used; a later call tries again.
  static std::shared_ptr<const Driver> system();

  // From now on system() returns this driver; null restores the machine's own. Existing handles keep theirs.
  static void provide(std::shared_ptr<const Driver> driver);

  // Opens `library` (as dlopen takes it) and initialises the driver in it. DeviceError if the library is missing or is
  // no CUDA driver, or if the driver is too old or lacks a required function; DriverError if it does not start, with
  // the code no_device if it sees no GPU. The library stays open for the rest of the process.
  static std::shared_ptr<const Driver> open(const std::string &library = "libcuda.so.1");

  // The driver behind `table`, initialised; errors as for open().
  static std::shared_ptr<const Driver> from(const EntryPoints &table);

  const EntryPoints &table() const noexcept { return table_; }
  int version() const noexcept { return version_; }  // 12040 is 12.4

  template <Entry entry>
  bool has() const noexcept {
    return EntryTraits<entry>::pointer(table_) != nullptr;
  }

  // Calls the driver. DeviceError if the function is optional and this driver lacks it.
  template <Entry entry, class... Arguments>
  Result try_call(Arguments... arguments) const {
    const auto function = EntryTraits<entry>::pointer(table_);
    if constexpr (EntryTraits<entry>::need == Need::optional)
      if (function == nullptr) fail_missing(entry);
    return function(arguments...);
  }

  // The same; DriverError unless it succeeds.
  template <Entry entry, class... Arguments>
  void call(Arguments... arguments) const {
    const Result code = try_call<entry>(arguments...);
    if (code != Result::success) [[unlikely]]
      fail(entry, code, {Argument(arguments)...});
  }

  [[noreturn]] void fail(Entry entry, Result code, std::initializer_list<Argument> arguments,
                         const Origin &origin = {}) const;
  [[noreturn]] void fail_missing(Entry entry) const;

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered", in the driver's words.
  std::string describe(Result code) const;

 private:
  Driver(const EntryPoints &table, int version) : table_(table), version_(version) {}

  EntryPoints table_;
  int version_;
};

// "12.4" for 12040.
std::string version_text(int version);

}  // namespace samite::driver
