// Checks an operation's buffers. Messages say what is expected and what is given.
//
//   const OperandCheck check("attention", q, "q", where);
//   check.expect(k, "k", {batches, heads, terms, size}, q.type());
#pragma once

#include "samite/runtime/any_buffer.h"

#include <string>

namespace samite::ops::detail {

// The buffer in words, or "an empty buffer".
std::string text_of(const AnyBuffer &buffer);

class OperandCheck {
 public:
  // All buffers are on the device of `like`, whose name messages mention. `like` lives as long as the check.
  OperandCheck(std::string operation, const AnyBuffer &like, std::string name_of_like, SourceLocation where);

  // UserError unless the buffer has these extents and this type, on that device.
  void expect(const AnyBuffer &buffer, const char *what, const Extents &extents, ScalarType type) const;
  // UserError with this message.
  [[noreturn]] void fail(const std::string &what) const;

 private:
  std::string operation_;
  const AnyBuffer &like_;
  std::string name_of_like_;
  SourceLocation where_;
};

}  // namespace samite::ops::detail
