#include "samite/base/error.h"
#include "samite/codegen/failure.h"
#include "samite/runtime/task_pool.h"
#include "samite/shipped/partition.h"
#include "samite/shipped/run.h"
#include "samite/shipped/workspaces.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/host_image.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace samite::shipped {
namespace {

using HostEntry = void(const void *arguments, const long long *begin, const long long *end, codegen::Failure *failure,
                       codegen::Workspace *workspace);

// Stay loaded: the programs that open archives launch their kernels again and again.
std::shared_ptr<const HostImage> host_image_of(const LaunchForm &form, const Hash128 &key) {
  static std::mutex mutex;
  static std::map<Hash128, std::shared_ptr<const HostImage>> images;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const HostImage> &image = images[key];
  if (image) return image;
  const auto found = find_archived(key);
  if (!found) throw UserError("kernel '" + form.kernel + "': the archive lacks an image that its launch form names");
  return image = HostImage::load(form.kernel, found->content);
}

struct HostBox {
  HostEntry *entry;
  const std::byte *arguments;
  const Extents &extents;
  int dimension;
  codegen::Failure &failure;
  Workspaces *workspaces;  // null if the kernel needs none
};

void run_host_box(void *context, std::int64_t begin, std::int64_t end) {
  auto &box = *static_cast<HostBox *>(context);
  long long low[maximum_rank] = {}, high[maximum_rank] = {};
  for (int d = 0; d < box.extents.rank(); ++d) high[d] = box.extents[d];
  low[box.dimension] = begin, high[box.dimension] = end;
  box.entry(box.arguments, low, high, &box.failure, box.workspaces ? box.workspaces->of_worker() : nullptr);
}

}  // namespace

void run_on_host(const LaunchForm &form, const Extents &extents, const std::byte *arguments) {
  if (extents.count() == 0) return;
  for (const FormPart &part : form.parts) {
    const auto image = host_image_of(form, part.image);
    codegen::Failure failure;
    std::optional<Workspaces> workspaces;
    if (part.uses_workspace) workspaces.emplace();
    const Partition partition =
        part.one_thread ? Partition{0, 0, true} : shipped::partition(extents, part.cost, part.lanes);
    HostBox box{image->function<HostEntry>(part.entry.c_str()),
                arguments,
                extents,
                partition.dimension,
                failure,
                workspaces ? &*workspaces : nullptr};
    if (partition.whole)
      run_host_box(&box, 0, extents[partition.dimension]);
    else
      parallel_for_blocks(extents[partition.dimension], run_host_box, &box, partition.minimum);
    if (failure.state != 0)
      throw DeviceError("kernel '" + form.kernel + "' (" + form.direction + "): allocating " +
                            std::to_string(failure.index) + " bytes on cpu for a local array",
                        "out of memory");
  }
}

}  // namespace samite::shipped
