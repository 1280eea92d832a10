// What the host does with a buffer by itself, without a kernel: copies, fills, writes and reads.
//
// Every such call of AnyBuffer and Buffer<T> is one HostOperation, clone(), to() and zero_gradient() included. It runs
// at once, unless the calling thread is in a mode (base/thread_mode.h): then the handler gets the operation, and may
// run it, keep a copy of it for later, or refuse it. The module jit has the handler, for graphs and tapes; this module
// knows neither.
//
// By the time a handler sees an operation, its types, extents and access have been checked. The functions may be called
// from any thread.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <memory>

namespace samite {

struct HostOperation {
  enum class Kind {
    copy,   // elements of `source` to `target`, on any devices; they may overlap
    write,  // values of the host
    fill,   // one value for all elements
    read    // to memory of the host
  };

  Kind kind;
  AnyBuffer target = {};         // whose elements are written, each by one index; of a read, none
  AnyBuffer source = {};         // of copy and read
  const void *values = nullptr;  // write: one value for each element, in row-major order; fill: one value
  void *into = nullptr;          // read: the same
  const char *done = "";         // what errors call it: "copied"
  SourceLocation where = {};     // the user's line
  // Of write and read: the pinned memory that has the values, and the stream that the copy is put into. Null for memory
  // that the call has read or written when it returns.
  const AnyPinnedArray *pinned = nullptr;
  const Stream *stream = nullptr;
  std::shared_ptr<const void> own_values = {};  // what keeps `values`, where the operation does so itself

  // The same with a copy of the values of the host: it may be run after the call has returned, and more than once.
  HostOperation kept() const;
};

// Does it, whatever the thread's mode. Marks the target as written, also where it ends with an error, which says
// "copied at" the user's line. DeviceError.
void run(const HostOperation &operation);

// Does it as the calling thread's mode has it: runs it, or hands it to the handler.
void perform(const HostOperation &operation);

// One for all threads; those that are in no mode never ask it. Setting the same one again is harmless.
using HostOperationHandler = void (*)(const HostOperation &operation);
void set_host_operation_handler(HostOperationHandler handler) noexcept;

// While one lives, the calling thread's operations run at once in every mode: what a handler does to carry out one.
class PlainHostOperations {
 public:
  PlainHostOperations() noexcept;
  PlainHostOperations(const PlainHostOperations &) = delete;
  PlainHostOperations &operator=(const PlainHostOperations &) = delete;
  ~PlainHostOperations();
};

// Whether the calling thread's operations go to the handler.
bool host_operations_are_handled() noexcept;

}  // namespace samite
