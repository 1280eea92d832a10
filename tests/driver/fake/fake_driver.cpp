#include "tests/driver/fake/fake_driver.h"

#include "tests/driver/fake/state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace samite::driver::fake {
namespace {

State *the_state = nullptr;
constexpr std::size_t arena_bytes = std::size_t{1} << 34;

thread_local int calls_of_thread = 0;

struct InACall {
  InACall() { ++calls_of_thread; }
  InACall(const InACall &) = delete;
  InACall &operator=(const InACall &) = delete;
  ~InACall() { --calls_of_thread; }
};

// Calls that a context which met a fault still answers: they do not touch it.
bool ignores_fault(Entry entry) {
  switch (entry) {
    case Entry::Init:
    case Entry::DriverGetVersion:
    case Entry::GetErrorName:
    case Entry::GetErrorString:
    case Entry::DeviceGetCount:
    case Entry::DeviceGet:
    case Entry::DeviceGetName:
    case Entry::DeviceGetAttribute:
    case Entry::DevicePrimaryCtxRelease:
    case Entry::CtxGetCurrent:
    case Entry::CtxPushCurrent:
    case Entry::CtxPopCurrent: return true;
    default: return false;
  }
}

// Objects are destroyed whatever the call returns.
bool destroys(Entry entry) {
  switch (entry) {
    case Entry::LibraryUnload:
    case Entry::StreamDestroy:
    case Entry::EventDestroy:
    case Entry::MemPoolDestroy:
    case Entry::MemFreeAsync:
    case Entry::MemFreeHost:
    case Entry::GraphDestroy:
    case Entry::GraphDestroyNode:
    case Entry::GraphExecDestroy: return true;
    default: return false;
  }
}

// The same for objects that a fault does not affect.
bool gives_back(Entry entry) {
  return destroys(entry) || entry == Entry::DevicePrimaryCtxRelease || entry == Entry::CtxPopCurrent;
}

// The context that the call is made in, if there is one.
Context *context_of_call() { return context_stack().empty() ? nullptr : context_stack().back(); }

bool takes_planned_failure(Entry entry, Result &code) {
  for (auto failure = state().failures.begin(); failure != state().failures.end(); ++failure) {
    if (failure->entry != entry || failure->after-- > 0) continue;
    code = failure->code;
    state().failures.erase(failure);
    return true;
  }
  return false;
}

// The call fails, but releases what it was to release.
template <Entry entry, auto implementation, class First, class... Rest>
void fail(First first, Rest... rest) {
  if (gives_back(entry)) implementation(first, rest...);
  if constexpr (entry == Entry::StreamEndCapture) abandon_capture(first);
}
template <Entry entry, auto implementation>
void fail() {}

// Common code around each call.
template <Entry entry, auto implementation, class... Arguments>
Result enter(Arguments... arguments) {
  std::lock_guard lock(state().mutex);
  const InACall in_a_call;
  state().calls.emplace_back(info(entry).symbol);
  state().running = entry;
  Result code = Result::success;
  if (takes_planned_failure(entry, code)) return code;
  if (state().calls.size() == state().failing_call) {
    if (kind_of(state().failing_code) != ResultKind::call && !ignores_fault(entry) &&
        entry != Entry::DevicePrimaryCtxRetain)
      for (const auto &context : state().primary)
        if (context.get() == context_of_call() || (context_of_call() == nullptr && context->retained > 0))
          context->fault = state().failing_code;
    fail<entry, implementation>(arguments...);
    return state().failing_code;
  }

  const Context *context = context_of_call();
  if (!ignores_fault(entry) && context != nullptr && context->fault != Result::success) {
    fail<entry, implementation>(arguments...);
    return context->fault;
  }
  return implementation(arguments...);
}

template <Entry entry, auto implementation, class Signature>
struct Hook;
template <Entry entry, auto implementation, class... Arguments>
struct Hook<entry, implementation, Result (*)(Arguments...)> {
  static constexpr auto pointer = &enter<entry, implementation, Arguments...>;
};

}  // namespace

State &state() { return *the_state; }

bool in_a_call() noexcept { return calls_of_thread > 0; }

