// What break_, continue_ and return_ may leave at each point of a capture.
//
// The capture opens a target where a loop's body, a function of `returning`, the condition of a while_ or a function
// with an adjoint begins and closes it where that ends; the kernel's function is around them all. Each has labels
// (`ir::Labelled`) from the start, but only those that a jump asked for are written down.
#pragma once

#include "samite/ir/stmt.h"

#include <vector>

namespace samite::lang {

class JumpTargets {
 public:
  enum class Kind : std::uint8_t {
    Kernel,
    Function,
    Loop,
    Condition,
    Closed,  // a function whose adjoint is given or asked for: nothing leaves it half-way
  };

  struct Label {
    ir::LabelId id;
    bool left = false;  // by some jump

    // The block as it is, or labelled where it is left.
    ir::Block around(ir::Block block, SourceLocation where) const;
  };
  struct Target {
    Kind kind;
    Label whole, iteration;  // what break_ or return_ leaves, and continue_
  };

  JumpTargets() { open(Kind::Kernel); }

  ir::LabelId open(Kind kind);  // the label of the whole
  Target close();               // the one that was opened last

  // The label that a jump at `where` leaves. UserError where there is no such target around, or where one would be
  // left from inside of a while_'s condition.
  ir::LabelId break_label(SourceLocation where);
  ir::LabelId continue_label(SourceLocation where);
  ir::LabelId return_label(SourceLocation where);                        // of the kernel
  ir::LabelId return_label(ir::LabelId function, SourceLocation where);  // of the function with this label

 private:
  Target &innermost_loop(const char *jump, SourceLocation where);
  ir::LabelId leave(Label &label);

  std::vector<Target> open_;
  ir::LabelId next_ = 0;
};

}  // namespace samite::lang
