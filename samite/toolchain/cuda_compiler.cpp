#include "samite/toolchain/cuda_compiler.h"

#include "samite/base/hash.h"
#include "samite/toolchain/cuda_libraries.h"
#include "samite/toolchain/cuda_stages.h"
#include "samite/toolchain/object_cache.h"
#include "samite/toolchain/slots.h"
#include "samite/toolchain/stopwatch.h"

#include <atomic>
#include <charconv>
#include <future>
#include <optional>
#include <vector>

namespace samite {
namespace {

// Images live as long as their users; objects, which are small and wanted again, as long as the process.
Slots<std::weak_ptr<const CudaImage>> &images() {
  static Slots<std::weak_ptr<const CudaImage>> slots;
  return slots;
}
Slots<std::shared_ptr<const std::string>> &objects_in_memory() {
  static Slots<std::shared_ptr<const std::string>> slots;
  return slots;
}

std::atomic<int> &compile_counter() {
  static std::atomic<int> counter{0};
  return counter;
}

Hash128 key_of(const CudaText &text, CudaOutput output, const std::string &compiler) {
  Hasher hasher;
  hasher.add(output == CudaOutput::cubin ? "cuda image" : "cuda object").add(compiler).add(text.architecture);
  for (const std::string &option : nvrtc_options(text, output)) hasher.add(option);
  return hasher.add(text.name).add(text.prelude).add(text.text).result();
}

// An image in the cache: the log's length on a line of its own, the log, the cubin.
std::string packed(const CudaProduct &product) {
  return std::to_string(product.log.size()) + "\n" + product.log + product.bytes;
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

CudaProduct compile(const CudaText &text, CudaOutput output) {
  ++compile_counter();
  return run_nvrtc(text, output);
}

struct Object {
  std::shared_ptr<const std::string> ir;
  ObjectReport report;
};

Object object_of(const CudaText &text, const Hash128 &key, ObjectCache &cache) {
  using From = ObjectReport::From;
  const Stopwatch watch;
  const auto slot = objects_in_memory().at(key);
  const std::lock_guard lock(slot->mutex);
  From from = From::memory;
  if (!slot->value) {
    auto cached = cache.find(key);
    from = cached ? From::disk : From::compiler;
    if (!cached) cached = compile(text, CudaOutput::lto_ir).bytes;
    slot->value = std::make_shared<const std::string>(std::move(*cached));
    if (from == From::compiler) cache.publish(key, *slot->value);
  }
  return {slot->value, {std::string(text.name), from, watch.milliseconds(), slot->value->size()}};
}

// One image to be made: its texts, the kernel's first, and what names it and them in the cache.
struct Job {
  std::vector<CudaText> texts;
  std::shared_ptr<ObjectCache> cache = object_cache();
  std::vector<Hash128> object_keys;
  Hash128 image_key;

  Job(const CudaSource &kernel, std::string_view prelude, std::string_view architecture,
      std::span<const CudaSource> objects) {
    const auto text_of = [&](const CudaSource &source) {
      return CudaText{source.name, source.text, source.prelude.empty() ? prelude : source.prelude, architecture,
                      source.debug_info};
    };
    texts.push_back(text_of(kernel));
    const std::string compiler = nvrtc_identity();
    if (objects.empty()) {
      image_key = key_of(texts.front(), CudaOutput::cubin, compiler);
      return;
    }
    for (const CudaSource &object : objects) texts.push_back(text_of(object));
    Hasher hasher;
    hasher.add("linked cuda image").add(nvjitlink_identity());
    for (const CudaText &text : texts) {
      object_keys.push_back(key_of(text, CudaOutput::lto_ir, compiler));
      hasher.add(object_keys.back().high).add(object_keys.back().low);
    }
    image_key = hasher.result();
  }

  bool linked() const { return !object_keys.empty(); }
};

std::vector<Object> objects_of(const Job &job) {
  std::vector<std::future<Object>> pending;
  for (std::size_t i = 1; i < job.texts.size(); ++i)
    pending.push_back(
        std::async(std::launch::async, [&job, i] { return object_of(job.texts[i], job.object_keys[i], *job.cache); }));
  std::vector<Object> objects = {object_of(job.texts[0], job.object_keys[0], *job.cache)};
  for (std::future<Object> &object : pending) objects.push_back(object.get());
  return objects;
}

CudaProduct make(const Job &job, CudaCompileReport &report) {
  const Stopwatch open_watch;
  if (!nvrtc_is_open()) {
    nvrtc();
    report.open_ms = open_watch.milliseconds();
  }
  const Stopwatch compile_watch;
  if (!job.linked()) {
    report.compiled = 1;
    CudaProduct product = compile(job.texts.front(), CudaOutput::cubin);
    report.compile_ms = compile_watch.milliseconds();
    return product;
  }
  std::future<void> opened = std::async(std::launch::async, [] { nvjitlink(); });
  const std::vector<Object> objects = objects_of(job);
  report.compile_ms = compile_watch.milliseconds();
  std::vector<std::string_view> contents;
  for (const Object &object : objects) {
    report.compiled += object.report.built() ? 1 : 0;
    report.object_bytes += object.ir->size();
    report.objects.push_back(object.report);
    contents.emplace_back(*object.ir);
  }
  const Stopwatch link_watch;
  opened.get();
  const CudaText &kernel = job.texts.front();
  CudaProduct product = run_nvjitlink(kernel.name, kernel.architecture, contents, kernel.debug_info);
  report.link_ms = link_watch.milliseconds();
  return product;
}

std::shared_ptr<const CudaImage> image_of(const Job &job, CudaCompileReport &report) {
  if (const auto content = job.cache->find(job.image_key)) {
    if (auto product = unpacked(*content)) {
      report.from_cache = true;
      return std::make_shared<const CudaImage>(std::move(product->bytes), std::move(product->log));
    }
    job.cache->remove(job.image_key);
  }
  CudaProduct product = make(job, report);
  job.cache->publish(job.image_key, packed(product));
  return std::make_shared<const CudaImage>(std::move(product.bytes), std::move(product.log));
}

}  // namespace

CompiledCuda compile_cuda(const CudaSource &kernel, std::string_view prelude, const std::string &architecture,
                          std::span<const CudaSource> objects) {
  const Stopwatch watch;
  require_architecture(architecture);
  const Job job(kernel, prelude, architecture, objects);
  const auto slot = images().at(job.image_key);
  const std::lock_guard lock(slot->mutex);
  CompiledCuda result;
  result.image = slot->value.lock();
  if (result.image)
    result.report.from_memory = true;
  else
    result.image = image_of(job, result.report);
  slot->value = result.image;
  result.report.image_bytes = result.image->cubin().size();
  result.report.total_ms = watch.milliseconds();
  return result;
}

int cuda_compile_count() { return compile_counter(); }

}  // namespace samite
