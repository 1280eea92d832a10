// Inserts functions between a function and its callers: the directives in and clone_in.
//
// f.in() makes g(x) = f(x), which all callers of f call instead. f.in(h) makes one only for h, which takes precedence
// over the one for all callers. The inserted function calls f itself, and so do f's own updates. f.clone_in(h) does the
// same with a copy of f's definitions.
#pragma once

#include "samite/schedule/algorithm.h"

#include <map>
#include <optional>
#include <set>

namespace samite::schedules {

class WrappedCalls {
 public:
  explicit WrappedCalls(Algorithm &algorithm) : algorithm_(algorithm) {}

  // Defines the directive's Func, and redirects calls to it. UserError if nothing calls the function.
  void wrap(const ir::Directive &directive);

 private:
  // The functions inserted between a function and its callers.
  struct Between {
    std::optional<std::uint32_t> for_all;
    std::set<std::uint32_t> all;
  };

  void define_as_call(std::uint32_t f, std::uint32_t wrapper, SourceLocation where);
  void define_as_copy(std::uint32_t f, std::uint32_t clone);
  // Whether there was such a call.
  bool call_instead(std::uint32_t caller, std::uint32_t f, std::uint32_t wrapper);

  Algorithm &algorithm_;
  std::map<std::uint32_t, Between> between_;  // by function
};

}  // namespace samite::schedules
