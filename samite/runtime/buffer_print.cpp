// Prints a buffer: its description, then its elements.
#include "samite/base/error.h"
#include "samite/runtime/any_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <vector>

namespace samite {
namespace {

// An axis longer than this shows its ends only, so that the largest print stays within a screen.
constexpr std::int64_t longest_axis = 8;
constexpr std::int64_t shown_at_each_end = 3;

template <class T>
std::string value_text(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  if constexpr (FloatingScalar<T> && sizeof(T) <= 2)
    return fmt::format("{}", static_cast<float>(value));
  else
    return fmt::format("{}", value);
}

std::string element_text(ScalarType type, const std::byte *address) {
  switch (type) {
#define SAMITE_CASE(name, text, host, bytes, kind) \
  case ScalarType::name: return value_text<host>(address);
    SAMITE_SCALAR_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
  }
  throw InternalError("scalar type without a row");
}

// The indices of an axis that are shown; -1 represents the omitted ones.
std::vector<std::int64_t> shown(std::int64_t extent) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (extent > longest_axis && i == shown_at_each_end) {
      indices.push_back(-1);
      i = extent - shown_at_each_end;
    }
    indices.push_back(i);
  }
  return indices;
}

struct Printer {
  const AnyBuffer &buffer;
  std::size_t width = 0;  // of the widest element shown, for alignment

  const std::byte *address(const std::byte *base, int dimension, std::int64_t index) const {
    return base + index * buffer.stride(dimension) * static_cast<std::int64_t>(size_of(buffer.type()));
  }

  void measure(const std::byte *base, int dimension) {
    if (dimension == buffer.rank()) {
      width = std::max(width, element_text(buffer.type(), base).size());
      return;
    }
    for (std::int64_t i : shown(buffer.extents()[dimension]))
      if (i >= 0) measure(address(base, dimension, i), dimension + 1);
  }

  std::string text(const std::byte *base, int dimension) const {
    if (dimension == buffer.rank()) return fmt::format("{:>{}}", element_text(buffer.type(), base), width);
    bool innermost = dimension == buffer.rank() - 1;
    std::string separator = innermost ? ", " : ",\n" + std::string(static_cast<std::size_t>(dimension) + 1, ' ');
    std::string result = "[";
    for (std::int64_t i : shown(buffer.extents()[dimension])) {
      if (result.size() > 1) result += separator;
      result += i < 0 ? std::string("...") : text(address(base, dimension, i), dimension + 1);
    }
    return result + "]";
  }
};

}  // namespace

std::string AnyBuffer::to_string() const {
  if (!valid()) return "empty buffer";
  return fmt::format("Buffer<{}>{}{} on {}{}", samite::name(type_), extents_.to_string(),
                     name().empty() ? "" : fmt::format(" \"{}\"", name()), device().to_string(),
                     tracks_gradient() ? ", gradient tracked" : "");
}

std::ostream &operator<<(std::ostream &stream, const AnyBuffer &buffer) {
  stream << buffer.to_string();
  if (!buffer.valid() || buffer.count() == 0) return stream;
  const AnyBuffer here = buffer.device().kind() == DeviceKind::cpu ? buffer : buffer.to(Device::cpu());
  Printer printer{here};
  printer.measure(static_cast<const std::byte *>(here.data()), 0);
  return stream << '\n' << printer.text(static_cast<const std::byte *>(here.data()), 0);
}

}  // namespace samite
