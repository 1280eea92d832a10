// What is left of a Kernel, a Launch, a Graph or a Tape after it was moved from, and what a Kernel is that was
// constructed of nothing.
//
// Such an object may be destroyed, copied and assigned to. Anything else is a UserError.
#pragma once

#include "samite/base/source_location.h"

#include <memory>
#include <utility>

namespace samite::jit {

// `type` is the user's name for the object's type: "Kernel". Where no location is given, the call around adds the
// user's line (at_call).
[[noreturn]] void refuse_moved_from(const char *type, SourceLocation where = {});

// What a handle stands for, shared with its copies. A handle that was moved from has none, and says so when asked.
template <class T>
class Held {
 public:
  Held(std::shared_ptr<T> held, const char *type) noexcept : held_(std::move(held)), type_(type) {}

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

// Knows whether the object that it is a member of was moved from.
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
