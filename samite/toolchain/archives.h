// Programs that ship their kernels: archives of images, opened by the program, and made by a run of it.
//
//   SAMITE_AOT_RECORD=kernels.samite ./simulation     where there is a compiler: writes what the run compiles
//   SAMITE_AOT_ARCHIVES=kernels.samite ./simulation   anywhere: needs no compiler
//
// or open_archive("kernels.samite") in the program, or samite_add_kernels() of the CMake package, which links the
// archive into it. Kernels look into the open archives first, then into this process, the disk cache and for a
// compiler. A kernel is still traced, differentiated and lowered, which takes milliseconds; its text must be the one
// that was compiled, so an archive serves the version of the library that made it.
//
// Environment:
//   SAMITE_AOT_ARCHIVES  paths of archives, separated by colons, which are opened before the first launch
//   SAMITE_AOT=strict    a kernel that no open archive has is an error; otherwise it is compiled, with a warning
//   SAMITE_AOT_RECORD    the archive that this run adds its images to
//   SAMITE_AOT_TARGETS   what a recording run compiles for, separated by commas or spaces; otherwise x86-64-v2,
//                        x86-64-v3 and x86-64-v4. An archive's best level that the machine has is used. Architectures
//                        of CUDA ("sm_80", "sm_90a", "sm_100f", or "compute_80" for PTX) need neither a GPU nor a
//                        driver. An archive also has the kernels that the run launches on GPUs.
//   SAMITE_AOT_ASSUME    what kernels for those CUDA targets may rely on: "aligned" (rows of arrays begin at multiples
//                        of 16 bytes and, for tiles, take such multiples), "apart" (arrays share no memory), "covering"
//                        (an adjoint's launch covers its arrays), "large" (launches have many instances). Each target
//                        then has a variant that relies on these, beside the one that relies on none.
//
// Thread-safe.
#pragma once

#include "samite/base/source_location.h"
#include "samite/toolchain/image_archive.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

// From now on kernels find their images in it. Opening an archive again, by the same path or name, replaces it.
// UserError where the file cannot be read or is no archive (toolchain/image_archive.h).
void open_archive(const std::filesystem::path &path, SourceLocation where = std::source_location::current());

// The same of an archive in memory that stays: one that is linked into the program. `name` is for messages.
void open_archive(const std::string &name, std::span<const char> bytes,
                  SourceLocation where = std::source_location::current());

// For the library.

struct FoundImage {
  std::shared_ptr<const ImageArchive> archive;
  std::string_view content;  // as long as the archive
};
std::optional<FoundImage> find_archived(const Hash128 &key);

bool archives_are_open();

// What open archives have of a kernel: the facts are as of the image (ArchivedImage::facts), each pair once.
struct ArchivedForm {
  std::string target, facts;
  friend bool operator==(const ArchivedForm &, const ArchivedForm &) = default;
};
// Those whose facts begin with `first_fact`.
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

// A kernel was looked for and not found. UserError in strict mode, otherwise a warning at its first time; the text says
// what the archives have of the kernel, and how to add what they lack.
void report_not_archived(const std::string &kernel, const std::string &variant, const std::string &target);
std::string not_archived(const std::string &kernel, const std::string &variant, const std::string &target);

// The targets that this run records; none where it records nothing. UserError for SAMITE_AOT_TARGETS that are no
// targets.
std::vector<std::string> recorded_levels();         // of x86-64
std::vector<std::string> recorded_architectures();  // of CUDA, beside those of the devices that it uses

// SAMITE_AOT_ASSUME. UserError for other words.
struct RecordedAssumptions {
  bool aligned = false, apart = false, covering = false, large = false;
  bool any() const { return aligned || apart || covering || large; }
};
RecordedAssumptions recorded_assumptions();

bool records_archive();

// Adds an image to the archive that this run makes. UserError where that cannot be written.
void record_archived(ArchivedImage image);

}  // namespace samite
