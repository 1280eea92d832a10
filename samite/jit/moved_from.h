// Detects use of a moved-from Kernel, Launch, Graph or Tape, and of a default-constructed Kernel.
//
// Such an object may be destroyed, copied and assigned to. Any other use is a UserError.
#pragma once

#include "samite/base/source_location.h"

#include <memory>
#include <utility>

namespace samite::jit {

// `type` is the user's name for the object's type: "Kernel". Without a location, the enclosing call adds the user's
// line (at_call).
[[noreturn]] void refuse_moved_from(const char *type, SourceLocation where = {});

// The object behind a handle, shared by its copies. A moved-from handle is empty, and throws on access.
template <class T>
class Held {
 public:
  Held(std::shared_ptr<T> held, const char *type) noexcept : held_(std::move(held)), type_(type) {}

  bool is_empty() const noexcept { return held_ == nullptr; }
  T *operator->() const { return &**this; }
  T &operator*() const {
    if (!held_) refuse_moved_from(type_);
    return *held_;
  }
  const std::shared_ptr<T> &share(SourceLocation where = {}) const {
    if (!held_) refuse_moved_from(type_, where);
    return held_;
  }

 private:
  std::shared_ptr<T> held_;
  const char *type_;
};

// Whether the object that contains this member was moved from.
class MovedFrom {
 public:
  MovedFrom() = default;
  MovedFrom(const MovedFrom &) = default;
  MovedFrom(MovedFrom &&from) noexcept : moved_(std::exchange(from.moved_, true)) {}
  MovedFrom &operator=(const MovedFrom &) = default;
  MovedFrom &operator=(MovedFrom &&from) noexcept {
    moved_ = this == &from ? moved_ : std::exchange(from.moved_, true);
    return *this;
  }
  ~MovedFrom() = default;

  void check(const char *type, SourceLocation where) const {
    if (moved_) refuse_moved_from(type, where);
  }

 private:
  bool moved_ = false;
};

}  // namespace samite::jit
