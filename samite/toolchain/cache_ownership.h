// Checks that only this user can have written a cache, since its content runs as the user's own code.
//
// A cache's folder and the files of its entries must belong to the user who runs this process, or to root, and must not
// be writable by group or others. This is checked for the target of a link, and for the link itself its owner, who
// could redirect it; root's links are trusted. Parent folders are not checked, not even a shared /tmp: a replacement
// folder would belong to the user who made it. Root is also refused a folder of another user.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace samite {

// The reason not to use the folder, and the fix: "its folder /a belongs to …"; empty if it may be used, or does not
// exist. Does not throw.
std::optional<std::string> reason_not_to_use(const std::filesystem::path &folder);

// Whether root owns the folder but does not run this process: its entries are read, and nothing is written or removed.
bool is_only_read(const std::filesystem::path &folder);

// Whether only this user or root can have written an entry's file, by the status of the open file.
bool belongs_to_user_alone(const struct stat &status);

}  // namespace samite
