// samite-aot: lists, checks, merges and strips archives of compiled kernels (samite/toolchain/archives.h), and writes
// their C functions.
#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/toolchain/image_archive.h"
#include "tools/samite_aot/c_source.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <compare>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

using samite::ArchivedImage;
using samite::ImageArchive;

using Paths = std::vector<std::string>;

ImageArchive read(const std::string &path) { return {path, samite::read_file(path)}; }

struct Row {
  std::string kernel, variant, target, archive, key;
  std::size_t bytes;
  friend auto operator<=>(const Row &, const Row &) = default;
};

void list(const Paths &paths, bool json) {
  std::vector<Row> rows;
  for (const std::string &path : paths) {
    const ImageArchive archive = read(path);
    for (const ImageArchive::Entry &entry : archive.entries())
      if (entry.kind == samite::ArchivedKind::image)
        rows.push_back({entry.kernel, entry.variant, entry.target, path, entry.key.hex(), entry.content.size()});
  }
  std::ranges::sort(rows);
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Row &row : rows)
      all.push_back({{"kernel", row.kernel},
                     {"variant", row.variant},
                     {"target", row.target},
                     {"bytes", row.bytes},
                     {"archive", row.archive},
                     {"key", row.key}});
    return fmt::print("{}\n", all.dump(2));
  }
  std::size_t bytes = 0;
  for (const Row &row : rows) {
    bytes += row.bytes;
    fmt::print("{:24} {:12} {:>9} B  {}\n", row.kernel, row.target, row.bytes, row.variant);
  }
  fmt::print("{} images, {} B\n", rows.size(), bytes);
}

void check(const Paths &paths) {
  for (const std::string &path : paths) {
    const ImageArchive archive = read(path);
    archive.check();
    const auto images = std::ranges::count(archive.entries(), samite::ArchivedKind::image, &ImageArchive::Entry::kind);
    fmt::print("{}: {} images, all as their hashes say\n", path, images);
  }
}

// Drops launch forms that lack an image: they cannot be launched.
void drop_incomplete(std::vector<ArchivedImage> &images) {
  const auto is_there = [&](const samite::shipped::FormPart &part) {
    return std::ranges::find(images, part.image, &ArchivedImage::key) != images.end();
  };
  const auto is_incomplete = [&](const ArchivedImage &image) {
    if (image.kind != samite::ArchivedKind::launch) return false;
    const auto form = samite::shipped::form_from(image.content);
    return !form || !std::ranges::all_of(form->parts, is_there);
  };
  std::vector<ArchivedImage> complete;
  std::ranges::copy_if(images, std::back_inserter(complete), std::not_fn(is_incomplete));
  images = std::move(complete);
}

// Writes one archive with the images that `wanted` accepts.
template <class Wanted>
void write(const std::string &output, const Paths &paths, const Wanted &wanted) {
  std::vector<ArchivedImage> images;
  for (const std::string &path : paths) {
    const ImageArchive archive = read(path);
    archive.check();
    for (const ImageArchive::Entry &entry : archive.entries())
      if (entry.kind == samite::ArchivedKind::launch || wanted(entry)) images.push_back(ImageArchive::image(entry));
  }
  drop_incomplete(images);
  samite::write_file_atomically(output, ImageArchive::packed(std::move(images)));
}

// Writes output.h and output.c.
void write_c(const std::string &output, const std::string &path) {
  const ImageArchive archive = read(path);
  archive.check();
  const auto kernels = forms_by_kernel(archive);
  const std::string name = std::filesystem::path(output).filename().string();
  samite::write_file_atomically(output + ".h", c_header(name, kernels));
  samite::write_file_atomically(output + ".c", c_source(name, std::filesystem::absolute(path).string(), kernels));
}

bool is_in(const std::vector<std::string> &list, const std::string &word) {
  return std::ranges::find(list, word) != list.end();
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("Archives of compiled kernels: see samite/toolchain/archives.h for how they are made", "samite-aot");
  app.set_version_flag("--version", SAMITE_VERSION);
  app.require_subcommand(1);
  Paths paths;
  std::string output;
  bool json = false;
  std::vector<std::string> targets, kernels;

  CLI::App *const list_command = app.add_subcommand("list", "Print a line for each image");
  list_command->add_option("archives", paths)->required();
  list_command->add_flag("--json", json, "Print JSON");
  CLI::App *const check_command = app.add_subcommand("check", "Compare each image with its hash");
  check_command->add_option("archives", paths)->required();
  CLI::App *const merge_command = app.add_subcommand("merge", "Write the images of several archives to one");
  merge_command->add_option("archives", paths)->required();
  merge_command->add_option("-o,--output", output, "The archive to write")->required();
  CLI::App *const strip_command = app.add_subcommand("strip", "Write an archive without what is not needed");
  strip_command->add_option("archives", paths)->required();
  strip_command->add_option("-o,--output", output, "The archive to write")->required();
  strip_command->add_option("--target", targets, "Keep these targets alone, for instance x86-64-v3");
  strip_command->add_option("--kernel", kernels, "Keep these kernels alone");
  CLI::App *const c_command = app.add_subcommand("c", "Write C functions that launch the kernels");
  c_command->add_option("archive", paths)->required()->expected(1);
  c_command->add_option("-o,--output", output, "The files to write, without .h and .c")->required();
  CLI11_PARSE(app, argc, argv);

  try {
    if (*list_command) list(paths, json);
    if (*check_command) check(paths);
    if (*c_command) write_c(output, paths.front());
    if (*merge_command) write(output, paths, [](const ImageArchive::Entry &) { return true; });
    if (*strip_command)
      write(output, paths, [&](const ImageArchive::Entry &entry) {
        return (targets.empty() || is_in(targets, entry.target)) && (kernels.empty() || is_in(kernels, entry.kernel));
      });
  } catch (const std::exception &error) {
    fmt::print(stderr, "samite-aot: {}\n", error.what());
    return 1;
  }
  return 0;
}
