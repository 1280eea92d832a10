// For parts of the library that keep something for each CUDA device: they let go of it when all devices are forgotten.
#pragma once

namespace samite {

// From now on CudaDevice::forget_all() calls `release` first. Once for each function; thread-safe.
void when_devices_are_forgotten(void (*release)() noexcept);

}  // namespace samite
