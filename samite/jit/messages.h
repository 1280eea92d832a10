// The messages of a launch's instances, and their failed checks.
//
// A launch passes one of these to the kernel (codegen/failure.h), whose instances call it from any worker. Printed
// lines go to the sink immediately. Only the first failed check of the first instance is kept, so that the error does
// not depend on the partition of the launch.
#pragma once

#include "samite/codegen/debug_steps.h"
#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

namespace samite::jit {

// The text of a number in messages; `bits` holds it in its first bytes.
std::string text_of(ScalarType type, std::uint64_t bits);

class LaunchMessages : public codegen::Failure {
 public:
  LaunchMessages(const Variant &variant, const Extents &extents) : variant_(variant), extents_(extents) {
    message = &LaunchMessages::hear;
    debug = &codegen::debug_steps();
  }
  LaunchMessages(const LaunchMessages &) = delete;
  LaunchMessages &operator=(const LaunchMessages &) = delete;

  // After all boxes have run: whether the sink threw or a check failed.
  bool failed() const { return thrown_ || first_; }
  // Call once if it failed: throws the sink's exception, or a UserError that begins with `opening` after the line.
  [[noreturn]] void throw_first(const std::string &opening);

 private:
  using Instance = std::array<std::int64_t, ir::maximum_rank>;
  struct FailedCheck {
    Instance instance;
    SourceLocation where;
    std::string text;
    bool is_race;
  };

  static void hear(Failure *failure, std::uint32_t site, const std::int64_t *instance,
                   const std::uint64_t *values) noexcept;
  void check_failed(const codegen::MessageSite &site, const std::int64_t *instance, const std::uint64_t *values);

  const Variant &variant_;
  Extents extents_;
  std::mutex mutex_;  // protects the following
  std::optional<FailedCheck> first_;
  std::exception_ptr thrown_;
};

}  // namespace samite::jit
