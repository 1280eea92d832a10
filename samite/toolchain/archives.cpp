#include "samite/toolchain/archives.h"

#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/base/warning.h"
#include "samite/toolchain/cuda_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace samite {
namespace {

std::string archive_setting(const char *name) {
  const char *text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// The parts between any of the separators.
std::vector<std::string> parts_of(const std::string &text, const char *separators) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::shared_ptr<const ImageArchive> read_archive(const std::filesystem::path &path) {
  try {
    return std::make_shared<const ImageArchive>(path.string(), read_file(path));
  } catch (const std::system_error &error) {
    throw UserError(std::string("the kernel archive cannot be opened: ") + error.what());
  }
}

// Those that are open, in the order in which they were opened. The environment's come first.
class Archives {
 public:
  static Archives &instance() {
    static Archives archives;
    return archives;
  }

  void add(std::shared_ptr<const ImageArchive> archive) {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [&](const auto &one) { return one->name() == archive->name(); });
    open_.push_back(std::move(archive));
    ++generation_;
  }

  std::uint64_t generation() {
    all();
    const std::lock_guard lock(mutex_);
    return generation_;
  }

  std::vector<std::shared_ptr<const ImageArchive>> all() {
    const std::lock_guard lock(mutex_);
    if (!read_environment_) {
      std::vector<std::shared_ptr<const ImageArchive>> named;
      for (const std::string &path : parts_of(archive_setting("SAMITE_AOT_ARCHIVES"), ":"))
        named.push_back(read_archive(path));
      open_.insert(open_.begin(), named.begin(), named.end());
      read_environment_ = true;
      ++generation_;
    }
    return open_;
  }

 private:
  std::mutex mutex_;
  bool read_environment_ = false;
  std::uint64_t generation_ = 0;
  std::vector<std::shared_ptr<const ImageArchive>> open_;
};

bool is_strict() {
  const std::string text = archive_setting("SAMITE_AOT");
  if (!text.empty() && text != "strict")
    throw UserError("SAMITE_AOT is \"" + text +
                    "\"; it can be strict: a kernel that no archive has is then an error. Unset it to compile "
                    "such a kernel.");
  return !text.empty();
}

constexpr const char *known_levels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

bool is_level(const std::string &target) { return std::ranges::find(known_levels, target) != std::end(known_levels); }

// The line of CMake that adds the target.
std::string line_for(const std::string &target) {
  return is_level(target) || cuda_target(target) ? " TARGETS … " + target : "";
}

// If several processes record into one folder, one writes at a time.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path &folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
  }
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

std::vector<std::string> recorded_targets() {
  std::vector<std::string> targets = parts_of(archive_setting("SAMITE_AOT_TARGETS"), ", ");
  for (const std::string &target : targets)
    if (!is_level(target) && !cuda_target(target))
      throw UserError("SAMITE_AOT_TARGETS names \"" + target +
                      "\"; it can name x86-64-v2, x86-64-v3, x86-64-v4, and for CUDA sm_80, sm_90a, sm_100f and the "
                      "like, or compute_80 and the like for PTX, separated by commas");
  return targets;
}

std::vector<ArchivedImage> images_of(const ImageArchive &archive) {
  std::vector<ArchivedImage> images;
  for (const ImageArchive::Entry &entry : archive.entries()) images.push_back(ImageArchive::image(entry));
  return images;
}

}  // namespace

void open_archive(const std::string &path, SourceLocation where) {
  at_call("opened", where, [&] { Archives::instance().add(read_archive(path)); });
}

void open_archive(const std::string &name, std::span<const char> bytes, SourceLocation where) {
  at_call("opened", where, [&] {
    Archives::instance().add(std::make_shared<const ImageArchive>(name, std::string_view(bytes.data(), bytes.size())));
  });
}

bool archives_are_open() { return !Archives::instance().all().empty(); }

std::optional<FoundImage> find_archived(const Hash128 &key) {
  for (const auto &archive : Archives::instance().all())
    if (const ImageArchive::Entry *entry = archive->find(key)) return FoundImage{archive, entry->content};
  return std::nullopt;
}

std::vector<ArchivedForm> archived_forms(const std::string &first_fact) {
  std::vector<ArchivedForm> forms;
  for (const auto &archive : Archives::instance().all())
    for (const ImageArchive::Entry &entry : archive->entries()) {
      if (entry.kind != ArchivedKind::image || !entry.facts.starts_with(first_fact)) continue;
      ArchivedForm form{entry.target, entry.facts};
      if (std::ranges::find(forms, form) == forms.end()) forms.push_back(std::move(form));
    }
  return forms;
}

