// The C functions of an archive: a header, and a source that contains the archive.
#pragma once

#include "samite/shipped/launch_form.h"
#include "samite/toolchain/image_archive.h"

#include <string>
#include <vector>

// The archive's launch forms, grouped by kernel in the order of the kernels' names. Throws UserError if a form is
// damaged, two functions would have the same name in C, or there is no kernel.
std::vector<std::vector<samite::shipped::LaunchForm>> forms_by_kernel(const samite::ImageArchive &archive);

// `name` is the name of the files and of the archive, "kernels" for kernels.h.
std::string c_header(const std::string &name, const std::vector<std::vector<samite::shipped::LaunchForm>> &kernels);
// `archive` is the path of the file that the assembler includes.
std::string c_source(const std::string &name, const std::string &archive,
                     const std::vector<std::vector<samite::shipped::LaunchForm>> &kernels);
