#include "samite/runtime/cuda_device.h"

#include "samite/base/error.h"
#include "samite/driver/device_info.h"
#include "samite/driver/launch.h"
#include "samite/runtime/cuda_ptx.h"
#include "samite/runtime/forgotten_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace samite {
namespace {

struct Registry {
  std::mutex mutex;
  std::shared_ptr<const driver::Driver> driver;  // the driver of `devices`
  std::vector<std::shared_ptr<const CudaDevice>> devices;
};

struct Releases {
  std::mutex mutex;
  std::vector<void (*)() noexcept> functions;
};

Releases &releases() {
  static Releases releases;
  return releases;
}

// Never destroyed: at process exit the driver may be unloaded before this library's statics.
Registry &registry() {
  static Registry &instance = *new Registry;
  return instance;
}

}  // namespace

std::shared_ptr<const CudaDevice> CudaDevice::of(int index) {
  auto driver = driver::Driver::system();
  Registry &known = registry();
  std::lock_guard lock(known.mutex);
  if (known.driver != driver) {
    known.devices.clear();
    known.driver = driver;
  }
  for (const auto &device : known.devices)
    if (device->index() == index) return device;
  const int count = driver::device_count(*driver);
  if (index < 0 || index >= count)
    throw DeviceError(fmt::format("using cuda:{}", index),
                      count == 0 ? std::string("there is no CUDA device")
                                 : fmt::format("there is no such device: the driver has {}, cuda:0{}", count,
                                               count == 1 ? "" : fmt::format(" to cuda:{}", count - 1)));
  const driver::DeviceInfo info = driver::device_info(*driver, index);
  if (!info.memory_pools)
    throw DeviceError("using " + info.to_string(), "the device has no memory pools, which Samite allocates from");
  known.devices.push_back(std::make_shared<CudaDevice>(driver::Context::primary(driver, index)));
  return known.devices.back();
}

int CudaDevice::count() noexcept {
  try {
    return driver::device_count(*driver::Driver::system());
  } catch (const std::exception &) {
    return 0;
  }
}

void when_devices_are_forgotten(void (*release)() noexcept) {
  const std::lock_guard lock(releases().mutex);
  releases().functions.push_back(release);
}

void CudaDevice::forget_all() noexcept {
  {
    const std::lock_guard lock(releases().mutex);
    for (void (*const release)() noexcept : releases().functions) release();
  }
  Registry &known = registry();
  std::lock_guard lock(known.mutex);
  known.devices.clear();
  known.driver.reset();
}

CudaDevice::CudaDevice(const driver::Context &context)
    : context_(context),
      pool_(driver::MemoryPool::create(context)),
      tensor_maps_(std::make_unique<driver::TensorMapCache>(context)),
      standard_stream_(std::make_shared<CudaStream>(driver::Stream::create(context))) {
  pool_.keep(std::numeric_limits<std::uint64_t>::max());
}

driver::Kernel CudaDevice::own_kernel(const std::string &(*ptx)(), const char *name) const {
  std::lock_guard lock(mutex_);
  for (const driver::Kernel &kernel : own_kernels_)
    if (std::strcmp(kernel.name(), name) == 0) return kernel;
  const std::string &text = ptx();
  const auto image = std::as_bytes(std::span(text.c_str(), text.size() + 1));
  own_kernels_.push_back(driver::Library::load(context_, image).kernel(name));
  return own_kernels_.back();
}

std::shared_ptr<void> CudaDevice::kept_by_jit(const std::function<std::shared_ptr<void>()> &make) const {
  std::lock_guard lock(mutex_);
  if (!kept_by_jit_) kept_by_jit_ = make();
  return kept_by_jit_;
}

driver::Kernel CudaDevice::set_condition_kernel() const { return own_kernel(condition_ptx, "samite_set_condition"); }

driver::Kernel CudaDevice::nothing_kernel() const { return own_kernel(nothing_ptx, "samite_nothing"); }

void CudaDevice::had_no_room_for_cluster(int blocks) const noexcept {
  int most = largest_cluster();
  while (blocks <= most && !largest_cluster_.compare_exchange_weak(most, blocks - 1)) {
  }
}

void CudaDevice::copy_strided(const driver::Stream &stream, const StridedCopy &copy) const {
  static_assert(sizeof(StridedCopy) == 128 && offsetof(StridedCopy, count) == 112);
  const driver::Kernel kernel = own_kernel(strided_copy_ptx, "samite_copy_strided");
  driver::LaunchShape shape;
  shape.block = {256, 1, 1};
  const std::uint64_t blocks = (copy.count + 255) / 256;
  shape.grid = {static_cast<unsigned>(std::min<std::uint64_t>(blocks, 1u << 20)), 1, 1};
  StridedCopy parameter = copy;
  void *parameters[] = {&parameter};
  driver::launch(stream, kernel, shape, parameters, {});
}

}  // namespace samite
