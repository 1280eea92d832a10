// Writes the result of each step of a kernel's compilation to files, to be read by people.
//
// If the environment variable SAMITE_DUMP names a folder, which is made if needed, each step writes a file
// `<number>-<kernel>-<step>.<extension>` into it. The numbers increase throughout the process, so that sorting the
// files by name gives the order of the steps. A file that cannot be written is a warning. Thread-safe.
#pragma once

#include <string_view>

namespace samite {

bool dumping();

// Writes `contents` unchanged: text, or an image.
void dump(std::string_view kernel, std::string_view step, std::string_view extension, std::string_view contents);

}  // namespace samite