FakeDriver::FakeDriver(const Options &options) : state_(std::make_unique<State>()) {
  EXPECT_EQ(the_state, nullptr) << "one fake driver exists at a time";
  state_->options = options;
  state_->arena = static_cast<std::byte *>(
      mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (int device = 0; device < options.devices; ++device) {
    state_->primary.push_back(std::make_unique<Context>());
    state_->primary.back()->device = device;
    Pool &pool = state_->pools.add();
    pool.device = device;
    pool.standard = true;
    state_->standard_pools.push_back(&pool);
    Stream &stream = state_->streams.add();
    stream.context = state_->primary.back().get();
    state_->default_streams.push_back(&stream);
  }
  the_state = state_.get();
}

FakeDriver::~FakeDriver() {
  for (const std::string &mistake : take_mistakes()) ADD_FAILURE() << mistake;
  for (const std::string &leak : alive()) ADD_FAILURE() << "never given back: " << leak;
  munmap(state_->arena, arena_bytes);
  the_state = nullptr;
}

EntryPoints FakeDriver::table() const {
  EntryPoints table;
#define SAMITE_FAKE(name, since, need, parameters) \
  if (since <= state_->options.version)            \
    table.name = Hook<Entry::name, &fake::name, decltype(EntryPoints::name)>::pointer;
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_FAKE)
#undef SAMITE_FAKE
  return table;
}

std::vector<std::byte> FakeDriver::image(std::vector<KernelCode> kernels) {
  std::lock_guard lock(state_->mutex);
  const std::string text = fmt::format("fake image {}", state_->images.size());
  state_->images.push_back(std::move(kernels));
  std::vector<std::byte> bytes(text.size() + 1);
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

void FakeDriver::understand(const KernelCode &kernel) {
  std::lock_guard lock(state_->mutex);
  state_->understood[kernel.name] = state_->images.size();
  state_->images.push_back({kernel});
}

void FakeDriver::fail(Entry entry, Result code, int after) {
  std::lock_guard lock(state_->mutex);
  state_->failures.push_back({entry, code, after});
}

void FakeDriver::fail_call(std::size_t number, Result code) {
  std::lock_guard lock(state_->mutex);
  state_->failing_call = number;
  state_->failing_code = code;
}

// Called by kernels, while their launch holds the lock.
void FakeDriver::fault(Result code) { state_->launching->fault = code; }
void FakeDriver::set_condition(CUgraphConditionalHandle handle, unsigned value) {
  state_->conditions.at(handle).value = value;
}

void FakeDriver::leave_free(std::size_t bytes) {
  std::lock_guard lock(state_->mutex);
  state_->kept_by_others = 0;
  state_->kept_by_others = state_->free_bytes(0) - bytes;
}

void FakeDriver::reset_device(int device) {
  std::lock_guard lock(state_->mutex);
  state_->primary[static_cast<std::size_t>(device)]->fault = Result::context_is_destroyed;
}

std::vector<std::string> FakeDriver::calls() const {
  std::lock_guard lock(state_->mutex);
  return state_->calls;
}

int FakeDriver::count(const std::string &name) const {
  const std::vector<std::string> all = calls();
  return static_cast<int>(std::count(all.begin(), all.end(), name));
}

void FakeDriver::forget_calls() {
  std::lock_guard lock(state_->mutex);
  state_->calls.clear();
  state_->failing_call = 0;
}

std::vector<std::string> FakeDriver::take_mistakes() {
  std::lock_guard lock(state_->mutex);
  return std::exchange(state_->mistakes, {});
}

std::vector<std::string> FakeDriver::alive() const {
  std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  const auto add = [&](const auto &objects, const char *name) {
    for (const auto &object : objects)
      if (!object->destroyed) names.emplace_back(name);
  };
  for (const auto &context : state_->primary)
    if (context->retained > 0) names.emplace_back(fmt::format("context of device {}", context->device));
  for (const auto &stream : state_->streams)
    if (!stream->destroyed && std::ranges::find(state_->default_streams, stream.get()) == state_->default_streams.end())
      names.emplace_back("stream");
  add(state_->events, "event");
  add(state_->libraries, "library");
  for (const auto &pool : state_->pools)
    if (!pool->destroyed && !pool->standard) names.emplace_back("memory pool");
  for (const auto &[address, allocation] : state_->allocations)
    if (!allocation.freed) names.emplace_back(fmt::format("{} bytes of device memory", allocation.bytes));
  for (const auto &memory : state_->pinned)
    if (!state_->freed_pinned.contains(memory.first)) names.emplace_back("pinned memory");
  for (const auto &graph : state_->graphs)
    if (!graph->destroyed && !graph->owned_by_node) names.emplace_back("graph");
  add(state_->executables, "graph executable");
  return names;
}

}  // namespace samite::driver::fake
