// Compiles C++ text to code for this process: the interface of the CPU's toolchain for `jit`.
//
// An image comes from the first of: this process, if one with the same content is still loaded; the disk cache; the
// compiler. Only the last opens the plug-in with Clang, so a program with only cached kernels never maps LLVM. The key
// is a hash of source, prelude, options, the target's instructions, and the compiler's version and settings: a cache
// serves any machine whose processor has the same instructions.
//
// The prelude is one header text that precedes the source. It is parsed once into a precompiled header, kept in memory
// and in the disk cache; a compile then costs only the kernel's own text.
//
// A kernel may call functions of other sources, its objects: all are compiled concurrently and linked into one image.
// An object is cached by its own content, so it is compiled once for all kernels that link it.
//
// Thread-safe. Different kernels compile concurrently; threads that request the same kernel cause one compile.
#pragma once

#include "samite/base/hash.h"
#include "samite/toolchain/host_image.h"
#include "samite/toolchain/host_target.h"
#include "samite/toolchain/object_report.h"

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samite {

// The header text that precedes a source. A cached image needs only its key, so a long text can be made when it is
// first compiled. Views into the text must live as long as the prelude and its copies.
class HostPrelude {
 public:
  template <std::convertible_to<std::string_view> Text>
  HostPrelude(const Text &text) : HostPrelude(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  explicit HostPrelude(std::string_view text) : key_(hash_of({text})), text_([text] { return text; }) {}
  // `key` is equal only for equal texts.
  HostPrelude(Hash128 key, std::function<std::string_view()> text) : key_(key), text_(std::move(text)) {}

  Hash128 key() const { return key_; }
  std::string_view text() const { return text_(); }

 private:
  Hash128 key_;
  std::function<std::string_view()> text_;
};

struct HostSource {
  std::string name;  // of the kernel, for diagnostics, debuggers and profilers
  // C++20 without exceptions, run-time types and headers. HostImage::symbol finds `extern "C"` functions. It may call
  // the C library, libm and libmvec; anything else must be an argument of a kernel.
  std::string text;
  bool debug_info = false;
  int optimization = 2;  // 0 to 3
  // For archives: the form of the kernel, and the facts that the text relies on.
  std::string variant = {}, facts = {};
};

// The times of the steps; 0 for skipped ones.
struct CompileTimes {
  // objects_ms is the time until the last object is available; frontend_ms and backend_ms are the kernel's own.
  double total_ms = 0, open_ms = 0, prelude_ms = 0, objects_ms = 0, frontend_ms = 0, backend_ms = 0, link_ms = 0,
         load_ms = 0;
};

struct CompileReport {
  bool from_memory = false;              // the image was loaded already
  bool from_archive = false;             // an open archive had it
  bool from_cache = false;               // the disk cache had it
  bool plugin_was_open = false;          // before this call
  bool prelude_was_precompiled = false;  // before this call, in memory or on disk; true if none was needed
  CompileTimes times;
  std::size_t object_bytes = 0, image_bytes = 0;
  // The kernel's own first, then the given ones; empty if the image already existed.
  std::vector<ObjectReport> objects;
};

struct CompiledHost {
  std::shared_ptr<const HostImage> image;
  CompileReport report;
};

// Throws InternalError with the diagnostics and the lines at fault if the text does not compile or link, DeviceError if
// the compiler is missing or the image does not load.
CompiledHost compile_host(const HostSource &source, const HostPrelude &prelude,
                          std::span<const HostSource> objects = {});

// The image in an open archive that was made from these texts for this level of x86-64, if there is one. UserError if
// it is damaged, DeviceError if it does not load.
std::optional<CompiledHost> find_host(const HostSource &source, const HostPrelude &prelude,
                                      std::span<const HostSource> objects, const std::string &level);

// Compiles for this level of x86-64 into the archive that this run records. Returns the image's key there.
Hash128 record_host(const HostSource &source, const HostPrelude &prelude, std::span<const HostSource> objects,
                    const std::string &level);

// The key in the disk cache of an image without objects. It depends on nothing of this machine except `target`.
Hash128 host_image_key(const HostSource &source, const HostPrelude &prelude, const HostTarget &target);

int host_compile_count();     // runs of the compiler on a source by this process, without cache hits
bool host_compiler_loaded();  // whether this process has opened the plug-in

}  // namespace samite
