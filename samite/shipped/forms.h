// The launch forms of the open archives, by kernel.
#pragma once

#include "samite/shipped/launch_form.h"

#include <memory>
#include <string>
#include <vector>

namespace samite::shipped {

// The forms of a kernel; none if no open archive has it. Read once for each set of open archives. UserError if an
// archive is damaged, or has kernels of this name with other parameters. Thread-safe.
std::shared_ptr<const std::vector<LaunchForm>> launch_forms_of(const std::string &kernel);

// UserError: no open archive can launch the kernel. Names those that can be launched.
[[noreturn]] void refuse_unknown(const std::string &kernel);

// UserError: no form of the kernel serves a launch with these arrays' gradients on this target. Says which is nearest.
[[noreturn]] void refuse_form(const std::vector<LaunchForm> &forms, const std::string &direction, std::uint64_t active,
                              const std::string &target);

// "adjoint of x for x86-64-v3; x contiguous".
std::string describe(const LaunchForm &form);

}  // namespace samite::shipped
