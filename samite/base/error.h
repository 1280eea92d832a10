// The three ways in which Samite can fail, all exceptions.
//
//   UserError      the program is wrong: names the user's line, what was expected, what was given, how to fix it
//   DeviceError    a driver, compiler, file system or device failed: the call and its own words
//   InternalError  Samite is wrong: asks for a report
#pragma once

#include "samite/base/source_location.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace samite {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  const char *what() const noexcept override { return text_ ? text_->c_str() : std::runtime_error::what(); }

  // Adds a second line that says where in the user's program the failed call was made, such as "launched at file:line".
  // Only the innermost of nested calls is added, and nothing if the message has that line already.
  void add_call(const char *what, SourceLocation where);

 private:
  std::shared_ptr<const std::string> text_;  // the message with that line, if there is one
};

// Runs a call of the user's, and adds its line to every error.
template <class F>
decltype(auto) at_call(const char *what, SourceLocation where, const F &call) {
  try {
    return call();
  } catch (Error &error) {
    error.add_call(what, where);
    throw;
  }
}

class UserError : public Error {
 public:
  explicit UserError(const std::string &message);
  // The message is prefixed with "file:line: ".
  UserError(SourceLocation where, const std::string &message);

  SourceLocation where() const { return where_; }

 private:
  SourceLocation where_;
};

class DeviceError : public Error {
 public:
  // `call` is the failed call with its arguments; `reason` is the callee's own message.
  DeviceError(const std::string &call, const std::string &reason);
  // The whole message, for failures of something other than the requested call.
  explicit DeviceError(const std::string &message);
};

class InternalError : public Error {
 public:
  explicit InternalError(const std::string &what, std::source_location where = std::source_location::current());
};

// Throws InternalError unless `condition` holds.
inline void internal_check(bool condition, const char *what,
                           std::source_location where = std::source_location::current()) {
  if (!condition) throw InternalError(what, where);
}

}  // namespace samite
