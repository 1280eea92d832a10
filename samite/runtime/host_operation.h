// Buffer operations of the host, without a kernel: copies, fills, writes and reads.
//
// Every such call of AnyBuffer and Buffer<T> is one HostOperation, including clone(), to() and zero_gradient(). It runs
// immediately, unless the calling thread is in a mode (base/thread_mode.h): then the handler gets the operation, and
// may run it, keep a copy of it for later, or refuse it. The module jit has the handler, for graphs and tapes; this
// module knows neither.
//
// The types, extents and access of an operation are checked before a handler gets it. Thread-safe.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <memory>

namespace samite {

struct HostOperation {
  enum class Kind {
    copy,   // elements of `source` to `target`, on any devices; they may overlap
    write,  // values of the host to `target`
    fill,   // one value for all elements
    read    // elements to host memory
  };

  Kind kind;
  AnyBuffer target = {};         // its elements are written, each by one index; unused by read
  AnyBuffer source = {};         // of copy and read
  const void *values = nullptr;  // write: one value for each element, in row-major order; fill: one value
  void *into = nullptr;          // read: the same
  const char *done = "";         // its name in errors: "copied"
  SourceLocation where = {};     // the user's line
  // For write and read: the pinned memory with the values, and the stream of the copy. Null for ordinary memory, which
  // the call has read or written when it returns.
  const AnyPinnedArray *pinned = nullptr;
  const Stream *stream = nullptr;
  std::shared_ptr<const void> own_values = {};  // owner of `values`, if the operation owns them

  // A copy that owns its host values: it may run after the call has returned, and more than once.
  HostOperation kept() const;
};

// Runs it, whatever the thread's mode. Marks the target as written, even if it fails with an error, which says "copied
// at" the user's line. DeviceError.
void run(const HostOperation &operation);

// Runs it, or passes it to the handler, according to the calling thread's mode.
void perform(const HostOperation &operation);

// One for all threads; threads in no mode do not call it. Setting the same one again is harmless.
using HostOperationHandler = void (*)(const HostOperation &operation);
void set_host_operation_handler(HostOperationHandler handler) noexcept;

// During its lifetime, the calling thread's operations run immediately in every mode: for use in handlers.
class PlainHostOperations {
 public:
  PlainHostOperations() noexcept;
  PlainHostOperations(const PlainHostOperations &) = delete;
  PlainHostOperations &operator=(const PlainHostOperations &) = delete;
  ~PlainHostOperations();
};

// Whether the calling thread's operations are passed to the handler.
bool host_operations_are_handled() noexcept;

}  // namespace samite
