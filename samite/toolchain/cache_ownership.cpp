#include "samite/toolchain/cache_ownership.h"

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <vector>

namespace samite {
namespace {

constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;

std::string user_name(uid_t user) {
  passwd entry{}, *found = nullptr;
  std::vector<char> text(4096);
  if (::getpwuid_r(user, &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return fmt::format("user {}", user);
  return fmt::format("user {} ({})", user, found->pw_name);
}

std::string belongs_to_another(const char *what, const std::filesystem::path &path, uid_t owner) {
  return fmt::format(
      "its {} {} belongs to {}, and this process runs as {}: another user could put code there that runs as yours. Set "
      "SAMITE_CACHE_DIR to a folder of your own, or remove this one.",
      what, path.string(), user_name(owner), user_name(::geteuid()));
}

}  // namespace

std::optional<std::string> reason_not_to_use(const std::filesystem::path &folder) {
  struct stat status{};
  const uid_t user = ::geteuid();
  if (::lstat(folder.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != user && status.st_uid != 0)
    return belongs_to_another("link", folder, status.st_uid);
  // An inaccessible folder cannot be used either; its use reports the error.
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISDIR(status.st_mode))
    return fmt::format(
        "{} is not a folder. Set SAMITE_CACHE_DIR to a folder of your own; SAMITE_CACHE_LIMIT_MB=0 switches the cache "
        "off.",
        folder.string());
  if (status.st_uid != user && status.st_uid != 0) return belongs_to_another("folder", folder, status.st_uid);
  if ((status.st_mode & writable_by_others) != 0)
    return fmt::format(
        "others may write to its folder {}, whose permissions are {:04o}: they could put code there that runs as "
        "yours. Run `chmod go-w {}` if only you have written there so far, or set SAMITE_CACHE_DIR to another folder.",
        folder.string(), status.st_mode & 07777, folder.string());
  return std::nullopt;
}

bool is_only_read(const std::filesystem::path &folder) {
  struct stat status{};
  return ::geteuid() != 0 && ::stat(folder.c_str(), &status) == 0 && status.st_uid == 0;
}

bool belongs_to_user_alone(const struct stat &status) {
  return S_ISREG(status.st_mode) && (status.st_uid == ::geteuid() || status.st_uid == 0) &&
         (status.st_mode & writable_by_others) == 0;
}

}  // namespace samite
