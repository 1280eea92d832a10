#include "samite/schedule/lowering.h"

#include <utility>

namespace samite::schedules {

Lowering::Lowering(bool for_gpu, Algorithm of, std::vector<FunctionSchedule> schedules_of)
    : gpu(for_gpu),
      algorithm(std::move(of)),
      schedules(std::move(schedules_of)),
      integers(write, symbols, open, algorithm.parameters) {
  write.out = &host.statements;
  write.next_local = algorithm.local_count;
}

void Lowering::into(ir::Block &block, const std::function<void()> &contents) {
  ir::Block *const before = std::exchange(write.out, &block);
  const Storages outer = storages;
  contents();
  storages = outer;
  write.out = before;
}

void HostSteps::flush() {
  for (const ir::Stmt &stmt : statements) steps->push_back({*stmt.as<ir::Let>()});
  statements.clear();
}

void HostSteps::add(Step step) {
  flush();
  steps->push_back(std::move(step));
}

}  // namespace samite::schedules
