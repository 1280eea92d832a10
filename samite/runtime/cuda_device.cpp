#include "samite/runtime/cuda_device.h"

#include "samite/base/error.h"
#include "samite/driver/device_info.h"
#include "samite/driver/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace samite {
namespace {

struct Registry {
  std::mutex mutex;
  std::shared_ptr<const driver::Driver> driver;  // that `devices` are of
  std::vector<std::shared_ptr<const CudaDevice>> devices;
};

// Never destroyed: at the end of the process the driver may be gone before the statics of this library.
Registry &registry() {
  static Registry &instance = *new Registry;
  return instance;
}

// PTX, which the driver compiles for any device, so that copying needs no toolkit.
std::string strided_copy_ptx() {
  std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry samite_copy_strided(.param .align 8 .b8 copy[128]) {
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<5>;
  .reg .b64 %index, %step, %count, %rest, %at, %extent, %stride, %to, %from, %bytes, %value;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  cvt.u64.u32 %index, %r3;
  mad.wide.u32 %index, %r1, %r2, %index;
  mul.wide.u32 %step, %r4, %r2;
  ld.param.u64 %count, [copy+112];
  ld.param.u64 %bytes, [copy+120];
next:
  setp.ge.u64 %p1, %index, %count;
  @%p1 bra done;
  mov.u64 %rest, %index;
  mov.u64 %to, 0;
  mov.u64 %from, 0;
)";
  for (int d = 3; d >= 0; --d)
    text += fmt::format(R"(  ld.param.u64 %extent, [copy+{}];
  rem.u64 %at, %rest, %extent;
  div.u64 %rest, %rest, %extent;
  ld.param.u64 %stride, [copy+{}];
  mad.lo.s64 %to, %at, %stride, %to;
  ld.param.u64 %stride, [copy+{}];
  mad.lo.s64 %from, %at, %stride, %from;
)",
                        16 + 8 * d, 48 + 8 * d, 80 + 8 * d);
  text += R"(  ld.param.u64 %value, [copy];
  mad.lo.s64 %to, %to, %bytes, %value;
  ld.param.u64 %value, [copy+8];
  mad.lo.s64 %from, %from, %bytes, %value;
  add.u64 %index, %index, %step;
)";
  struct Size {
    int bytes;
    const char *type, *value;
  };
  for (const Size &size : {Size{4, "u32", "%r1"}, Size{8, "u64", "%value"}, Size{2, "u16", "%h1"}})
    text += fmt::format(R"(  setp.ne.u64 %p1, %bytes, {0};
  @%p1 bra not{0};
  ld.global.{1} {2}, [%from];
  st.global.{1} [%to], {2};
  bra next;
not{0}:
)",
                        size.bytes, size.type, size.value);
  return text + R"(  ld.global.u8 %h1, [%from];
  st.global.u8 [%to], %h1;
  bra next;
done:
  ret;
}
)";
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

void CudaDevice::forget_all() noexcept {
  Registry &known = registry();
  std::lock_guard lock(known.mutex);
  known.devices.clear();
  known.driver.reset();
}

CudaDevice::CudaDevice(const driver::Context &context)
    : context_(context),
      pool_(driver::MemoryPool::create(context)),
      standard_stream_(std::make_shared<CudaStream>(driver::Stream::create(context))) {
  pool_.keep(std::numeric_limits<std::uint64_t>::max());
}

void CudaDevice::copy_strided(const driver::Stream &stream, const StridedCopy &copy) const {
  static_assert(sizeof(StridedCopy) == 128 && offsetof(StridedCopy, count) == 112);
  driver::Kernel kernel = [&] {
    std::lock_guard lock(mutex_);
    if (!strided_copy_) {
      const std::string ptx = strided_copy_ptx();
      auto image = std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1));
      strided_copy_ = driver::Library::load(context_, image).kernel("samite_copy_strided");
    }
    return *strided_copy_;
  }();
  driver::LaunchShape shape;
  shape.block = {256, 1, 1};
  const std::uint64_t blocks = (copy.count + 255) / 256;
  shape.grid = {static_cast<unsigned>(std::min<std::uint64_t>(blocks, 1u << 20)), 1, 1};
  StridedCopy parameter = copy;
  void *parameters[] = {&parameter};
  driver::launch(stream, kernel, shape, parameters);
}

}  // namespace samite
