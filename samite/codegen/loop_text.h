// The parts of a uniform loop's text: its head, and its loop-carried values.
//
// Carried values are variables of the enclosing block, named after `inner`.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"

namespace samite::codegen {

class LoopText {
 public:
  LoopText(Emission &emission, const Values &values, bool rotated)
      : emission_(emission), values_(values), rotated_(rotated) {}

  // Whether loops test for their end after the body, and once before they begin (LoopHead). LLVM would otherwise rotate
  // them into this form one after another, and each time forget all that it knows about the enclosing loops: in a
  // kernel of many loops that takes half of its compile time. LLVM neither unrolls nor interleaves such loops, unless
  // they are short: each would get three bodies to compile.
  bool rotated() const { return rotated_; }

  // Returns the line that closes the loop.
  std::string open(const ir::For &loop);
  // Whether the loop continues with its index: an expression of type bool.
  std::string continues(const ir::For &loop) const;

  void declare(const std::vector<ir::Carried> &carried);
  void advance(const std::vector<ir::Carried> &carried);
  void name_results(const std::vector<ir::Carried> &carried);

  // The next values, as expressions that stay valid while the others are being assigned.
  std::vector<std::string> next_values(const std::vector<ir::Carried> &carried);

 private:
  std::string open_counted(const ir::For &loop);

  Emission &emission_;
  const Values &values_;
  const bool rotated_;
};

// The lines that open and close a loop.
struct LoopHead {
  std::string open, close;

  // `wish`: the request to the compiler for a rotated loop.
  LoopHead(bool rotated, const std::string &begin, const std::string &condition, const std::string &step,
           std::string_view wish = "");
};

// Whether a value does not change in the loop.
inline bool stays(const ir::Carried &value) { return value.next.is_local() && value.next.id() == value.inner; }

}  // namespace samite::codegen
