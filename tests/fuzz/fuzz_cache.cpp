// Whatever the contents of a cache's files: an entry is found as it was published or not at all, and is published
// again. And any bytes read as an image are described, or refused as damaged.
//
// The input is a list of steps, each a byte and its arguments: publish, find, remove, prune; write bytes of the input
// into a file, truncate it, exchange it with another. The folder is in memory if the machine has /dev/shm.
#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/base/warning.h"
#include "samite/toolchain/cuda_image.h"
#include "samite/toolchain/object_cache.h"
#include "tests/fuzz/one_input.h"

#include <fuzzer/FuzzedDataProvider.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

namespace samite::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr unsigned entries = 3;

Hash128 key_of(unsigned number) { return hash_of({"entry", std::to_string(number)}); }
std::string content_of(unsigned number) { return std::string(10 * number, static_cast<char>('a' + number)); }

// Gone after each input, since libFuzzer ends a process without any clean-up.
class Folder {
 public:
  Folder() {
    const fs::path memory = "/dev/shm";
    path_ = (fs::exists(memory) ? memory : fs::temp_directory_path()) / ("samite-fuzz-" + std::to_string(::getpid()));
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path &path() const { return path_; }

 private:
  fs::path path_;
};

void run_cache(FuzzedDataProvider &input) {
  set_warning_sink([](std::string_view) {});
  const Folder folder;
  const fs::path cache_folder = folder.path() / "cache";
  ObjectCache cache(cache_folder, 200);
  const auto number = [&] { return input.ConsumeIntegralInRange(0U, entries - 1); };
  const auto file = [&] {
    return cache_folder / "objects" / key_of(number()).hex() / (input.ConsumeBool() ? "content" : "manifest");
  };
  std::error_code ignored;
  while (input.remaining_bytes() > 0) {
    switch (input.ConsumeIntegralInRange(0, 8)) {
      case 0:
      case 1: {
        const unsigned at = number();
        cache.publish(key_of(at), content_of(at));
        break;
      }
      case 2:
      case 3: {
        const unsigned at = number();
        const auto found = cache.find(key_of(at));
        if (found && *found != content_of(at)) defect("an entry has wrong content", *found);
        break;
      }
      case 4: cache.remove(key_of(number())); break;
      case 5: cache.prune(); break;
      case 6: try { write_file(file(), input.ConsumeRandomLengthString(200));
        } catch (const std::system_error &) {  // no such entry
        }
        break;
      case 7: fs::resize_file(file(), input.ConsumeIntegralInRange(0, 300), ignored); break;
      default: fs::rename(file(), file(), ignored);
    }
  }
  // Whatever happened: an entry that is published now is found, if nothing is pruned and the entry is not damaged.
  ObjectCache roomy(cache_folder, 1 << 20);
  if (!roomy.find(key_of(0))) roomy.publish(key_of(0), content_of(0));
  if (const auto found = roomy.find(key_of(0)); !found || *found != content_of(0)) defect("an entry cannot be mended");
}

}  // namespace
}  // namespace samite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace samite;
  if (size > 4 && data[0] == 0x7f) {  // as an image begins
    try {
      static_cast<void>(read_cuda_image({reinterpret_cast<const char *>(data), size}, "log"));
    } catch (const DeviceError &) {
    }
    return 0;
  }
  FuzzedDataProvider input(data, size);
  fuzz::run_cache(input);
  return 0;
}
