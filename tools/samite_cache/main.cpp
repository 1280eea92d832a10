// samite-cache: lists, verifies, exports and imports the cache of compiled kernels (samite/toolchain/object_cache.h).
#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/toolchain/image_archive.h"
#include "samite/toolchain/object_cache.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using samite::ArchivedImage;
using samite::ImageArchive;
using samite::ObjectCache;
using samite::UserError;

// The target of every image in an export, whose kernels have no names.
constexpr const char *target_of_export = "cache";

std::shared_ptr<ObjectCache> usable_cache() {
  auto cache = samite::object_cache();
  if (cache->limit_bytes() == 0)
    throw UserError("the kernel cache is switched off: SAMITE_CACHE_LIMIT_MB is 0, or there is no folder for it");
  if (const auto refusal = cache->refusal()) throw UserError("the kernel cache is not used: " + *refusal);
  return cache;
}

void list(const ObjectCache &cache, bool json) {
  const std::vector<ObjectCache::Listed> entries = cache.list();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::uint64_t bytes = 0;
  for (const ObjectCache::Listed &entry : entries) {
    bytes += entry.bytes;
    const std::string used = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(entry.used)));
    if (json)
      all.push_back(
          {{"key", entry.key.hex()}, {"bytes", entry.bytes}, {"last_used", used + " UTC"}, {"intact", entry.intact}});
    else
      fmt::print("{} {:>10} B  last used {}{}\n", entry.key.hex(), entry.bytes, used, entry.intact ? "" : "  damaged");
  }
  if (json) return fmt::print("{}\n", all.dump(2));
  fmt::print("{}: {} entries, {} B\n", cache.folder().string(), entries.size(), bytes);
}

// Whether all entries are as they were published.
bool verify(const ObjectCache &cache) {
  std::size_t damaged = 0, count = 0;
  for (const ObjectCache::Listed &entry : cache.list()) {
    ++count;
    if (entry.intact) continue;
    ++damaged;
    fmt::print("{} is damaged; the next program that wants it compiles it again\n", entry.key.hex());
  }
  fmt::print("{}: {} entries, {} damaged\n", cache.folder().string(), count, damaged);
  return damaged == 0;
}

void write_export(ObjectCache &cache, const std::string &file) {
  std::vector<ArchivedImage> images;
  for (const ObjectCache::Listed &entry : cache.list()) {
    if (!entry.intact) continue;
    if (auto content = cache.find(entry.key))
      images.push_back({entry.key, target_of_export, "", "", std::move(*content)});
  }
  const std::size_t count = images.size();
  samite::write_file_atomically(file, ImageArchive::packed(std::move(images)));
  fmt::print("{}: {} entries\n", file, count);
}

void read_export(ObjectCache &cache, const std::string &file) {
  const ImageArchive archive(file, samite::read_file(file));
  archive.check();
  for (const ImageArchive::Entry &entry : archive.entries()) {
    if (entry.target != target_of_export)
      throw UserError(file +
                      " is an archive of kernels, not a cache's export: programs open it with "
                      "SAMITE_AOT_ARCHIVES");
    cache.publish(entry.key, entry.content);
  }
  std::size_t there = 0;
  for (const ObjectCache::Listed &entry : cache.list()) there += archive.find(entry.key) != nullptr && entry.intact;
  if (there != archive.entries().size())
    throw UserError(fmt::format("{} of {} entries could not be written to {}", archive.entries().size() - there,
                                archive.entries().size(), cache.folder().string()));
  fmt::print("{}: {} entries of {}\n", cache.folder().string(), there, file);
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("The cache of compiled kernels, in SAMITE_CACHE_DIR or ~/.cache/samite", "samite-cache");
  app.set_version_flag("--version", SAMITE_VERSION);
  app.require_subcommand(1);
  std::string file;
  bool json = false;
  CLI::App *const list_command = app.add_subcommand("list", "Print a line for each entry");
  list_command->add_flag("--json", json, "Print JSON");
  CLI::App *const verify_command = app.add_subcommand("verify", "Compare each entry with its hash");
  CLI::App *const export_command = app.add_subcommand("export", "Write all entries to one file");
  export_command->add_option("file", file, "The file to write")->required();
  CLI::App *const import_command = app.add_subcommand("import", "Add the entries of such a file");
  import_command->add_option("file", file, "The file to read")->required();
  CLI11_PARSE(app, argc, argv);

  try {
    const std::shared_ptr<ObjectCache> cache = usable_cache();
    if (*list_command) list(*cache, json);
    if (*verify_command && !verify(*cache)) return 1;
    if (*export_command) write_export(*cache, file);
    if (*import_command) read_export(*cache, file);
  } catch (const std::exception &error) {
    fmt::print(stderr, "samite-cache: {}\n", error.what());
    return 1;
  }
  return 0;
}
