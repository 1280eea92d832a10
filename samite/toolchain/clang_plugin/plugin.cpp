#include "samite/toolchain/clang_plugin/clang_compiler.h"
#include "samite/toolchain/clang_plugin/image_linker.h"

#include <exception>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>

namespace samite::clang_plugin {
namespace {

// The memory of an output, kept until `release`.
struct OwnedOutput {
  SamiteClangOutput view{};
  std::string bytes, diagnostics;

  const SamiteClangOutput *publish() {
    view.bytes = {bytes.data(), bytes.size()};
    view.diagnostics = {diagnostics.data(), diagnostics.size()};
    return &view;
  }
};
static_assert(offsetof(OwnedOutput, view) == 0, "release() finds the owner from the view");

// LLD begins by resetting LLVM's command-line options, which are global and which Clang's back end reads. So
// compilations may overlap one another, but not a link.
std::shared_mutex &llvm_options() {
  static std::shared_mutex mutex;
  return mutex;
}

Compiled compile_beside_others(const SamiteClangInput &input) {
  const std::shared_lock reading(llvm_options());
  return compile_object(input);
}

Linked link_alone(std::span<const SamiteText> objects) {
  const std::unique_lock writing(llvm_options());
  return link_image(objects);
}

template <class Work>
const SamiteClangOutput *guarded(Work work) {
  auto output = std::make_unique<OwnedOutput>();
  try {
    work(*output);
  } catch (const std::exception &error) {  // no exception may cross to the library
    output->view.ok = 0;
    output->diagnostics = error.what();
  }
  return output.release()->publish();
}

const SamiteClangOutput *precompile(const SamiteClangInput *input) {
  return guarded([&](OwnedOutput &output) {
    const std::shared_lock reading(llvm_options());
    Compiled prelude = precompile_prelude(*input);
    output.view.ok = prelude.ok;
    output.view.frontend_ms = prelude.frontend_ms;
    output.bytes = std::move(prelude.bytes);
    output.diagnostics = std::move(prelude.diagnostics);
  });
}

const SamiteClangOutput *compile(const SamiteClangInput *input) {
  return guarded([&](OwnedOutput &output) {
    Compiled object = compile_beside_others(*input);
    output.view.ok = object.ok;
    output.view.frontend_ms = object.frontend_ms;
    output.view.backend_ms = object.backend_ms;
    output.bytes = std::move(object.bytes);
    output.diagnostics = std::move(object.diagnostics);
  });
}

const SamiteClangOutput *link_objects(const SamiteText *objects, std::size_t count) {
  return guarded([&](OwnedOutput &output) {
    Linked image = link_alone({objects, count});
    output.view.ok = image.ok;
    output.view.link_ms = image.milliseconds;
    output.bytes = std::move(image.bytes);
    output.diagnostics = std::move(image.diagnostics);
  });
}

void release(const SamiteClangOutput *output) {
  const std::unique_ptr<const OwnedOutput> owner(reinterpret_cast<const OwnedOutput *>(output));
}

}  // namespace
}  // namespace samite::clang_plugin

extern "C" __attribute__((visibility("default"))) const SamiteClangPlugin *samite_clang_plugin(void) {
  using namespace samite::clang_plugin;
  static constexpr SamiteClangPlugin plugin{samite_clang_version, precompile, compile,
                                            link_objects,         release,    SAMITE_CLANG_PLUGIN_HASH};
  return &plugin;
}
