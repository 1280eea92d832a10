// C++ text to code that this process can call: what `jit` asks of the CPU's toolchain.
//
// An image comes from the first of: this process, if one with the same content is still loaded; the disk cache; the
// compiler. Only the last opens the plug-in with Clang in it, so a program whose kernels are all cached never maps
// LLVM. The key is a hash of source, prelude, options, target machine and the compiler's build.
//
// The prelude is one header text that comes before the source. It is parsed once into a precompiled header, kept in
// memory and in the disk cache; a compile then costs the kernel's own text.
//
// A kernel may call functions of other sources, its objects: all are compiled at the same time and linked into one
// image. An object is kept by its own content, so that it is compiled once for all kernels that link it.
//
// Thread-safe. Different kernels compile at the same time; threads that ask for one kernel get one compile.
#pragma once

#include "samite/toolchain/host_image.h"
#include "samite/toolchain/object_report.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samite {

struct HostSource {
  std::string name;  // of the kernel, for diagnostics, debuggers and profilers
  // C++20 without exceptions, run-time types and headers. `extern "C"` functions are found by HostImage::symbol. It
  // may call the C library, libm and libmvec; anything else reaches a kernel as an argument.
  std::string text;
  bool debug_info = false;
  int optimization = 2;      // 0 to 3
  std::string variant = {};  // for archives: which form of the kernel it is
};

// Where the time went. What did not happen took 0.
struct CompileReport {
  bool from_memory = false;              // the image was loaded already
  bool from_archive = false;             // an open archive had it
  bool from_cache = false;               // the disk cache had it
  bool plugin_was_open = false;          // before this call
  bool prelude_was_precompiled = false;  // before this call, in memory or on disk; true where none was needed
  // objects_ms is the time until the last object is there, of which frontend_ms and backend_ms are the kernel's own.
  double total_ms = 0, open_ms = 0, prelude_ms = 0, objects_ms = 0, frontend_ms = 0, backend_ms = 0, link_ms = 0,
         load_ms = 0;
  std::size_t object_bytes = 0, image_bytes = 0;
  // The kernel's own first, then those given; none where the image was there already.
  std::vector<ObjectReport> objects;
};

struct CompiledHost {
  std::shared_ptr<const HostImage> image;
  CompileReport report;
};

// Throws InternalError with the diagnostics and the lines they blame where the text does not compile or link,
// DeviceError where the compiler is missing or the image does not load.
CompiledHost compile_host(const HostSource &source, std::string_view prelude, std::span<const HostSource> objects = {});

// The image of an open archive that was made of these texts for this level of x86-64, where there is one. UserError
// where it is damaged, DeviceError where it does not load.
std::optional<CompiledHost> find_host(const HostSource &source, std::string_view prelude,
                                      std::span<const HostSource> objects, const std::string &level);

// Compiles for this level of x86-64 into the archive that this run records.
void record_host(const HostSource &source, std::string_view prelude, std::span<const HostSource> objects,
                 const std::string &level);

int host_compile_count();     // runs of the compiler on a source by this process; what a cache answered is not one
bool host_compiler_loaded();  // whether this process has opened the plug-in

}  // namespace samite
