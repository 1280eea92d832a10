#include "samite/toolchain/host_image.h"

#include "samite/base/atomic_file.h"
#include "samite/base/dump.h"
#include "samite/base/error.h"
#include "samite/base/hash.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace samite {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// The loader treats two libraries with the same path as one, and descriptors are reused. "/" and "/./" name the same
// folder, so one of them for each bit of a counter gives every image a unique path. The path contains the process's
// number, because a debugger opens it as well, and "self" would be the debugger.
std::string unique_path(int descriptor) {
  static std::atomic<std::uint32_t> counter{0};
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/";
  for (std::uint32_t bits = counter++; bits != 0; bits >>= 1) path += (bits & 1) != 0 ? "./" : "/";
  return path + std::to_string(descriptor);
}

// The same file under a number that the process is unlikely to reuse: a debugger that attaches later opens the path of
// each image, and would block forever on a pipe with the same number.
Descriptor with_rare_number(Descriptor file) {
  rlimit limit{};
  if (file.number() < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return file;
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, 1 << 12);
  const int rare = fcntl(file.number(), F_DUPFD_CLOEXEC, static_cast<int>(most - most / 4));
  return rare < 0 ? std::move(file) : Descriptor(rare);
}

// Linux grows a process's table of descriptors up to such a number. That takes 10 µs while the process has one thread,
// and later 20 ms, since the system then waits for all processors: so it happens when the library is loaded.
[[maybe_unused]] const bool table_has_grown = (with_rare_number(Descriptor(memfd_create("samite", MFD_CLOEXEC))), true);

// Empty if the system does not support such files or forbids running code from them.
std::optional<DynamicLibrary> load_from_memory(const std::string &name, std::string_view bytes) {
#ifdef MFD_EXEC
  constexpr unsigned runnable = MFD_EXEC;
#else
  constexpr unsigned runnable = 0x10u;
#endif
  // Profilers and memory maps show this name; the system allows it 249 bytes.
  const std::string file_name = "samite-" + name.substr(0, 200);
  int number = memfd_create(file_name.c_str(), MFD_CLOEXEC | runnable);
  if (number < 0 && errno == EINVAL) number = memfd_create(file_name.c_str(), MFD_CLOEXEC);  // before Linux 6.3
  const Descriptor file = with_rare_number(Descriptor(number));
  if (file.number() < 0) return std::nullopt;
  const std::string path = unique_path(file.number());
  try {
    write_file(path, bytes);
    return DynamicLibrary(path);
  } catch (const std::system_error &) {
    return std::nullopt;
  } catch (const DeviceError &) {
    return std::nullopt;
  }
}

DynamicLibrary load_from_temporary_file(std::string_view bytes) {
  std::string path = (std::filesystem::temp_directory_path() / "samite-kernel-XXXXXX").string();
  const Descriptor file(mkstemp(path.data()));
  if (file.number() < 0) throw std::system_error(errno, std::generic_category(), "cannot create " + path);
  struct Removal {
    const std::string &path;
    ~Removal() { unlink(path.c_str()); }
  } removal{path};
  write_file(path, bytes);
  return DynamicLibrary(path);
}

// A file for each content, which stays: profilers read it after the process has ended.
DynamicLibrary load_from_folder(const std::filesystem::path &folder, const std::string &name, std::string_view bytes) {
  std::filesystem::create_directories(folder);
  std::string file = name.substr(0, 100);
  std::ranges::replace(file, '/', '_');
  const std::filesystem::path path = std::filesystem::absolute(folder) / (file + "-" + hash_of({bytes}).hex() + ".so");
  write_file_atomically(path, bytes);
  return DynamicLibrary(path.string());
}

}  // namespace

std::shared_ptr<const HostImage> HostImage::load(const std::string &name, std::string_view shared_object) {
  dump(name, "link", "so", shared_object);
  const char *folder = std::getenv("SAMITE_IMAGES");
  const bool in_folder = folder != nullptr && *folder != '\0';
  if (!in_folder)
    if (auto library = load_from_memory(name, shared_object)) return std::make_shared<HostImage>(std::move(*library));
  try {
    return std::make_shared<HostImage>(in_folder ? load_from_folder(folder, name, shared_object)
                                                 : load_from_temporary_file(shared_object));
  } catch (const std::exception &error) {
    throw DeviceError("loading the compiled code of \"" + name + "\"", error.what());
  }
}

}  // namespace samite
