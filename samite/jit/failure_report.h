// Turns a kernel's failure record into an error.
#pragma once

#include "samite/jit/variant.h"

#include <string>

namespace samite::jit {

// "kernel 'axpy' (forward): "
std::string opening(const Variant &variant, const std::string &kernel);

// UserError for the access or division that failed, with instance, array, index, extent and line; DeviceError if an
// instance got no memory for a local array. `device` is the device's name, for the latter.
[[noreturn]] void throw_failure(const Variant &variant, const std::string &kernel, const std::string &device,
                                const codegen::Failure &failure);

}  // namespace samite::jit
