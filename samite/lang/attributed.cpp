#include "samite/lang/attributed.h"

#include "samite/lang/trace.h"

namespace samite::lang {

AttributedCapture::AttributedCapture(SourceLocation where) {
  Trace &trace = Trace::current(where);
  trace_ = trace.attribute_to(where) ? &trace : nullptr;
}

AttributedCapture::~AttributedCapture() {
  if (trace_) trace_->end_attribution();
}

}  // namespace samite::lang
