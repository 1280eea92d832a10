#include "samite/toolchain/host_compiler.h"

#include "samite/base/code_names.h"
#include "samite/base/error.h"
#include "samite/base/hash.h"
#include "samite/base/warning.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/clang_plugin_loader.h"
#include "samite/toolchain/host_target.h"
#include "samite/toolchain/object_cache.h"
#include "samite/toolchain/slots.h"
#include "samite/toolchain/stopwatch.h"

#include <atomic>
#include <cctype>
#include <future>
#include <mutex>

namespace samite {
namespace {

// Images live as long as their users; precompiled preludes as long as the process.
Slots<std::weak_ptr<const HostImage>> &loaded_images() {
  static Slots<std::weak_ptr<const HostImage>> slots;
  return slots;
}
Slots<std::shared_ptr<const std::string>> &precompiled_preludes() {
  static Slots<std::shared_ptr<const std::string>> slots;
  return slots;
}

// Objects are small and often reused, so they live as long as the process.
Slots<std::shared_ptr<const std::string>> &host_objects_in_memory() {
  static Slots<std::shared_ptr<const std::string>> slots;
  return slots;
}

std::atomic<int> &host_compile_counter() {
  static std::atomic<int> counter{0};
  return counter;
}

// An output of the plug-in, returned to it on destruction.
class Output {
 public:
  explicit Output(const SamiteClangOutput *output) : output_(output, clang_plugin().release) {}

  bool ok() const { return output_->ok != 0; }
  std::string_view bytes() const { return {output_->bytes.data, output_->bytes.size}; }
  std::string diagnostics() const { return {output_->diagnostics.data, output_->diagnostics.size}; }
  const SamiteClangOutput *operator->() const { return output_.get(); }