std::vector<ArchivedLaunch> archived_launches() {
  std::vector<ArchivedLaunch> launches;
  for (const auto &archive : Archives::instance().all())
    for (const ImageArchive::Entry &entry : archive->entries())
      if (entry.kind == ArchivedKind::launch && archive->find(entry.key))
        launches.push_back({archive, entry.kernel, entry.content});
  return launches;
}

std::uint64_t archives_generation() { return Archives::instance().generation(); }

std::vector<std::string> archived_targets(const std::string &kernel) {
  std::vector<std::string> targets;
  for (const auto &archive : Archives::instance().all())
    for (const ImageArchive::Entry &entry : archive->entries())
      if (entry.kind == ArchivedKind::image && entry.kernel == kernel &&
          std::ranges::find(targets, entry.target) == targets.end())
        targets.push_back(entry.target);
  return targets;
}

std::string not_archived(const std::string &kernel, const std::string &variant, const std::string &target) {
  std::string text = fmt::format("kernel '{}' ({}) for {} is in no open kernel archive", kernel, variant, target);
  std::map<std::string, std::string> there;  // by variant, its targets
  for (const auto &archive : Archives::instance().all())
    for (const ImageArchive::Entry &entry : archive->entries())
      if (entry.kind == ArchivedKind::image && entry.kernel == kernel) {
        std::string &targets = there[entry.variant];
        if (targets.find(entry.target) == std::string::npos) targets += (targets.empty() ? "" : ", ") + entry.target;
      }
  text += there.empty() ? ", nor is any form of it" : "; of this kernel they have";
  for (const auto &[known, targets] : there) text += fmt::format("\n  {} for {}", known, targets);
  return text + "\nTo add it, let the program of samite_add_kernels(…" + line_for(target) +
         ") make this launch, or run this program where there is a compiler, with SAMITE_AOT_RECORD=<archive>";
}

void report_not_archived(const std::string &kernel, const std::string &variant, const std::string &target) {
  const std::string text = not_archived(kernel, variant, target);
  if (is_strict()) throw UserError(text);
  warn_once("not archived: " + kernel + variant + target, text + ". It is compiled.");
}

bool records_archive() { return !archive_setting("SAMITE_AOT_RECORD").empty(); }

std::vector<std::string> recorded_levels() {
  if (!records_archive()) return {};
  const std::vector<std::string> wanted = recorded_targets();
  if (wanted.empty()) return {std::begin(known_levels), std::end(known_levels)};
  std::vector<std::string> levels;
  std::ranges::copy_if(wanted, std::back_inserter(levels), is_level);
  return levels;
}

std::vector<std::string> recorded_architectures() {
  if (!records_archive()) return {};
  std::vector<std::string> wanted = recorded_targets();
  std::erase_if(wanted, is_level);
  return wanted;
}

RecordedAssumptions recorded_assumptions() {
  RecordedAssumptions assumptions;
  for (const std::string &word : parts_of(archive_setting("SAMITE_AOT_ASSUME"), ", ")) {
    bool *const one = word == "aligned"    ? &assumptions.aligned
                      : word == "apart"    ? &assumptions.apart
                      : word == "covering" ? &assumptions.covering
                      : word == "large"    ? &assumptions.large
                                           : nullptr;
    if (!one)
      throw UserError("SAMITE_AOT_ASSUME says \"" + word +
                      "\"; it can say aligned, apart, covering and large, separated by commas");
    *one = true;
  }
  return assumptions;
}

void record_archived(ArchivedImage image) {
  static std::mutex mutex;
  const std::filesystem::path path = std::filesystem::absolute(archive_setting("SAMITE_AOT_RECORD"));
  const std::lock_guard lock(mutex);
  const FolderLock alone(path.parent_path());
  std::vector<ArchivedImage> images;
  if (std::filesystem::exists(path)) images = images_of(*read_archive(path));
  if (std::ranges::find(images, image.key, &ArchivedImage::key) != images.end()) return;
  images.push_back(std::move(image));
  try {
    write_file_atomically(path, ImageArchive::packed(std::move(images)));
  } catch (const std::system_error &error) {
    throw UserError(std::string("the kernel archive of SAMITE_AOT_RECORD cannot be written: ") + error.what());
  }
}

}  // namespace samite
