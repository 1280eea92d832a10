#include "samite/toolchain/cuda_compiler.h"

#include "samite/base/error.h"
#include "samite/base/hash.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/nvrtc.h"
#include "samite/toolchain/object_cache.h"
#include "samite/toolchain/run_nvrtc.h"
#include "samite/toolchain/slots.h"
#include "samite/toolchain/stopwatch.h"

#include <atomic>
#include <charconv>
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

// A hash of what the image is made from, without the build of NVRTC.
Hash128 archive_key(const CudaText &text) {
  Hasher hasher;
  hasher.add("archived cuda image").add(text.architecture).add(text.debug_info ? 1 : 0);
  return hasher.add(text.name).add(text.prelude).add(text.text).result();
}

// An image in the cache or an archive: the log's length on its own line, the log, the cubin.
std::string packed(const CudaProduct &product) {
  return std::to_string(product.log.size()) + "\n" + product.log + product.cubin;
}

std::optional<CudaProduct> unpacked(const std::string &content) {
  std::size_t log_bytes = 0;
  const char *end = content.data() + content.size();
  const auto [after, error] = std::from_chars(content.data(), end, log_bytes);
  if (error != std::errc() || after == end || *after != '\n') return std::nullopt;
  const auto from = static_cast<std::size_t>(after - content.data()) + 1;
  if (log_bytes > content.size() - from) return std::nullopt;
  return CudaProduct{content.substr(from + log_bytes), content.substr(from, log_bytes)};
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

std::shared_ptr<const CudaImage> archived(const CudaText &text, const std::string &variant, CudaCompileReport &report) {
  if (!archives_are_open()) return nullptr;
  const auto found = find_archived(archive_key(text));
  auto product = found ? unpacked(std::string(found->content)) : std::nullopt;
  if (!product) {
    report_not_archived(std::string(text.name), variant, std::string(text.architecture));
    return nullptr;
  }
  report.from_archive = true;
  return std::make_shared<const CudaImage>(std::move(product->cubin), std::move(product->log));
}

std::shared_ptr<const CudaImage> image_of(const CudaText &text, const Hash128 &key, CudaCompileReport &report) {
  const std::shared_ptr<ObjectCache> cache = object_cache();
  if (const auto content = cache->find(key)) {
    if (auto product = unpacked(*content)) {
      report.from_cache = true;
      return std::make_shared<const CudaImage>(std::move(product->cubin), std::move(product->log));
    }
    cache->remove(key);
  }
  CudaProduct product = compile(text, report);
  cache->publish(key, packed(product));
  return std::make_shared<const CudaImage>(std::move(product.cubin), std::move(product.log));
}

// Where the compiler is missing and archives are open, they are what would have helped.
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

CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture) {
  const Stopwatch watch;
  require_architecture(architecture);
  const CudaText text{kernel.name, kernel.text, prelude, architecture, kernel.debug_info};
  const Hash128 key = archives_are_open() ? archive_key(text) : key_of(text);
  const auto slot = images().at(key);
  const std::lock_guard lock(slot->mutex);
  CompiledCuda result;
  result.image = slot->value.lock();
  result.report.from_memory = result.image != nullptr;
  if (!result.image) result.image = archived(text, kernel.variant, result.report);
  if (!result.image) result.image = compiled(text, kernel.variant, result.report);
  if (records_archive() && !result.report.from_memory)
    record_archived({archive_key(text), architecture, kernel.name, kernel.variant,
                     packed({result.image->cubin(), result.image->log()})});
  slot->value = result.image;
  result.report.image_bytes = result.image->cubin().size();
  result.report.total_ms = watch.milliseconds();
  return result;
}

int cuda_compile_count() { return compile_counter(); }

}  // namespace samite