 private:
  std::unique_ptr<const SamiteClangOutput, void (*)(const SamiteClangOutput *)> output_;
};

SamiteText borrowed(std::string_view text) { return {text.data(), text.size()}; }

// The compiler treats the name as a file name.
std::string file_name(std::string name) {
  for (char &c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  return name.empty() ? "kernel" : name;
}

struct HostJob {
  const HostSource &source;
  const HostPrelude &prelude;
  std::string name = file_name(source.name);
  HostTarget target = host_target();
  std::shared_ptr<ObjectCache> cache = object_cache();

  Hasher options_hasher(std::string_view kind, const std::string &compiler = clang_plugin_version()) const {
    Hasher hasher;
    hasher.add(kind).add(samite_clang_version).add(compiler).add(target.fingerprint);
    hasher.add(static_cast<std::uint64_t>(target.vector_bytes)).add(static_cast<std::uint64_t>(source.optimization));
    hasher.add(target.architecture).add(target.contraction ? 1 : 0).add(source.debug_info ? 1 : 0);
    hasher.add(prelude.key().high).add(prelude.key().low);
    return hasher;
  }
  // Hashes the image's sources, independently of the compiling process and machine.
  Hash128 archive_key(std::span<const HostSource> objects) const {
    Hasher hasher;
    hasher.add("archived host image").add(target.architecture).add(static_cast<std::uint64_t>(target.vector_bytes));
    hasher.add(target.contraction ? 1 : 0).add(static_cast<std::uint64_t>(source.optimization));
    hasher.add(source.debug_info ? 1 : 0).add(prelude.key().high).add(prelude.key().low).add(name).add(source.text);
    for (const HostSource &object : objects) hasher.add(object.name).add(object.text);
    return hasher.result();
  }
  Hash128 prelude_key() const { return options_hasher("prelude", clang_plugin_identity()).result(); }
  Hash128 object_key() const { return options_hasher("object").add(name).add(source.text).result(); }
  Hash128 image_key(std::span<const HostJob> objects) const {
    Hasher hasher = options_hasher("image");
    const std::string_view code = without_code_names(source.text);
    hasher.add(code.size() == source.text.size() ? name : "").add(code);
    for (const HostJob &object : objects) {
      const Hash128 key = object.object_key();
      hasher.add(key.high).add(key.low);
    }
    return hasher.result();
  }

  SamiteClangInput input(std::string_view precompiled) const {
    return {.name = borrowed(name),
            .source = borrowed(source.text),
            .prelude = borrowed(prelude.text()),
            .precompiled_prelude = borrowed(precompiled),
            .architecture = borrowed(target.architecture),
            .vector_bytes = target.vector_bytes,
            .contraction = target.contraction ? 1 : 0,
            .optimization = source.optimization,
            .debug_info = source.debug_info ? 1 : 0};
  }
};

std::shared_ptr<const std::string> precompiled_prelude(const HostJob &job, CompileReport &report) {
  const Hash128 key = job.prelude_key();
  const auto slot = precompiled_preludes().at(key);
  const std::lock_guard lock(slot->mutex);
  report.prelude_was_precompiled = true;
  if (slot->value) return slot->value;
  const Stopwatch watch;
  if (auto cached = job.cache->find(key)) {
    slot->value = std::make_shared<const std::string>(std::move(*cached));
  } else {
    report.prelude_was_precompiled = false;
    const SamiteClangInput input = job.input({});
    const Output output(clang_plugin().precompile(&input));
    if (!output.ok()) throw InternalError("the prelude of kernels does not compile:\n" + output.diagnostics());
    slot->value = std::make_shared<const std::string>(output.bytes());
    job.cache->publish(key, *slot->value);
  }
  report.times.prelude_ms = watch.milliseconds();
  return slot->value;
}

std::shared_ptr<const HostImage> load(const HostJob &job, std::string_view bytes, CompileReport &report) {
  const Stopwatch watch;
  auto image = HostImage::load(job.source.name, bytes);
  report.times.load_ms = watch.milliseconds();
  report.image_bytes = bytes.size();
  return image;
}

std::shared_ptr<const HostImage> load_from_cache(const HostJob &job, const Hash128 &key, CompileReport &report) {
  const auto bytes = job.cache->find(key);
  if (!bytes) return nullptr;
  try {
    auto image = load(job, *bytes, report);
    report.from_cache = report.prelude_was_precompiled = true;
    return image;
  } catch (const DeviceError &error) {
    // Another machine that shares the folder may lack a library of the compiling one.
    warn_once("cached image does not load", std::string(error.what()) + ". It is compiled again.");
    job.cache->remove(key);
    return nullptr;
  }
}

struct HostObject {
  std::shared_ptr<const std::string> code;
  ObjectReport report;
  double frontend_ms = 0, backend_ms = 0;
};

HostObject compile(const HostJob &job, std::string_view precompiled) {
  const Stopwatch watch;
  const SamiteClangInput input = job.input(precompiled);
  ++host_compile_counter();
  const Output output(clang_plugin().compile(&input));
  if (!output.ok())
    throw InternalError("the C++ emitted for kernel \"" + job.source.name + "\" does not compile:\n" +
                        output.diagnostics());
  auto code = std::make_shared<const std::string>(output.bytes());
  return {code,
          {job.source.name, ObjectReport::From::compiler, watch.milliseconds(), code->size()},
          output->frontend_ms,
          output->backend_ms};
}

HostObject object_of(const HostJob &job, std::string_view precompiled) {
  using From = ObjectReport::From;
  const Stopwatch watch;
  const Hash128 key = job.object_key();
  const auto slot = host_objects_in_memory().at(key);
  const std::lock_guard lock(slot->mutex);
  const auto found = [&](From from) -> HostObject {
    return {slot->value, {job.source.name, from, watch.milliseconds(), slot->value->size()}};
  };
  if (slot->value) return found(From::memory);
  if (auto cached = job.cache->find(key)) {
    slot->value = std::make_shared<const std::string>(std::move(*cached));
    return found(From::disk);
  }
  HostObject object = compile(job, precompiled);
  slot->value = object.code;
  job.cache->publish(key, *object.code);
  return object;
}

// The linked image.
std::string compiled_image(const HostJob &job, std::span<const HostJob> object_jobs, CompileReport &report) {
  const Stopwatch open_watch;
  const SamiteClangPlugin &plugin = clang_plugin();
  if (!report.plugin_was_open) report.times.open_ms = open_watch.milliseconds();
  const auto precompiled = precompiled_prelude(job, report);
  const Stopwatch objects_watch;
  std::vector<std::future<HostObject>> pending;
  for (const HostJob &object : object_jobs)
    pending.push_back(
        std::async(std::launch::async, [&precompiled, job = &object] { return object_of(*job, *precompiled); }));
  std::vector<HostObject> objects = {compile(job, *precompiled)};
  report.times.frontend_ms = objects[0].frontend_ms;
  report.times.backend_ms = objects[0].backend_ms;
  for (std::future<HostObject> &object : pending) objects.push_back(object.get());
  report.times.objects_ms = objects_watch.milliseconds();
  std::vector<SamiteText> code;
  for (const HostObject &object : objects) {
    code.push_back(borrowed(*object.code));
    report.object_bytes += object.code->size();
    report.objects.push_back(object.report);
  }
  const Output output(plugin.link(code.data(), code.size()));
  report.times.link_ms = output->link_ms;
  if (!output.ok())
    throw InternalError("the C++ emitted for kernel \"" + job.source.name + "\" does not compile:\n" +
                        output.diagnostics());
  return std::string(output.bytes());
}

std::shared_ptr<const HostImage> compile(const HostJob &job, std::span<const HostJob> object_jobs, const Hash128 &key,
                                         CompileReport &report) {
  const std::string bytes = compiled_image(job, object_jobs, report);
  auto image = load(job, bytes, report);
  job.cache->publish(key, bytes);
  return image;
}

}  // namespace

CompiledHost compile_host(const HostSource &source, const HostPrelude &prelude, std::span<const HostSource> objects) {
  const Stopwatch watch;
  const HostJob job{source, prelude};
  std::vector<HostJob> object_jobs;
  for (const HostSource &object : objects) object_jobs.push_back({object, prelude});
  const Hash128 key = job.image_key(object_jobs);
  const auto slot = loaded_images().at(key);
  const std::lock_guard lock(slot->mutex);
  CompiledHost result;
  result.report.plugin_was_open = clang_plugin_is_open();
  result.image = slot->value.lock();
  if (result.image)
    result.report.from_memory = result.report.prelude_was_precompiled = true;
  else
    result.image = load_from_cache(job, key, result.report);
  if (!result.image) result.image = compile(job, object_jobs, key, result.report);
  slot->value = result.image;
  result.report.times.total_ms = watch.milliseconds();
  return result;
}

std::optional<CompiledHost> find_host(const HostSource &source, const HostPrelude &prelude,
                                      std::span<const HostSource> objects, const std::string &level) {
  const Stopwatch watch;
  const HostJob job{source, prelude, file_name(source.name), host_target_of_level(level)};
  const Hash128 key = job.archive_key(objects);
  const auto slot = loaded_images().at(key);
  const std::lock_guard lock(slot->mutex);
  CompiledHost result;
  result.image = slot->value.lock();
  result.report.from_memory = result.image != nullptr;
  if (!result.image) {
    const auto found = find_archived(key);
    if (!found) return std::nullopt;
    result.image = load(job, found->content, result.report);
    result.report.from_archive = true;
  }
  result.report.prelude_was_precompiled = true;
  slot->value = result.image;
  result.report.times.total_ms = watch.milliseconds();
  return result;
}

Hash128 record_host(const HostSource &source, const HostPrelude &prelude, std::span<const HostSource> objects,
                    const std::string &level) {
  const HostTarget target = host_target_of_level(level);
  const HostJob job{source, prelude, file_name(source.name), target};
  std::vector<HostJob> object_jobs;
  for (const HostSource &object : objects) object_jobs.push_back({object, prelude, file_name(object.name), target});
  const Hash128 key = job.image_key(object_jobs);
  std::optional<std::string> bytes = job.cache->find(key);
  if (!bytes) {
    CompileReport report;
    bytes = compiled_image(job, object_jobs, report);
    job.cache->publish(key, *bytes);
  }
  const Hash128 archive_key = job.archive_key(objects);
  record_archived({archive_key, level, source.name, source.variant, std::move(*bytes), source.facts});
  return archive_key;
}

Hash128 host_image_key(const HostSource &source, const HostPrelude &prelude, const HostTarget &target) {
  return HostJob{source, prelude, file_name(source.name), target}.image_key({});
}

int host_compile_count() { return host_compile_counter(); }

bool host_compiler_loaded() { return clang_plugin_is_open(); }

}  // namespace samite
