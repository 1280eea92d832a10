// A CUDA driver without a GPU, for tests of everything that runs on the host.
//
// It fills a table of entry points. Device memory is host memory, kernels are C++ functions, and work runs when it is
// put into its stream; the fake tracks order and ownership. It enforces the driver's rules, also where the real driver
// would let a mistake pass or crash later: the use of destroyed or freed objects, a double free, the wrong context,
// work that is not ordered after work that it needs. Each such mistake, and every object not released at the end, is a
// failure of the test that owns the fake.
//
// One fake exists at a time. Its functions may be called from any thread.
#pragma once

#include "samite/driver/driver.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace samite::driver::fake {

struct Options {
  int version = 12080;
  int devices = 2;
  std::size_t device_bytes = std::size_t{1} << 26;  // of each device
  int compute_capability = 90;
  unsigned largest_cluster = 16;  // blocks that the device has room for
};

// A kernel of the fake: its computation, from the addresses of its parameters in the driver's call.
struct KernelCode {
  std::string name;
  std::vector<std::size_t> parameter_bytes{};
  std::vector<std::size_t> pointers{};  // which parameters are device addresses that it reads or writes
  std::function<void(void **parameters)> run = [](void **) {};
  unsigned shared_bytes = 0;  // that it has of its own
  // Sees each launch as requested, before it runs or is captured.
  std::function<void(const LaunchConfig &config)> asked = [](const LaunchConfig &) {};
};

struct State;

// Whether this thread is inside a call of the fake, for programs with failing allocations: a driver's own allocations
// never throw.
bool in_a_call() noexcept;

class FakeDriver {
 public:
  explicit FakeDriver(const Options &options = {});
  FakeDriver(const FakeDriver &) = delete;
  FakeDriver &operator=(const FakeDriver &) = delete;
  // Fails the test for each mistake and each leak.
  ~FakeDriver();

  EntryPoints table() const;
  std::shared_ptr<const Driver> driver() const { return Driver::from(table()); }

  // An image for cuLibraryLoadData.
  std::vector<std::byte> image(std::vector<KernelCode> kernels);

  // From now on PTX and machine code that have an entry of this name load as this kernel: the fake runs neither.
  void understand(const KernelCode &kernel);

  // The next call of `entry`, after `after` more of them, does nothing and returns `code`.
  void fail(Entry entry, Result code, int after = 0);
  // The call of this number, counted from 1 since the last forget_calls(), returns `code`. It does nothing except
  // release what it was to release. A fault, and the loss of the device, affect all later calls in the context, too.
  void fail_call(std::size_t number, Result code);
  // For a kernel's function: its context has a fault, which the calls after the launch see.
  void fault(Result code);
  // For a kernel's function: sets the value of a graph's condition.
  void set_condition(CUgraphConditionalHandle handle, unsigned value);
  // The device's memory reports this much as free from now on, as if others used it.
  void leave_free(std::size_t bytes);
  // Like code of the same process that resets the device behind everyone's back.
  void reset_device(int device);

  std::vector<std::string> calls() const;  // names, in order, since the start or the last forget_calls()
  int count(const std::string &name) const;
  void forget_calls();
  // The mistakes so far, which then no longer count as failures.
  std::vector<std::string> take_mistakes();
  // The kinds of objects that exist, e.g. "stream", "event".
  std::vector<std::string> alive() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace samite::driver::fake
