// The loops and functions that break_, continue_ and return_ may leave at each point of a capture.
//
// The capture opens a target at the start of a loop's body, a function of `returning`, the condition of a while_ or a
// function with an adjoint, and closes it at the end; the kernel's function is around them all. Each has labels
// (`ir::Labelled`) from the start, but only labels that a jump leaves are emitted.
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
    Closed,  // a function whose adjoint is given or requested: no jump leaves it
  };

  struct Label {
    ir::LabelId id;
    bool left = false;  // by some jump

    // The block, with a label if a jump leaves it.
    ir::Block around(ir::Block block, SourceLocation where) const;
  };
  struct Target {
    Kind kind;
    Label whole, iteration;  // left by break_ or return_, and by continue_
  };

  JumpTargets() { open(Kind::Kernel); }

  ir::LabelId open(Kind kind);  // the label of the whole
  Target close();               // the one that was opened last

  // The label that a jump at `where` leaves. UserError if there is no such target, or if the jump would leave a
  // while_'s condition.
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
