// Who else could have written what a cache holds? What is found there runs as the user's own code.
//
// A cache's folder and the files of its entries must belong to the user who runs this process, and nobody else may
// write to them: their group and others have no write bit. That is asked of what a link leads to, and of a link itself
// its owner, who could make it lead elsewhere; links of root are trusted. Nothing is asked of the folders above, not
// even in a shared /tmp: whoever puts another folder in the place of this one owns that one. Root, too, is refused a
// folder of another user.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace samite {

// What is wrong with the folder, and how to mend it: "its folder /a belongs to …"; nothing where it may be used, or is
// not there. Throws nothing.
std::optional<std::string> reason_not_to_use(const std::filesystem::path &folder);

// Whether an entry's file, by the status of the open file, is one that nobody else could have written.
bool belongs_to_user_alone(const struct stat &status);

}  // namespace samite
