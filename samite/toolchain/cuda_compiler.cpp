#include "samite/toolchain/cuda_compiler.h"

#include "samite/base/error.h"
#include "samite/base/hash.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/nvrtc.h"
#include "samite/toolchain/object_cache.h"
#include "samite/toolchain/packed_cuda_image.h"
#include "samite/toolchain/run_nvrtc.h"
#include "samite/toolchain/slots.h"
#include "samite/toolchain/stopwatch.h"

#include <atomic>
#include <optional>

namespace samite {
namespace {

// Images live as long as their users.
Slots<std::weak_ptr<const CudaImage>> &images() {
  static Slots<std::weak_ptr<const CudaImage>> slots;
  return slots;
}

std::atomic<int> &compile_counter() {
  static std::atomic<int> counter{0};
  return counter;
}

Hash128 key_of(const CudaText &text) {
  Hasher hasher;
  hasher.add("cuda image").add(nvrtc_identity()).add(text.architecture);
  for (const std::string &option : nvrtc_options(text)) hasher.add(option);
  return hasher.add(text.name).add(text.prelude).add(text.text).result();
}

std::shared_ptr<const CudaImage> unpacked(std::string_view content) {
  const auto packed = unpacked_cuda_image(content);
  return packed ? std::make_shared<const CudaImage>(std::string(packed->code), std::string(packed->log)) : nullptr;
}

CudaProduct compile(const CudaText &text, CudaCompileReport &report) {
  const Stopwatch open_watch;
  if (!nvrtc_is_open()) {
    nvrtc();
    report.open_ms = open_watch.milliseconds();
  }
  const Stopwatch compile_watch;
  ++compile_counter();
  CudaProduct product = run_nvrtc(text);
  report.compile_ms = compile_watch.milliseconds();
  return product;
}

std::shared_ptr<const CudaImage> archived(const CudaText &text, CudaCompileReport &report) {
  const auto found = find_archived(archived_cuda_key(text));
  auto image = found ? unpacked(found->content) : nullptr;
  report.from_archive = image != nullptr;
  return image;
}

std::shared_ptr<const CudaImage> image_of(const CudaText &text, const Hash128 &key, CudaCompileReport &report) {
  const std::shared_ptr<ObjectCache> cache = object_cache();
  if (const auto content = cache->find(key)) {
    if (auto image = unpacked(*content)) {
      report.from_cache = true;
      return image;
    }
    cache->remove(key);
  }
  CudaProduct product = compile(text, report);
  cache->publish(key, packed_cuda_image(product.cubin, product.log));
  return std::make_shared<const CudaImage>(std::move(product.cubin), std::move(product.log));
}

// If the compiler is missing and archives are open, the message is about them.
std::shared_ptr<const CudaImage> compiled(const CudaText &text, const std::string &variant, CudaCompileReport &report) {
  try {
    return image_of(text, key_of(text), report);
  } catch (const DeviceError &error) {
    if (!archives_are_open()) throw;
    throw DeviceError(std::string(error.what()) + "\n" +
                      not_archived(std::string(text.name), variant, std::string(text.architecture)));
  }
}

}  // namespace

Hash128 archived_cuda_key(const CudaText &text) {
  Hasher hasher;
  hasher.add("archived cuda image").add(text.architecture).add(text.debug_info ? 1 : 0);
  return hasher.add(text.name).add(text.prelude).add(text.text).result();
}

std::optional<CompiledCuda> find_cuda(const CudaSource &kernel, std::string_view prelude,
                                      const std::string &architecture) {
  const Stopwatch watch;
  const CudaText text{kernel.name, kernel.text, prelude, architecture, kernel.debug_info};
  const auto slot = images().at(archived_cuda_key(text));
  const std::lock_guard lock(slot->mutex);
  CompiledCuda result;
  result.image = slot->value.lock();
  result.report.from_memory = result.image != nullptr;
  if (!result.image) result.image = archived(text, result.report);
  if (!result.image) return std::nullopt;
  slot->value = result.image;
  result.report.image_bytes = result.image->cubin().size();
  result.report.total_ms = watch.milliseconds();
  return result;
}

CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture) {
  const Stopwatch watch;
  require_architecture(architecture);
  if (archives_are_open()) {
    if (auto found = find_cuda(kernel, prelude, architecture)) return std::move(*found);
    report_not_archived(kernel.name, kernel.variant, architecture);
  }
  const CudaText text{kernel.name, kernel.text, prelude, architecture, kernel.debug_info};
  const auto slot = images().at(key_of(text));
  const std::lock_guard lock(slot->mutex);
  CompiledCuda result;
  result.image = slot->value.lock();
  result.report.from_memory = result.image != nullptr;
  if (!result.image) result.image = compiled(text, kernel.variant, result.report);
  if (records_archive() && !result.report.from_memory)
    record_archived({archived_cuda_key(text), architecture, kernel.name, kernel.variant,
                     packed_cuda_image(result.image->cubin(), result.image->log()), kernel.facts});
  slot->value = result.image;
  result.report.image_bytes = result.image->cubin().size();
  result.report.total_ms = watch.milliseconds();
  return result;
}

int cuda_compile_count() { return compile_counter(); }

}  // namespace samite
