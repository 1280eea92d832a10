#include "requirements.h"

#include "samite/runtime/device.h"
#include "samite/toolchain/clang_plugin_loader.h"
#include "samite/toolchain/nvrtc.h"

#include <nanobind/stl/string.h>

#include <functional>

namespace samite::python {
namespace {

// The name, a text, and whether it was found. The text says what was found, or what is missing and how to install it.
nb::tuple requirement(const char *name, const std::function<std::string()> &find) {
  try {
    return nb::make_tuple(name, find(), true);
  } catch (const Error &error) {
    return nb::make_tuple(name, std::string(error.what()), false);
  }
}

}  // namespace

void define_requirements(nb::module_ &module) {
  module.def(
      "requirements",
      [] {
        nb::list all;
        all.append(requirement("CPU compiler", [] {
          clang_plugin();
          return clang_plugin_file();
        }));
        all.append(
            requirement("CUDA compiler", [] { return "NVRTC " + nvrtc().version.text() + ", " + nvrtc().path; }));
        return all;
      },
      "Opens the compilers; returns for each its name, what was found or is missing, and whether it was found.");
}

}  // namespace samite::python
