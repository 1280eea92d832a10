// One of the objects of an image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace samite {

struct ObjectReport {
  enum class From : std::uint8_t { compiler, memory, disk };

  std::string name;
  From from = From::compiler;
  double milliseconds = 0;  // until it was available
  std::size_t bytes = 0;

  bool built() const { return from == From::compiler; }
};

}  // namespace samite
