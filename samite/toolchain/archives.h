// The open archives, for the library: see toolchain/open_archive.h.
//
// Thread-safe.
#pragma once

#include "samite/base/hash.h"
#include "samite/toolchain/image_archive.h"
#include "samite/toolchain/open_archive.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

struct FoundImage {
  std::shared_ptr<const ImageArchive> archive;
  std::string_view content;  // as long as the archive
};
std::optional<FoundImage> find_archived(const Hash128 &key);

bool archives_are_open();

// An image of a kernel in the open archives: the facts are the image's (ArchivedImage::facts), each pair once.
struct ArchivedForm {
  std::string target, facts;
  friend bool operator==(const ArchivedForm &, const ArchivedForm &) = default;
};
// The forms whose facts begin with `first_fact`.
std::vector<ArchivedForm> archived_forms(const std::string &first_fact);

// The launch forms of the open archives.
struct ArchivedLaunch {
  std::shared_ptr<const ImageArchive> archive;
  std::string kernel;
  std::string_view text;  // as long as the archive
};
// UserError if one is damaged.
std::vector<ArchivedLaunch> archived_launches();

// Changes whenever an archive is opened.
std::uint64_t archives_generation();

// The targets for which an open archive has images of this kernel.
std::vector<std::string> archived_targets(const std::string &kernel);

// Reports that a kernel was not found. UserError in strict mode, otherwise a warning the first time; the text lists
// what the archives have of the kernel, and says how to add what is missing.
void report_not_archived(const std::string &kernel, const std::string &variant, const std::string &target);
std::string not_archived(const std::string &kernel, const std::string &variant, const std::string &target);

// The targets that this run records; none if it records nothing. UserError for SAMITE_AOT_TARGETS that are no
// targets.
std::vector<std::string> recorded_levels();         // of x86-64
std::vector<std::string> recorded_architectures();  // CUDA architectures, in addition to those of the devices in use

// SAMITE_AOT_ASSUME. UserError for other words.
struct RecordedAssumptions {
  bool aligned = false, apart = false, covering = false, large = false;
  bool any() const { return aligned || apart || covering || large; }
};
RecordedAssumptions recorded_assumptions();

bool records_archive();

// Adds an image to the archive that this run makes. UserError if that cannot be written.
void record_archived(ArchivedImage image);

}  // namespace samite
