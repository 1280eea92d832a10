#include "samite/runtime/stream.h"

#include "samite/base/error.h"

#include <ostream>

namespace samite {

void Stream::synchronize() const { device_.require_cpu("synchronizing " + to_string()); }

std::string Stream::to_string() const { return "stream on " + device_.to_string(); }

std::ostream &operator<<(std::ostream &stream, const Stream &value) { return stream << value.to_string(); }

}  // namespace samite
