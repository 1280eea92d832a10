// The C functions of an archive: a header, and a source that has the archive in it.
#pragma once

#include "samite/shipped/launch_form.h"
#include "samite/toolchain/image_archive.h"

#include <string>
#include <vector>

// By kernel, in the order of their names, the forms that the archive has. UserError where kernels or their C names
// collide, or there is none.
std::vector<std::vector<samite::shipped::LaunchForm>> forms_by_kernel(const samite::ImageArchive &archive);

// `name` is that of the files and of the archive, "kernels" for kernels.h.
std::string c_header(const std::string &name, const std::vector<std::vector<samite::shipped::LaunchForm>> &kernels);
// `archive` is the path of the file that the assembler includes.
std::string c_source(const std::string &name, const std::string &archive,
                     const std::vector<std::vector<samite::shipped::LaunchForm>> &kernels);
