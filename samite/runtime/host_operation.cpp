#include "samite/runtime/host_operation.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/base/trace.h"
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/pinned_array.h"
#include "samite/runtime/transfer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>

namespace samite {
namespace {

std::atomic<HostOperationHandler> handler{nullptr};
constinit thread_local int plain_operations = 0;

// Row-major memory of the host.
Place host_place(void *memory, const Extents &extents) {
  return {static_cast<std::byte *>(memory), row_major_strides(extents), nullptr};
}

void *only_read(const void *values) { return const_cast<void *>(values); }

std::uint64_t bytes_of(const HostOperation &operation) {
  const AnyBuffer &buffer = operation.target.valid() ? operation.target : operation.source;
  return static_cast<std::uint64_t>(buffer.count()) * size_of(buffer.type());
}

// "copy from cpu to cuda:0"
std::string traced_operation(const HostOperation &operation) {
  const auto device = [](const AnyBuffer &buffer) { return buffer.device().to_string(); };
  switch (operation.kind) {
    case HostOperation::Kind::copy: return "copy from " + device(operation.source) + " to " + device(operation.target);
    case HostOperation::Kind::write: return "write to " + device(operation.target);
    case HostOperation::Kind::fill: return "fill on " + device(operation.target);
    case HostOperation::Kind::read: return "read from " + device(operation.source);
  }
  return "";
}

// In the stream that the operation names.
void run_pinned(const HostOperation &operation) {
  const bool writes = operation.kind == HostOperation::Kind::write;
  const AnyBuffer &buffer = writes ? operation.target : operation.source;
  const AnyPinnedArray &pinned = *operation.pinned;
  const Stream &stream = *operation.stream;
  const std::size_t bytes = static_cast<std::size_t>(buffer.count()) * size_of(buffer.type());
  if (bytes == 0) return;
  if (!stream.cuda()) {
    if (writes)
      std::memcpy(buffer.data(), pinned.bytes(), bytes);
    else
      std::memcpy(pinned.bytes(), buffer.data(), bytes);
    return;
  }
  buffer.storage()->cuda()->used_by(stream.cuda_handle());
  pinned.will_be_used_by(stream);
  at_call(operation.done, operation.where, [&] {
    const auto address = std::bit_cast<driver::CUdeviceptr>(buffer.data());
    if (writes)
      driver::copy_to_device(stream.cuda()->stream(), address, pinned.bytes(), bytes, {nullptr, operation.where});
    else
      driver::copy_to_host(stream.cuda()->stream(), pinned.bytes(), address, bytes, {nullptr, operation.where});
  });
  pinned.used_by(stream);
}

}  // namespace

HostOperation HostOperation::kept() const {
  HostOperation copy = *this;
  if (!values) return copy;
  const std::int64_t count = kind == Kind::fill ? 1 : target.count();
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(target.type());
  std::shared_ptr<std::byte[]> memory(new std::byte[std::max<std::size_t>(bytes, 1)]);
  std::memcpy(memory.get(), values, bytes);
  copy.values = memory.get();
  copy.own_values = std::move(memory);
  return copy;
}

void run(const HostOperation &operation) {
  using Kind = HostOperation::Kind;
  // First, since an operation that fails may have written a part.
  if (operation.kind != Kind::read) operation.target.mark_written();
  std::optional<TraceSpan> traced;
  if (is_tracing()) traced.emplace("buffer", traced_operation(operation), bytes_of(operation));
  if (operation.pinned) return run_pinned(operation);
  at_call(operation.done, operation.where, [&] {
    const AnyBuffer &target = operation.target, &source = operation.source;
    switch (operation.kind) {
      case Kind::copy: return copy_array(target.extents(), size_of(target.type()), place_of(target), place_of(source));
      case Kind::write:
        return copy_array(target.extents(), size_of(target.type()), place_of(target),
                          host_place(only_read(operation.values), target.extents()));
      case Kind::fill: return fill_array(target.extents(), size_of(target.type()), place_of(target), operation.values);
      case Kind::read:
        return copy_array(source.extents(), size_of(source.type()), host_place(operation.into, source.extents()),
                          place_of(source));
    }
  });
}

bool host_operations_are_handled() noexcept {
  return is_in_any_mode() && plain_operations == 0 && handler.load(std::memory_order_acquire) != nullptr;
}

void perform(const HostOperation &operation) {
  if (!host_operations_are_handled()) return run(operation);
  handler.load(std::memory_order_acquire)(operation);
}

void set_host_operation_handler(HostOperationHandler function) noexcept {
  handler.store(function, std::memory_order_release);
}

PlainHostOperations::PlainHostOperations() noexcept { ++plain_operations; }
PlainHostOperations::~PlainHostOperations() { --plain_operations; }

}  // namespace samite
