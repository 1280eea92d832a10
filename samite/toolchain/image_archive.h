// An archive of compiled kernels: one file with their images, for programs that run where there is no compiler.
//
// An image is found by a hash of what it was made from: the emitted text, its prelude, the compiler's options and the
// target. So an image of another version of the library, or of a kernel that has changed, is not found; it never runs
// in the wrong place. The compiler's build and the machine are not in the hash, nor in the file: the same texts give
// the same bytes anywhere.
//
//   samite archive 2
//   images <count>
//   index <hash of the lines below>
//   <key> <hash of the content> <bytes> <kind> <target> <kernel> <variant> <facts>      a line for each, by key
//   the contents, one after another
//
// Besides images an archive has launch forms: the data that a program needs to launch a variant without tracing the
// kernel (shipped/launch_form.h).
//
// Immutable, so any thread may use it.
#pragma once

#include "samite/base/hash.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

enum class ArchivedKind : std::uint8_t { image, launch };

std::string_view name(ArchivedKind kind);  // "image"

struct ArchivedImage {
  Hash128 key;
  std::string target;   // "x86-64-v3", "sm_90a"
  std::string kernel;   // its name
  std::string variant;  // the form of the kernel, for lists and messages: "adjoint of x; y, x contiguous"
  std::string content;
  std::string facts = {};  // the facts that the code relies on, in a text that the library parses (jit/variant_facts.h)
  ArchivedKind kind = ArchivedKind::image;
};

// A word of a line: without spaces and line ends, and never empty; and its inverse, empty for no such word.
std::string archive_word(const std::string &text);
std::optional<std::string> from_archive_word(std::string_view word);

class ImageArchive {
 public:
  struct Entry {
    Hash128 key, hash;
    ArchivedKind kind;
    std::string target, kernel, variant, facts;
    std::string_view content;
  };

  // `bytes` as `packed` made them; they must live as long as the archive. `name` is for messages: a path. UserError if
  // the bytes are no archive, of another version of the format, damaged in the index, or cut short.
  ImageArchive(std::string name, std::string_view bytes);
  ImageArchive(std::string name, std::string bytes);
  ImageArchive(const ImageArchive &) = delete;
  ImageArchive &operator=(const ImageArchive &) = delete;

  // Images with equal keys are equal, and one of them is kept.
  static std::string packed(std::vector<ArchivedImage> images);

  const std::string &name() const { return name_; }
  const std::vector<Entry> &entries() const { return entries_; }
  // A copy of an entry, for another archive.
  static ArchivedImage image(const Entry &entry);

  // Null if there is none. UserError if its content is damaged.
  const Entry *find(const Hash128 &key) const;
  // UserError that names the first image with damaged content.
  void check() const;

 private:
  void read(std::string_view bytes);
  void check(const Entry &entry) const;

  std::string name_;
  std::string own_bytes_;
  std::vector<Entry> entries_;  // in the order of their keys
};

}  // namespace samite
