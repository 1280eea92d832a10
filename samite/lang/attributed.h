// Records operations of the library at the user's line.
//
//   template <class T>
//   T norm(const Vector<T, 3> &v, SourceLocation where = std::source_location::current()) {
//     const lang::Attributed<T> at(where);
//     …                                      // all of it is recorded at the caller's line
//   }
//
// Functions of traced values that are plain C++ (lang/algebra/, lang/random.h, lang/noise.h) open an Attributed around
// their work, so that messages and the printed IR name the user's program. If several are open, the outermost counts.
// For numbers of the host there is nothing to record.
#pragma once

#include "samite/lang/traced.h"

namespace samite::lang {

class Trace;

template <class T>
class [[maybe_unused]] Attributed {
 public:
  explicit Attributed(SourceLocation) {}
};

// Made and destroyed on the thread of the capture. UserError that names the line if no capture is running.
class AttributedCapture {
 public:
  explicit AttributedCapture(SourceLocation where);
  ~AttributedCapture();
  AttributedCapture(const AttributedCapture &) = delete;
  AttributedCapture &operator=(const AttributedCapture &) = delete;

 private:
  Trace *trace_;  // null if another one is open around this
};

template <Scalar T>
class Attributed<Traced<T>> : AttributedCapture {
 public:
  using AttributedCapture::AttributedCapture;
};

}  // namespace samite::lang
