// A module for Python of a user's own kernels.
//
//   #include <samite/python/module.h>
//   #include <samite/samite.h>
//   using namespace samite;
//
//   Kernel diffuse{"diffuse", {"next", "now", "rate"}, [](Array<float, 2> next, Array<const float, 2> now, Float rate)
//   {
//     …
//   }};
//   SAMITE_PYTHON_MODULE(my_kernels, module) { module.def(diffuse); }
//
// CMake's samite_add_python_module(my_kernels my_kernels.cpp) builds it (cmake/samite-python.cmake), and from then on
//
//   import my_kernels
//   my_kernels.diffuse(next, now, rate=0.2, extents=(512, 512))
//
// A Pipeline is added in the same way. samite.load("my_kernels.cpp") in Python compiles such a source without CMake.
//
// The module needs no header of Python's and links none of its libraries, so that one file serves every Python 3.11 or
// newer. Its requests to Python are in the package `samite`, which it imports. An exception in the body of the macro
// becomes Python's.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/jit/scheduled.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// All of Python's API that a module itself calls. PyObject is Python's name for _object.
struct _object;
extern "C" void *PyCapsule_Import(const char *name, int no_block);  // NOLINT(readability-redundant-declaration)

namespace samite::python {

// One kernel for a module.
struct KernelForModule {
  std::string name, documentation;
  std::shared_ptr<jit::KernelDefinition> definition;
  std::vector<std::size_t> counts;  // by parameter of the user's function, those of the kernel: of a struct several
};

// One pipeline for a module.
struct PipelineForModule {
  std::string name, documentation;
  std::shared_ptr<jit::PipelineDefinition> definition;
  std::vector<std::size_t> counts;
};

class Module {
 public:
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  // Adds a kernel or a pipeline under its own name, which is an identifier, or under another one.
  template <class... Ps>
  void def(const Kernel<void(Ps...)> &kernel, std::string documentation = {}) {
    def(kernel.name(), kernel, std::move(documentation));
  }
  template <class... Ps>
  void def(std::string name, const Kernel<void(Ps...)> &kernel, std::string documentation = {}) {
    add(KernelForModule{
        std::move(name), std::move(documentation), kernel.definition(), {lang::parameter_count<Ps>...}});
  }
  template <class... Ps>
  void def(const Pipeline<void(Ps...)> &pipeline, std::string documentation = {}) {
    def(pipeline.name(), pipeline, std::move(documentation));
  }
  template <class... Ps>
  void def(std::string name, const Pipeline<void(Ps...)> &pipeline, std::string documentation = {}) {
    add(PipelineForModule{
        std::move(name), std::move(documentation), pipeline.definition(), {lang::parameter_count<Ps>...}});
  }

 protected:
  Module() = default;
  ~Module() = default;

 private:
  virtual void add(KernelForModule kernel) = 0;
  virtual void add(PipelineForModule pipeline) = 0;
};

// A module's request to the package. Its layout is fixed, so that any two versions can exchange at least this.
struct ModuleRequest {
  std::uint32_t interface_version;
  const char *library_version;  // of the headers that the module was compiled with
  const void *library;          // an address in the library that the module has been linked with
  const char *name;
  void (*define)(Module &);
};

// Incremented with each change of the declarations above ModuleRequest.
inline constexpr std::uint32_t interface_version = 2;
inline constexpr const char *interface_name = "samite._samite.interface";

struct Interface {
  // Null with Python's error set if the module belongs to another version of the library, or throws.
  _object *(*make_module)(const ModuleRequest &request) noexcept;
};

inline _object *make_module(const char *name, const char *library_version, void (*define)(Module &)) noexcept {
  const auto *interface = static_cast<const Interface *>(PyCapsule_Import(interface_name, 0));
  if (!interface) return nullptr;
  const void *library = reinterpret_cast<const void *>(&jit::check_index);
  return interface->make_module({interface_version, library_version, library, name, define});
}

}  // namespace samite::python

#ifndef SAMITE_PYTHON_VERSION
#define SAMITE_PYTHON_VERSION "unknown"
#endif

// The body of a function that gets a samite::python::Module of that name follows.
#define SAMITE_PYTHON_MODULE(name, module)                                                     \
  static void samite_define_##name(::samite::python::Module &module);                          \
  extern "C" __attribute__((visibility("default"))) _object *PyInit_##name() {                 \
    return ::samite::python::make_module(#name, SAMITE_PYTHON_VERSION, &samite_define_##name); \
  }                                                                                            \
  static void samite_define_##name([[maybe_unused]] ::samite::python::Module &module)
