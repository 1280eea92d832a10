// A failed call of the CUDA driver.
//
// The message holds the call with its arguments, the driver's name and text for the code, the kernel and the user's
// line where they are known, and what to do about it. Where the code is a fault of earlier asynchronous work, the
// message says that first, with the launches that may have caused it, and names the call as the one that met it.
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

// What a code says of later calls; the table in abi.h has the meaning of each.
enum class ResultKind { call, fault, lost };

ResultKind kind_of(Result code) noexcept;

// "CUDA_ERROR_ILLEGAL_ADDRESS" for the codes of the table, else "".
std::string_view name_of(Result code) noexcept;

// A sentence that says how to mend what the code means, where there is something to say; else "".
std::string_view remedy_of(Result code) noexcept;

// What a call was made for, as far as it is known. The kernel's name must outlive the process's launches: it is the
// text that a Kernel interns.
struct Origin {
  const char *kernel = nullptr;
  SourceLocation where{};

  // "file.cpp:12: kernel \"axpy\": ", or as much of it as is known.
  std::string prefix() const;
};

}  // namespace samite::driver
