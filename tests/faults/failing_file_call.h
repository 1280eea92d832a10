// Calls of the file system that fail: this program has functions of its own in place of the C library's.
#pragma once

#include <string>
#include <vector>

namespace samite::test {

// During its lifetime, calls of this thread to mkdir, open, read, write, fstat, fsync, close and rename are counted,
// and the one of this number, counted from 1, fails with `error`; a failing close still closes. A write with error 0
// writes half of its bytes. One exists at a time in a thread.
class FailingFileCall {
 public:
  explicit FailingFileCall(int number, int error);
  FailingFileCall(const FailingFileCall &) = delete;
  FailingFileCall &operator=(const FailingFileCall &) = delete;
  ~FailingFileCall();

  // The names of the calls so far.
  const std::vector<std::string> &calls() const;
};

}  // namespace samite::test
