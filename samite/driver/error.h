// A failed call of the CUDA driver.
//
// The message has the call with its arguments, the driver's name and text for the code, the kernel and the user's line
// if known, and a remedy. If the code is a fault of earlier asynchronous work, the message says so first, with the
// launches that may have caused it; the call is then only the one that met it.
#pragma once

#include "samite/base/error.h"
#include "samite/driver/abi.h"

#include <string>
#include <string_view>

namespace samite::driver {

class DriverError : public DeviceError {
 public:
  DriverError(Result code, const std::string &message) : DeviceError(message), code_(code) {}

  Result code() const noexcept { return code_; }

 private:
  Result code_;
};

// A code's consequences for later calls; the table in abi.h has the meaning of each.
enum class ResultKind { call, fault, lost };

ResultKind kind_of(Result code) noexcept;

// "CUDA_ERROR_ILLEGAL_ADDRESS" for the codes of the table, else "".
std::string_view name_of(Result code) noexcept;

// A sentence with a remedy, if there is one; else "".
std::string_view remedy_of(Result code) noexcept;

// The purpose of a call, as far as known. The kernel's name must live as long as the process: it is the text that a
// Kernel interns.
struct Origin {
  const char *kernel = nullptr;
  SourceLocation where{};

  // "file.cpp:12: kernel \"axpy\": ", or the known parts of it.
  std::string prefix() const;
};

}  // namespace samite::driver
