// A device's primary context, which CUDA's runtime and frameworks also use.
//
// A handle: copies name the same context, which is retained while any of them lives and released after the last.
// Objects made in a context keep it alive.
//
// Every function may be called from any thread, whatever context is current there: this context is made current for the
// call, and the caller's context is restored when it returns.
//
// A context that has met a fault is lost: asynchronous work in it failed, and the driver answers every later call with
// the same code. The first such code is reported with the launches that may have caused it; see DriverError.
#pragma once

#include "samite/driver/captures.h"
#include "samite/driver/driver.h"
#include "samite/driver/launch_history.h"

#include <array>
#include <memory>
#include <string>

namespace samite::driver {

// The limits of launches on the device, from its attributes.
struct LaunchLimits {
  std::array<unsigned, 3> grid, block;
  unsigned threads_per_block;
  unsigned shared_bytes;         // of a block, without asking
  unsigned shared_bytes_opt_in;  // of a block whose kernel asks for more
  unsigned shared_bytes_of_multiprocessor;
  int multiprocessors;
  bool clusters;
  int compute_capability;  // 90 for 9.0
};

class Context {
 public:
  // The primary context of the driver's device number `device`. DriverError with the code invalid_device if there is no
  // such device.
  static Context primary(std::shared_ptr<const Driver> driver, int device);

  const Driver &driver() const noexcept;
  const std::shared_ptr<const Driver> &shared_driver() const noexcept;
  int device() const noexcept;  // its number
  CUdevice raw_device() const noexcept;
  CUcontext raw() const noexcept;
  std::string to_string() const;  // "cuda:0"

  int attribute(DeviceAttribute attribute) const;
  const LaunchLimits &limits() const noexcept;

  // Waits until all work of the context has completed. DriverError if some of it failed.
  void synchronize() const;

  // Lets kernels and copies of this context access the memory of `peer`. No effect if they already can. DeviceError if
  // the hardware cannot.
  void enable_peer_access(const Context &peer) const;

  // True once a call has met a fault.
  bool lost() const;

  // Calls the driver with this context current; DriverError unless it succeeds.
  template <Entry entry, class... Arguments>
  void call(Arguments... arguments) const {
    call_for<entry>(Origin{}, arguments...);
  }

  // The same; errors name the purpose of the call.
  template <Entry entry, class... Arguments>
  void call_for(const Origin &origin, Arguments... arguments) const {
    const Result code = try_call<entry>(arguments...);
    if (code != Result::success) [[unlikely]]
      fail(entry, code, {Argument(arguments)...}, origin);
  }

  // The same, but returns the code to the caller.
  template <Entry entry, class... Arguments>
  Result try_call(Arguments... arguments) const {
    const Current current(*this);
    return current.code() == Result::success ? driver().template try_call<entry>(arguments...) : current.code();
  }

  // The same for calls that free or end something: the call is made even if the context cannot be made current, since
  // the object knows its context, and nothing else frees it.
  template <Entry entry, class... Arguments>
  Result try_call_anyway(Arguments... arguments) const {
    const Current current(*this);
    return driver().template try_call<entry>(arguments...);
  }

  // For destructors: a code other than success becomes a warning, unless the context is lost, which an error has
  // already reported.
  template <Entry entry, class... Arguments>
  void release(Arguments... arguments) const noexcept {
    const Result code = try_call_anyway<entry>(arguments...);
    if (code != Result::success) [[unlikely]]
      warn_of_release(entry, code);
  }

  // Throws the error that `code` means: a fault of earlier work, with the launches that may have caused it, or a failed
  // call.
  [[noreturn]] void fail(Entry entry, Result code, std::initializer_list<Argument> arguments,
                         const Origin &origin = {}) const;

  // Launches recorded in `history` are named when the context meets a fault.
  void remember(std::string stream_name, const std::shared_ptr<LaunchHistory> &history) const;

  Captures &captures() const noexcept;
  // The driver's number of the capture in which `stream` takes part, or 0. DriverError.
  std::uint64_t capture_of(CUstream stream) const;

  friend bool operator==(const Context &, const Context &) = default;

 private:
  // Makes the context current in this thread during its lifetime.
  class Current {
   public:
    explicit Current(const Context &context) noexcept;
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
    ~Current();

    Result code() const noexcept { return code_; }

   private:
    const EntryPoints &table_;
    Result code_;
    bool pushed_ = false;
  };

  struct State;
  explicit Context(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void warn_of_release(Entry entry, Result code) const noexcept;

  std::shared_ptr<State> state_;
};

}  // namespace samite::driver
