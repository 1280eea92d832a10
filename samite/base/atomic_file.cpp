#include "samite/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace samite {
namespace {

[[noreturn]] void fail(const char *what, const std::filesystem::path &path, int code = errno) {
  throw std::system_error(code, std::generic_category(), std::string(what) + " " + path.string());
}

class File {
 public:
  File(const std::filesystem::path &path, int flags, const char *what)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail(what, path);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write", path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void force_to_disk() {
    if (::fsync(descriptor_) != 0) fail("cannot write", path_);
  }

  // Network file systems report a full disk when a file is closed.
  void close() {
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    if (result != 0 && errno != EINTR) fail("cannot write", path_);
  }

  struct stat status() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail("cannot read", path_);
    return status;
  }

  // Reads at most this many bytes.
  std::string read(std::size_t most) {
    std::string bytes(most, '\0');
    std::size_t have = 0;
    while (have < most) {
      const ssize_t got = ::read(descriptor_, bytes.data() + have, most - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot read", path_);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  // Reads to the end: the file may grow meanwhile, or have no size, as a pipe.
  std::string read() {
    std::string bytes;
    // Reading one byte more than expected shows whether the file ends there.
    for (std::size_t most = bytes_of(status()) + 1;; most = bytes.size()) {
      const std::string more = read(most);
      bytes += more;
      if (more.size() < most) return bytes;
    }
  }

  static std::size_t bytes_of(const struct stat &status) { return static_cast<std::size_t>(status.st_size); }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// The rename is durable only after the folder is synchronised.
void force_folder_to_disk(const std::filesystem::path &folder) {
  File(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, "cannot open").force_to_disk();
}

}  // namespace

void write_file_atomically(const std::filesystem::path &path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path temporary = path;
  temporary += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  File file(temporary, O_WRONLY | O_CREAT | O_EXCL, "cannot create");
  try {
    file.write(bytes);
    file.force_to_disk();
    file.close();
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot replace", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  force_folder_to_disk(path.parent_path());
}

void write_file(const std::filesystem::path &path, std::string_view bytes) {
  File file(path, O_WRONLY | O_CREAT | O_TRUNC, "cannot create");
  file.write(bytes);
  file.close();
}

std::string read_file(const std::filesystem::path &path) { return File(path, O_RDONLY, "cannot open").read(); }

std::optional<std::string> read_file_if(const std::filesystem::path &path,
                                        const std::function<bool(const struct stat &status)> &wanted) {
  File file(path, O_RDONLY | O_NONBLOCK, "cannot open");
  const struct stat status = file.status();
  if (!wanted(status)) return std::nullopt;
  // Reading one byte more shows whether the file has grown.
  std::string bytes = file.read(File::bytes_of(status) + 1);
  if (bytes.size() > File::bytes_of(status)) return std::nullopt;
  return bytes;
}

}  // namespace samite
