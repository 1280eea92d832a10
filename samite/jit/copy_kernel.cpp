#include "samite/jit/copy_kernel.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/runtime/cuda_device.h"

#include <map>
#include <mutex>
#include <utility>

namespace samite::jit {
namespace {

template <class T, int Rank>
std::shared_ptr<KernelDefinition> make() {
  return Kernel{"copy",
                {"to", "from"},
                [](Array<T, Rank> to, Array<const T, Rank> from) {
                  const auto index = thread_index<Rank>();
                  [&]<std::size_t... D>(std::index_sequence<D...>) {
                    to(index[D]...) = from(index[D]...);
                  }(std::make_index_sequence<static_cast<std::size_t>(Rank)>());
                }}
      .definition();
}

template <class T>
std::shared_ptr<KernelDefinition> make(int rank) {
  switch (rank) {
    case 1: return make<T, 1>();
    case 2: return make<T, 2>();
    case 3: return make<T, 3>();
    default: return make<T, 4>();
  }
}

std::shared_ptr<KernelDefinition> make(ScalarType type, int rank) {
  switch (type) {
    case ScalarType::Float16: return make<half>(rank);
    case ScalarType::BFloat16: return make<bfloat16>(rank);
    case ScalarType::Float32: return make<float>(rank);
    case ScalarType::Float64: return make<double>(rank);
    default: throw InternalError("a copy of elements that have no gradient has no derivative");
  }
}

class CopyKernels {
 public:
  std::shared_ptr<KernelDefinition> at(ScalarType type, int rank) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<KernelDefinition> &kernel = kernels_[{type, rank}];
    if (!kernel) kernel = make(type, rank);
    return kernel;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<ScalarType, int>, std::shared_ptr<KernelDefinition>> kernels_;
};

}  // namespace

std::shared_ptr<KernelDefinition> copy_kernel(Device device, ScalarType type, int rank) {
  if (device.kind() == DeviceKind::cpu) {
    static CopyKernels of_the_cpu;
    return of_the_cpu.at(type, rank);
  }
  const auto kept = CudaDevice::of(device.index())->kept_by_jit([] { return std::make_shared<CopyKernels>(); });
  return std::static_pointer_cast<CopyKernels>(kept)->at(type, rank);
}

}  // namespace samite::jit
