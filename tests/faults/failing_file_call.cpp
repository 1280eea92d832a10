#include "tests/faults/failing_file_call.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace samite::test {
namespace {

struct Plan {
  int number, error;
  std::vector<std::string> calls;
};
thread_local Plan *plan = nullptr;

// Whether the call that begins is the one that fails.
bool fails(const char *call) {
  if (plan == nullptr) return false;
  plan->calls.emplace_back(call);
  if (static_cast<int>(plan->calls.size()) != plan->number) return false;
  errno = plan->error;
  return true;
}

}  // namespace

FailingFileCall::FailingFileCall(int number, int error) {
  static thread_local Plan of_thread;
  of_thread = {number, error, {}};
  plan = &of_thread;
}

FailingFileCall::~FailingFileCall() { plan = nullptr; }

const std::vector<std::string> &FailingFileCall::calls() const { return plan->calls; }

}  // namespace samite::test

using samite::test::fails;

// Each makes the system's call, so that it may be called before anything in this process has begun.
extern "C" {

int mkdir(const char *path, mode_t mode) {
  return fails("mkdir") ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails("open") ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t read(int file, void *to, size_t bytes) {
  return fails("read") ? -1 : static_cast<ssize_t>(syscall(SYS_read, file, to, bytes));
}
ssize_t write(int file, const void *from, size_t bytes) {
  if (fails("write")) {
    if (errno != 0) return -1;
    bytes = (bytes + 1) / 2;
  }
  return static_cast<ssize_t>(syscall(SYS_write, file, from, bytes));
}
int fstat(int file, struct stat *status) noexcept {
  return fails("fstat") ? -1 : static_cast<int>(syscall(SYS_fstat, file, status));
}
int fsync(int file) { return fails("fsync") ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int close(int file) {
  const bool failed = fails("close");
  const int error = errno;
  const int result = static_cast<int>(syscall(SYS_close, file));
  if (!failed) return result;
  errno = error;
  return -1;
}
int rename(const char *from, const char *to) noexcept {
  return fails("rename") ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"
