#include "samite/driver/copy.h"

namespace samite::driver {

void copy_to_device(const Stream &stream, CUdeviceptr target, const void *source, std::size_t bytes,
                    const Origin &origin) {
  if (bytes == 0) return;
  stream.context().call_for<Entry::MemcpyHtoDAsync>(origin, target, source, bytes, stream.raw());
}

void copy_to_host(const Stream &stream, void *target, CUdeviceptr source, std::size_t bytes, const Origin &origin) {
  if (bytes == 0) return;
  stream.context().call_for<Entry::MemcpyDtoHAsync>(origin, target, source, bytes, stream.raw());
}

void copy_on_device(const Stream &stream, CUdeviceptr target, CUdeviceptr source, std::size_t bytes,
                    const Origin &origin) {
  if (bytes == 0) return;
  stream.context().call_for<Entry::MemcpyDtoDAsync>(origin, target, source, bytes, stream.raw());
}

void copy_between_devices(const Stream &stream, const Context &target_context, CUdeviceptr target,
                          const Context &source_context, CUdeviceptr source, std::size_t bytes, const Origin &origin) {
  if (bytes == 0) return;
  stream.context().call_for<Entry::MemcpyPeerAsync>(origin, target, target_context.raw(), source, source_context.raw(),
                                                    bytes, stream.raw());
}

void fill_bytes(const Stream &stream, CUdeviceptr target, std::uint8_t value, std::size_t bytes, const Origin &origin) {
  if (bytes == 0) return;
  stream.context().call_for<Entry::MemsetD8Async>(origin, target, value, bytes, stream.raw());
}

void fill_words(const Stream &stream, CUdeviceptr target, std::uint32_t value, std::size_t count,
                const Origin &origin) {
  if (count == 0) return;
  stream.context().call_for<Entry::MemsetD32Async>(origin, target, value, count, stream.raw());
}

}  // namespace samite::driver
