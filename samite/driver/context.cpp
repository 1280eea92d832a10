#include "samite/driver/context.h"

#include "samite/base/warning.h"
#include "samite/driver/fault.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

namespace samite::driver {

namespace {

LaunchLimits read_limits(const Driver &driver, CUdevice device) {
  const auto read = [&](DeviceAttribute attribute) {
    int value = 0;
    driver.call<Entry::DeviceGetAttribute>(&value, attribute, device);
    return static_cast<unsigned>(value);
  };
  using enum DeviceAttribute;
  return {.grid = {read(max_grid_x), read(max_grid_y), read(max_grid_z)},
          .block = {read(max_block_x), read(max_block_y), read(max_block_z)},
          .threads_per_block = read(max_threads_per_block),
          .shared_bytes = read(max_shared_memory_per_block),
          .shared_bytes_opt_in = read(max_shared_memory_per_block_optin),
          .shared_bytes_of_multiprocessor = read(max_shared_memory_per_multiprocessor),
          .multiprocessors = static_cast<int>(read(multiprocessor_count)),
          .clusters = read(cluster_launch) != 0,
          .compute_capability = static_cast<int>(10 * read(compute_capability_major) + read(compute_capability_minor))};
}

}  // namespace

struct Context::State {
  State(std::shared_ptr<const Driver> from, int number) : driver(std::move(from)), device(number) {
    driver->call<Entry::DeviceGet>(&raw_device, device);
    limits = read_limits(*driver, raw_device);
    driver->call<Entry::DevicePrimaryCtxRetain>(&raw, raw_device);
  }
  State(const State &) = delete;
  State &operator=(const State &) = delete;
  ~State() {
    const Result code = driver->try_call<Entry::DevicePrimaryCtxRelease>(raw_device);
    if (code != Result::success && code != Result::deinitialized && !faults.met())
      warn_once("release cuda",
                fmt::format("releasing the context of cuda:{} failed: {}", device, driver->describe(code)));
  }

  std::shared_ptr<const Driver> driver;
  int device;
  CUdevice raw_device = 0;
  CUcontext raw = nullptr;
  LaunchLimits limits{};
  FaultLog faults;
  Captures captures;
};

Context Context::primary(std::shared_ptr<const Driver> driver, int device) {
  // All handles of a device share one state, so that a fault seen through one of them is known to all.
  static std::mutex mutex;
  static std::map<std::pair<const Driver *, int>, std::weak_ptr<State>> states;

  std::lock_guard lock(mutex);
  std::erase_if(states, [](const auto &state) { return state.second.expired(); });
  const std::pair key{driver.get(), device};
  // A state keeps its driver alive. A live state therefore belongs to this driver, not to an earlier one at its
  // address.
  if (const auto known = states.find(key); known != states.end())
    if (std::shared_ptr<State> state = known->second.lock()) return Context(std::move(state));
  auto state = std::make_shared<State>(std::move(driver), device);
  states.insert_or_assign(key, state);
  return Context(std::move(state));
}

const Driver &Context::driver() const noexcept { return *state_->driver; }
const std::shared_ptr<const Driver> &Context::shared_driver() const noexcept { return state_->driver; }
int Context::device() const noexcept { return state_->device; }
CUdevice Context::raw_device() const noexcept { return state_->raw_device; }
CUcontext Context::raw() const noexcept { return state_->raw; }
std::string Context::to_string() const { return fmt::format("cuda:{}", state_->device); }
const LaunchLimits &Context::limits() const noexcept { return state_->limits; }
Captures &Context::captures() const noexcept { return state_->captures; }
bool Context::lost() const { return state_->faults.met(); }

int Context::attribute(DeviceAttribute attribute) const {
  int value = 0;
  call<Entry::DeviceGetAttribute>(&value, attribute, raw_device());
  return value;
}

void Context::synchronize() const {
  const FaultLog::Mark before = state_->faults.mark();
  call<Entry::CtxSynchronize>();
  state_->faults.completed(before);
}

void Context::enable_peer_access(const Context &peer) const {
  int possible = 0;
  call<Entry::DeviceCanAccessPeer>(&possible, raw_device(), peer.raw_device());
  if (possible == 0)
    throw DeviceError(
        fmt::format("{} cannot reach the memory of {}: the hardware has no path between them. Copy through "
                    "a copy call instead, which the driver routes over the host.",
                    to_string(), peer.to_string()));
  const Result code = try_call<Entry::CtxEnablePeerAccess>(peer.raw(), 0u);
  if (code != Result::success && code != Result::peer_access_already_enabled)
    fail(Entry::CtxEnablePeerAccess, code, {peer.raw(), 0u});
}

void Context::fail(Entry entry, Result code, std::initializer_list<Argument> arguments, const Origin &origin) const {
  if (kind_of(code) == ResultKind::call) driver().fail(entry, code, arguments, origin);
  const std::string call =
      fmt::format("{}{}({})", origin.prefix(), info(entry).symbol, arguments_text(info(entry).parameters, arguments));
  throw DriverError(code, state_->faults.report(to_string(), code, driver().describe(code), call));
}

void Context::remember(std::string stream_name, const std::shared_ptr<LaunchHistory> &history) const {
  state_->faults.watch(std::move(stream_name), history);
}

std::uint64_t Context::capture_of(CUstream stream) const {
  CaptureStatus status = CaptureStatus::none;
  std::uint64_t id = 0;
  const Result code = try_call<Entry::StreamGetCaptureInfo>(stream, &status, &id, static_cast<CUgraph *>(nullptr),
                                                            static_cast<const CUgraphNode **>(nullptr),
                                                            static_cast<std::size_t *>(nullptr));
  // The legacy default stream cannot be captured, and another stream of this context is being captured.
  if (code == Result::stream_capture_implicit) return 0;
  if (code != Result::success) fail(Entry::StreamGetCaptureInfo, code, {stream});
  return status == CaptureStatus::active ? id : 0;
}

void Context::warn_of_release(Entry entry, Result code) const noexcept {
  // At the end of the process, the driver may be unloaded before the last handle is destroyed.
  if (code == Result::deinitialized || lost()) return;
  warn_once(info(entry).symbol,
            fmt::format("{} failed: {}", info(entry).symbol,
                        kind_of(code) == ResultKind::call
                            ? driver().describe(code)
                            : state_->faults.report(to_string(), code, driver().describe(code), info(entry).symbol)));
}

Context::Current::Current(const Context &context) noexcept : table_(context.driver().table()) {
  CUcontext current = nullptr;
  code_ = table_.CtxGetCurrent(&current);
  if (code_ != Result::success || current == context.raw()) return;
  code_ = table_.CtxPushCurrent(context.raw());
  pushed_ = code_ == Result::success;
}

Context::Current::~Current() {
  CUcontext popped = nullptr;
  if (pushed_) table_.CtxPopCurrent(&popped);
}

}  // namespace samite::driver
