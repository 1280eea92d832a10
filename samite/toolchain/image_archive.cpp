#include "samite/toolchain/image_archive.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace samite {
namespace {

constexpr std::string_view magic = "samite archive ";
constexpr std::string_view version = "2";
constexpr std::size_t shortest_line = 72;  // two hashes and the separators

bool is_plain(char c) { return c > ' ' && c < 0x7f && c != '%'; }

std::optional<std::uint64_t> number_of(std::string_view word) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
  return number;
}

// The text before the next `end`; both are removed from `rest`.
std::optional<std::string_view> taken(std::string_view &rest, char end) {
  const std::size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return part;
}

std::string line_of(const ArchivedImage &image) {
  return fmt::format("{} {} {} {} {} {} {} {}\n", image.key.hex(), hash_of({image.content}).hex(), image.content.size(),
                     name(image.kind), archive_word(image.target), archive_word(image.kernel),
                     archive_word(image.variant), archive_word(image.facts));
}

struct Line {
  ImageArchive::Entry entry;
  std::uint64_t bytes;
};

std::optional<Line> line_from(std::string_view text) {
  std::string_view words[8];
  for (std::string_view &word : words) {
    const auto next = taken(text, &word == std::end(words) - 1 ? '\n' : ' ');
    if (!next) return std::nullopt;
    word = *next;
  }
  const auto key = hash_from_hex(words[0]), hash = hash_from_hex(words[1]);
  const auto bytes = number_of(words[2]);
  const bool is_image = words[3] == name(ArchivedKind::image), is_launch = words[3] == name(ArchivedKind::launch);
  const auto target = from_archive_word(words[4]), kernel = from_archive_word(words[5]),
             variant = from_archive_word(words[6]), facts = from_archive_word(words[7]);
  if (!text.empty() || !key || !hash || !bytes || !(is_image || is_launch) || !target || !kernel || !variant || !facts)
    return std::nullopt;
  const ArchivedKind kind = is_image ? ArchivedKind::image : ArchivedKind::launch;
  return Line{{*key, *hash, kind, *target, *kernel, *variant, *facts, {}}, *bytes};
}

}  // namespace

std::string archive_word(const std::string &text) {
  std::string word = text.empty() ? "%" : "";
  for (const char c : text) word += is_plain(c) ? std::string(1, c) : fmt::format("%{:02x}", c & 0xff);
  return word;
}

std::optional<std::string> from_archive_word(std::string_view word) {
  std::string text;
  if (word == "%") return text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    unsigned code = 0;
    if (word.size() - i < 3) return std::nullopt;
    const char *end = word.data() + i + 3;
    if (const auto read = std::from_chars(end - 2, end, code, 16); read.ec != std::errc() || read.ptr != end)
      return std::nullopt;
    text += static_cast<char>(code);
    i += 2;
  }
  return text;
}

std::string_view name(ArchivedKind kind) { return kind == ArchivedKind::image ? "image" : "launch"; }

ImageArchive::ImageArchive(std::string name, std::string_view bytes) : name_(std::move(name)) { read(bytes); }

ImageArchive::ImageArchive(std::string name, std::string bytes) : name_(std::move(name)), own_bytes_(std::move(bytes)) {
  read(own_bytes_);
}

std::string ImageArchive::packed(std::vector<ArchivedImage> images) {
  std::ranges::stable_sort(images, {}, &ArchivedImage::key);
  const auto same = std::ranges::unique(images, {}, &ArchivedImage::key);
  images.erase(same.begin(), same.end());
  std::string lines;
  for (const ArchivedImage &image : images) lines += line_of(image);
  std::string bytes =
      fmt::format("{}{}\nimages {}\nindex {}\n{}", magic, version, images.size(), hash_of({lines}).hex(), lines);
  for (const ArchivedImage &image : images) bytes += image.content;
  return bytes;
}

void ImageArchive::read(std::string_view bytes) {
  const auto refuse = [&](const std::string &why) { throw UserError("the kernel archive " + name_ + " " + why); };
  std::string_view rest = bytes;
  const auto first = taken(rest, '\n');
  if (!first || !first->starts_with(magic)) refuse("is no archive of kernels: make one with SAMITE_AOT_RECORD");
  if (first->substr(magic.size()) != version)
    refuse(
        fmt::format("has version {} of the format, and this library reads version {}: make it again with this "
                    "version of Samite",
                    first->substr(magic.size()), version));
  const std::string damaged = "is damaged: its index does not fit its hash; make it again or copy it again";
  const auto images = taken(rest, '\n'), index = taken(rest, '\n');
  if (!images || !images->starts_with("images ") || !index || !index->starts_with("index ")) refuse(damaged);
  const auto count = number_of(images->substr(7));
  const auto expected = hash_from_hex(index->substr(6));
  if (!count || !expected || *count > rest.size() / shortest_line) refuse(damaged);
  const std::string_view begin = rest;
  std::vector<std::string_view> lines;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::string_view from = rest;
    const auto line = taken(rest, '\n');
    if (!line) refuse(damaged);
    lines.push_back(from.substr(0, line->size() + 1));
  }
  if (hash_of({begin.substr(0, begin.size() - rest.size())}) != *expected) refuse(damaged);
  for (const std::string_view text : lines) {
    auto line = line_from(text);
    if (!line) refuse(damaged);
    if (line->bytes > rest.size())
      refuse(fmt::format("is cut short: it ends within the image of kernel '{}' for {}", line->entry.kernel,
                         line->entry.target));
    line->entry.content = rest.substr(0, line->bytes);
    rest.remove_prefix(line->bytes);
    entries_.push_back(std::move(line->entry));
  }
  if (!rest.empty()) refuse("is damaged: it goes on behind its last image; make it again or copy it again");
}

ArchivedImage ImageArchive::image(const Entry &entry) {
  return {entry.key, entry.target, entry.kernel, entry.variant, std::string(entry.content), entry.facts, entry.kind};
}

const ImageArchive::Entry *ImageArchive::find(const Hash128 &key) const {
  const auto at = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
  if (at == entries_.end() || at->key != key) return nullptr;
  check(*at);
  return &*at;
}

void ImageArchive::check() const {
  for (const Entry &entry : entries_) check(entry);
}

void ImageArchive::check(const Entry &entry) const {
  if (hash_of({entry.content}) != entry.hash)
    throw UserError(
        fmt::format("the kernel archive {} is damaged: the image of kernel '{}' for {} does not fit "
                    "its hash; make it again or copy it again",
                    name_, entry.kernel, entry.target));
}

}  // namespace samite
