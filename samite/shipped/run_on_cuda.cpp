#include "samite/base/error.h"
#include "samite/codegen/cuda_launch.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/launch.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/forgotten_devices.h"
#include "samite/shipped/run.h"
#include "samite/shipped/tensor_maps.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/packed_cuda_image.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace samite::shipped {
namespace {

// Blocks for each multiprocessor if threads have many instances each; fewer if each needs a workspace.
constexpr int blocks_of_multiprocessor = 8, blocks_with_workspace = 2;

// The kernels that are loaded, by image; few devices have each.
struct LoadedKernels {
  std::mutex mutex;
  std::map<Hash128, std::vector<driver::Kernel>> by_image;
};

// Never destroyed: at process exit the driver may be unloaded before this library's statics.
LoadedKernels &loaded_kernels() {
  static LoadedKernels &loaded = *new LoadedKernels;
  return loaded;
}

void forget_kernels() noexcept {
  const std::lock_guard lock(loaded_kernels().mutex);
  loaded_kernels().by_image.clear();
}

driver::Kernel cuda_kernel_of(const LaunchForm &form, const FormPart &part, const driver::Context &context) {
  static const bool releases = (when_devices_are_forgotten(forget_kernels), true);
  (void)releases;
  const std::lock_guard lock(loaded_kernels().mutex);
  std::vector<driver::Kernel> &kernels = loaded_kernels().by_image[part.image];
  for (const driver::Kernel &kernel : kernels)
    if (kernel.context() == context) return kernel;
  const auto found = find_archived(part.image);
  const auto image = found ? unpacked_cuda_image(found->content) : std::nullopt;
  if (!image) throw UserError("kernel '" + form.kernel + "': the archive lacks an image that its launch form names");
  kernels.push_back(driver::Library::load(context, std::as_bytes(std::span(image->code))).kernel(part.entry));
  return kernels.back();
}

driver::LaunchShape cuda_shape_of(const FormPart &part, const Extents &extents, const driver::LaunchLimits &limits) {
  driver::LaunchShape shape;
  shape.shared_bytes = static_cast<unsigned>(part.shared_bytes);
  if (part.one_thread) {
    if (part.tile_threads != 0) shape.block[0] = static_cast<unsigned>(part.tile_threads);
    return shape;
  }
  codegen::CudaForm form;
  form.grid_stride = part.grid_stride;
  form.grid_axes = part.grid_axes;
  form.threads_per_block = part.threads_per_block;
  form.instances_per_thread = part.instances_per_thread;
  form.march = part.march;
  form.tile_threads = part.tile_threads;
  const int each = part.uses_workspace ? blocks_with_workspace : blocks_of_multiprocessor;
  const codegen::CudaLaunchShape chosen =
      codegen::cuda_launch_shape(std::span(extents.begin(), static_cast<std::size_t>(extents.rank())), form,
                                 std::int64_t{each} * limits.multiprocessors, limits.multiprocessors);
  shape.grid = chosen.grid;
  shape.block = chosen.block;
  return shape;
}

std::int64_t threads_of(const driver::LaunchShape &shape) {
  std::int64_t threads = 1;
  for (std::size_t axis = 0; axis < shape.grid.size(); ++axis)
    threads *= std::int64_t{shape.grid[axis]} * shape.block[axis];
  return threads;
}

std::vector<driver::TensorMapBits> maps_of(const LaunchForm &form, const FormPart &part, const std::byte *arguments,
                                           const driver::Context &context) {
  std::vector<driver::TensorMapBits> maps;
  for (const FormTensorMap &map : part.tensor_maps) {
    const std::byte *array = arguments + form.parameters[static_cast<std::size_t>(map.array)].offset;
    maps.push_back(CudaDevice::of(context.device())->tensor_maps().encode(tensor_of(map, array), {}));
  }
  return maps;
}

void put_in_stream(const LaunchForm &form, const FormPart &part, const Extents &extents, const std::byte *arguments,
                   const driver::Stream &queue) {
  const driver::Kernel kernel = cuda_kernel_of(form, part, queue.context());
  const driver::LaunchShape shape = cuda_shape_of(part, extents, queue.context().limits());
  codegen::CudaBox box;
  for (int d = 0; d < extents.rank(); ++d) box.end[d] = extents[d];
  codegen::CudaWorkspace workspace;
  std::optional<driver::DeviceMemory> memory;  // freed in the order of the stream
  if (part.uses_workspace) {
    workspace.bytes_per_thread = form.workspace_bytes;
    memory = driver::DeviceMemory::allocate(queue, CudaDevice::of(queue.context().device())->pool(),
                                            static_cast<std::size_t>(threads_of(shape) * form.workspace_bytes),
                                            {kernel.name(), {}});
    workspace.base = std::bit_cast<std::byte *>(memory->address());
  }
  const void *channel = nullptr;
  std::vector<driver::TensorMapBits> maps = maps_of(form, part, arguments, queue.context());
  void *parameters[] = {const_cast<std::byte *>(arguments), &box, static_cast<void *>(&channel), &workspace,
                        maps.data()};
  driver::launch(queue, kernel, shape, parameters);
}

}  // namespace

void run_on_cuda(const LaunchForm &form, const Extents &extents, const std::byte *arguments, const Stream &stream) {
  if (extents.count() == 0) return;
  for (const FormPart &part : form.parts) put_in_stream(form, part, extents, arguments, stream.cuda()->stream());
}

}  // namespace samite::shipped
