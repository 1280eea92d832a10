// Programs that ship their kernels: archives of images, opened by the program, and made by a run of it.
//
//   SAMITE_AOT_RECORD=kernels.samite ./simulation     on a machine with a compiler: writes what the run compiles
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
//   SAMITE_AOT_TARGETS   the targets of a recording run, separated by commas or spaces; otherwise x86-64-v2,
//                        x86-64-v3 and x86-64-v4. An archive's best level that the machine has is used. Architectures
//                        of CUDA ("sm_80", "sm_90a", "sm_100f", or "compute_80" for PTX) need neither a GPU nor a
//                        driver. An archive also has the kernels that the run launches on GPUs.
//   SAMITE_AOT_ADJOINTS  kernels that are recorded without a launch, forward and adjoint, with the arrays that track
//                        gradients: "scale(y,x) loss(total,x)" (jit/named_adjoints.h)
//   SAMITE_AOT_ASSUME    facts that kernels for those CUDA targets may use: "aligned" (rows of arrays begin at
//                        multiples of 16 bytes and, for tiles, take such multiples), "apart" (arrays share no memory),
//                        "covering" (an adjoint's launch covers its arrays), "large" (launches have many instances).
//                        Each target then has a variant that relies on these, besides one that relies on none.
//
// Thread-safe.
#pragma once

#include "samite/base/source_location.h"

#include <span>
#include <string>

namespace samite {

// From now on kernels find their images in it. Opening an archive again, by the same path or name, replaces it.
// UserError if the file cannot be read or is not an archive (toolchain/image_archive.h).
void open_archive(const std::string &path, SourceLocation where = std::source_location::current());

// The same for an archive in memory that stays: one that is linked into the program. `name` is for messages.
void open_archive(const std::string &name, std::span<const char> bytes,
                  SourceLocation where = std::source_location::current());

}  // namespace samite
