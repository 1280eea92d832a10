// A planned kernel without one of the points at which its threads wait, to see whether that is noticed.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

#include <optional>

namespace samite::test {

// Facts for as many arrays as any kernel of these tests has.
inline const passes::FactsOfArrays apart(6, {.unaliased = true});
inline const passes::SharesMemory shares_nothing = passes::shares_memory(apart);

// Removes number `left` of the barriers and waits for copies; those in the blocks of `while` do not count.
class WaitRemover {
 public:
  explicit WaitRemover(std::size_t number) : left_(number) {}

  ir::Block without(const ir::Block &block) {
    ir::Block made;
    for (const ir::Stmt &stmt : block) {
      const bool waits = stmt.as<ir::Barrier>() || stmt.as<ir::WaitForCopies>();
      if (done_) {
        made.push_back(stmt);
      } else if (waits && left_-- == 0) {
        done_ = true;
      } else if (const auto *loop = stmt.as<ir::For>()) {
        ir::For copy = *loop;
        copy.body = without(loop->body);
        made.emplace_back(std::move(copy), stmt.where());
      } else if (const auto *branch = stmt.as<ir::If>()) {
        ir::If copy = *branch;
        copy.then_block = without(branch->then_block);
        copy.else_block = without(branch->else_block);
        made.emplace_back(std::move(copy), stmt.where());
      } else {
        made.push_back(stmt);
      }
    }
    return made;
  }
  bool done() const { return done_; }

 private:
  std::size_t left_;
  bool done_ = false;
};

// Empty if there are not this many.
inline std::optional<ir::Kernel> without_wait(ir::Kernel planned, std::size_t number) {
  WaitRemover remover(number);
  planned.body = remover.without(planned.body);
  return remover.done() ? std::optional(planned) : std::nullopt;
}

}  // namespace samite::test
