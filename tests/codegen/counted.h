// The numbers that a loop counts through.
#pragma once

#include <vector>

namespace samite::test {

inline std::vector<int> counted(int begin, int end, int step) {
  std::vector<int> numbers;
  for (int i = begin; step > 0 ? i < end : i > end; i += step) numbers.push_back(i);
  return numbers;
}

}  // namespace samite::test
