#include "samite/toolchain/clang_plugin/image_linker.h"

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

LLD_HAS_DRIVER(elf)

namespace samite::clang_plugin {
namespace {

// A descriptor with a path for LLD.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { reset(); }

  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void read_until_end(int descriptor, std::string &bytes) {
  char chunk[1 << 16];
  for (;;) {
    const ssize_t got = read(descriptor, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
}

// The libraries that kernels may call, as the system's loader finds them. Linking their real files adds symbol
// versions; without one the loader would bind the oldest `expf` in glibc.
const std::vector<std::string> &system_libraries() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> found;
    for (const char *name : {"libmvec.so.1", "libm.so.6", "libc.so.6"}) {
      void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
      if (library == nullptr) continue;  // not every machine has libmvec
      link_map *map = nullptr;
      if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) == 0) found.emplace_back(map->l_name);
    }
    return found;
  }();
  return paths;
}

}  // namespace

Linked link_image(std::span<const SamiteText> objects) {
  const auto start = std::chrono::steady_clock::now();

  Linked result;
  // LLD writes a regular file through a temporary file next to it, which fails below /proc. Into a pipe it writes the
  // whole image at once, more than the pipe holds, hence the thread that drains it.
  int ends[2] = {-1, -1};
  std::vector<std::unique_ptr<const Descriptor>> inputs;
  bool kept = true;
  for (const SamiteText &object : objects) {
    inputs.push_back(std::make_unique<Descriptor>(memfd_create("samite-object", MFD_CLOEXEC)));
    kept = kept && inputs.back()->number() >= 0 && write_all(inputs.back()->number(), {object.data, object.size});
  }
  if (!kept || pipe2(ends, O_CLOEXEC) != 0) {
    result.diagnostics = std::string("cannot keep an object file in memory: ") + std::strerror(errno);
    return result;
  }
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const std::string output_path = write_end.path();
  std::vector<std::string> input_paths;
  for (const auto &input : inputs) input_paths.push_back(input->path());
  std::thread reader([&] { read_until_end(read_end.number(), result.bytes); });

  std::vector<const char *> arguments = {"ld.lld", "-shared", "-o", output_path.c_str()};
  for (const std::string &path : input_paths) arguments.push_back(path.c_str());
  arguments.push_back("--as-needed");
  for (const std::string &library : system_libraries()) arguments.push_back(library.c_str());
  for (const char *argument :
       {"-z", "defs", "-z", "now", "-z", "noseparate-code", "-Bsymbolic", "--eh-frame-hdr", "--build-id=none",
        "--hash-style=gnu", "--threads=1", "--color-diagnostics=never", "--error-limit=20"})
    arguments.push_back(argument);

  llvm::raw_string_ostream messages(result.diagnostics);
  const bool linked = lld::elf::link(arguments, messages, messages, /*exitEarly=*/false, /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  write_end.reset();
  reader.join();
  result.ok = linked && !result.bytes.empty();
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace samite::clang_plugin
