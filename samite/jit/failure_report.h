// Turns a kernel's failure record into an error.
#pragma once

#include "samite/base/error.h"
#include "samite/jit/variant.h"

#include <string>

namespace samite::jit {

// "kernel 'axpy' (forward): "
std::string opening(const Variant &variant, const std::string &kernel);

// An index outside of an array. `array` is the kernel's argument.
class OutsideOfArray : public UserError {
 public:
  struct Index {
    std::uint32_t array, dimension;
    std::int64_t index, extent;
  };
  OutsideOfArray(SourceLocation where, const std::string &opening, const std::string &name, const Index &index);

  const Index &index() const { return index_; }
  // The same of an array whose first element has this index.
  UserError counted_from(std::int64_t first) const;

 private:
  std::string opening_, name_;
  Index index_;
};

// OutsideOfArray or UserError for the access or division that failed, with instance, array, index, extent and line;
// DeviceError if an instance got no memory for a local array. `device` is the device's name, for the latter.
[[noreturn]] void throw_failure(const Variant &variant, const std::string &kernel, const std::string &device,
                                const codegen::Failure &failure);

}  // namespace samite::jit
