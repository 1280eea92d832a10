#include "samite/jit/interruption.h"

namespace samite {
namespace {

const InterruptionCheck *&check_of_this_thread() {
  thread_local const InterruptionCheck *check = nullptr;
  return check;
}

}  // namespace

InterruptionCheck::InterruptionCheck(Function function, void *context)
    : function_(function), context_(context), outer_(check_of_this_thread()) {
  check_of_this_thread() = this;
}

InterruptionCheck::~InterruptionCheck() { check_of_this_thread() = outer_; }

const InterruptionCheck *InterruptionCheck::current() { return check_of_this_thread(); }

}  // namespace samite
