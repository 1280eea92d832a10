// Copies and fills, in stream order.
//
// Each returns when the work is enqueued. Host memory must not change until the work has completed; if it is not
// pinned, the driver may wait for the copy here. Copying 0 bytes does nothing. Every function may be called from any
// thread. DriverError names `origin`.
#pragma once

#include "samite/driver/stream.h"

#include <cstddef>
#include <cstdint>

namespace samite::driver {

void copy_to_device(const Stream &stream, CUdeviceptr target, const void *source, std::size_t bytes,
                    const Origin &origin = {});
void copy_to_host(const Stream &stream, void *target, CUdeviceptr source, std::size_t bytes, const Origin &origin = {});
// Within the stream's device.
void copy_on_device(const Stream &stream, CUdeviceptr target, CUdeviceptr source, std::size_t bytes,
                    const Origin &origin = {});
// Between two devices, with or without peer access; the stream belongs to either.
void copy_between_devices(const Stream &stream, const Context &target_context, CUdeviceptr target,
                          const Context &source_context, CUdeviceptr source, std::size_t bytes,
                          const Origin &origin = {});

void fill_bytes(const Stream &stream, CUdeviceptr target, std::uint8_t value, std::size_t bytes,
                const Origin &origin = {});
// `target` is aligned to 4 bytes; `count` words of 4 bytes.
void fill_words(const Stream &stream, CUdeviceptr target, std::uint32_t value, std::size_t count,
                const Origin &origin = {});

}  // namespace samite::driver
