// From the driver's handles to the fake's objects.
#include "tests/driver/fake/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver::fake {
namespace {

template <class T, class Handle>
T *checked(const Registry<T> &registry, Handle handle, const char *what) {
  T *object = reinterpret_cast<T *>(handle);
  if (!registry.has(object)) {
    state().mistake(fmt::format("{} is no {}", static_cast<const void *>(handle), what), Result::invalid_handle);
    return nullptr;
  }
  if (object->destroyed) {
    state().mistake(fmt::format("the {} is used after it was destroyed", what), Result::invalid_handle);
    return nullptr;
  }
  return object;
}

template <class T>
T *of_current_context(T *object, const char *what) {
  if (object == nullptr) return nullptr;
  // Calls that destroy, free or end objects find the context themselves.
  if (state().running == Entry::StreamDestroy || state().running == Entry::MemFreeAsync ||
      state().running == Entry::StreamEndCapture)
    return object;
  if (context_stack().empty() || context_stack().back() != object->context) {
    state().mistake(fmt::format("the {} is of device {}, whose context is not current", what, object->context->device),
                    Result::invalid_context);
    return nullptr;
  }
  return object;
}

}  // namespace

std::vector<Context *> &context_stack() {
  thread_local std::vector<Context *> stack;
  thread_local const State *of = nullptr;
  if (of != &state()) {  // an earlier fake's
    stack.clear();
    of = &state();
  }
  return stack;
}

Context *current() {
  Context *context = context_stack().empty() ? nullptr : context_stack().back();
  if (context == nullptr) {
    state().mistake("no context is current", Result::invalid_context);
    return nullptr;
  }
  if (context->retained == 0) {
    state().mistake(fmt::format("the context of device {} was released", context->device), Result::invalid_context);
    return nullptr;
  }
  return context;
}

Stream *use(CUstream handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    const Context *context = current();
    return context != nullptr ? state().default_streams[static_cast<std::size_t>(context->device)] : nullptr;
  }
  return of_current_context(checked(state().streams, handle, "stream"), "stream");
}

Event *use(CUevent handle) { return checked(state().events, handle, "event"); }
Pool *use(CUmemoryPool handle) { return checked(state().pools, handle, "memory pool"); }
Library *use(CUlibrary handle) { return checked(state().libraries, handle, "library"); }
Graph *use(CUgraph handle) { return checked(state().graphs, handle, "graph"); }
GraphExec *use(CUgraphExec handle) { return checked(state().executables, handle, "graph executable"); }

Kernel *use(CUkernel handle) {
  Kernel *kernel = reinterpret_cast<Kernel *>(handle);
  for (const auto &library : state().libraries)
    for (const auto &entry : library->kernels)
      if (entry.second.get() == kernel) {
        if (!library->destroyed) return kernel;
        state().mistake(fmt::format("kernel \"{}\" is used after its library was unloaded", entry.first),
                        Result::invalid_handle);
        return nullptr;
      }
  state().mistake("this is no kernel", Result::invalid_handle);
  return nullptr;
}

}  // namespace samite::driver::fake
