// What each step makes of a kernel, as files, for people who want to see.
//
// Where the environment variable SAMITE_DUMP names a folder, which is made if it is not there, each step writes a file
// `<number>-<kernel>-<step>.<extension>` into it. Numbers count up through the process, so that the files in the order
// of their names are the steps in theirs. A file that cannot be written is a warning. Thread-safe.
#pragma once

#include <string_view>

namespace samite {

bool dumping();

// `contents` as they are: text, or an image.
void dump(std::string_view kernel, std::string_view step, std::string_view extension, std::string_view contents);

}  // namespace samite
