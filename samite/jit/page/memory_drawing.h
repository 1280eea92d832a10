// Memory over time, as a part of a page: time goes to the right, and where memory has offsets they go upwards.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace samite::html {

// A piece of memory that is there from one time to another, and what happens to it meanwhile.
struct Piece {
  std::string func, label, title;
  int first, last;
  std::optional<std::int64_t> offset = {};  // else it has a row of its own
  std::int64_t bytes = 0;
  struct Span {
    int first, last;
  };
  std::optional<Span> stored = {}, loaded = {};
};

struct Drawing {
  int end;                 // of the time, which begins at 0
  std::int64_t bytes = 0;  // of the memory that has offsets
  std::string axis;        // what time is counted in
  std::vector<Piece> pieces;
};

// `marks` are the attributes by which an element belongs to a Func and chooses it.
std::string drawn(const Drawing &drawing, const std::function<std::string(const std::string &func)> &marks);

}  // namespace samite::html
