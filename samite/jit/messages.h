// What the instances of one launch print, and which of their checks failed.
//
// A launch hands one of these to the kernel (codegen/failure.h), whose instances call it from any worker. Printed lines
// go to the sink at once. Of the checks that fail the one of the first instance is kept, and of those of one instance
// the first, so that the error does not depend on how the launch was cut.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

namespace samite::jit {

// A number as messages have it; `bits` holds it in its first bytes.
std::string text_of(ScalarType type, std::uint64_t bits);

class LaunchMessages : public codegen::Failure {
 public:
  LaunchMessages(const Variant &variant, const Extents &extents) : variant_(variant), extents_(extents) {
    message = &LaunchMessages::hear;
  }
  LaunchMessages(const LaunchMessages &) = delete;
  LaunchMessages &operator=(const LaunchMessages &) = delete;

  // After all boxes have run: whether the sink threw or a check failed.
  bool failed() const { return thrown_ || first_; }
  // Once, where that is so: what the sink threw, or a UserError which begins with `opening` after the line.
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
  std::mutex mutex_;  // of what follows
  std::optional<FailedCheck> first_;
  std::exception_ptr thrown_;
};

}  // namespace samite::jit
