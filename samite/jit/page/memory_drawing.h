// Memory over time, as a part of an HTML report: time runs to the right, and offsets, if any, upwards.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace samite::html {

// An allocation with its live range, and the events in it.
struct Piece {
  std::string func, label, title;
  int first, last;
  std::optional<std::int64_t> offset = {};  // empty: it has its own row
  std::int64_t bytes = 0;
  struct Span {
    int first, last;
  };
  std::optional<Span> stored = {}, loaded = {};
};

struct Drawing {
  int end;                 // of the time axis, which begins at 0
  std::int64_t bytes = 0;  // of the memory with offsets
  std::string axis;        // the unit of time
  std::vector<Piece> pieces;
};

// `marks` returns the attributes that link an element to a Func and select it.
std::string drawn(const Drawing &drawing, const std::function<std::string(const std::string &func)> &marks);

}  // namespace samite::html
