#include "tests/codegen/block_of_fibers.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <stdexcept>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace samite::test {
namespace {

constexpr std::size_t stack_bytes = 512 << 10;  // of a thread; pages that it does not touch take no memory

// AddressSanitizer must be told which stack the program is on.
void leave_for([[maybe_unused]] void **own, [[maybe_unused]] const void *stack, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(own, stack, bytes);
#endif
}
void arrived([[maybe_unused]] void *own, [[maybe_unused]] const void **stack, [[maybe_unused]] std::size_t *bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own, stack, bytes);
#endif
}

}  // namespace

struct BlockOfFibers::State {
  class Stack {
   public:
    Stack()
        : memory_(
              mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
      if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for the stack of a thread");
    }
    Stack(Stack &&other) noexcept : memory_(std::exchange(other.memory_, MAP_FAILED)) {}
    Stack &operator=(Stack &&) = delete;
    ~Stack() {
      if (memory_ != MAP_FAILED) munmap(memory_, stack_bytes);
    }
    void *memory() const { return memory_; }

   private:
    void *memory_;
  };

  struct Fiber {
    ucontext_t context;
    void *sanitizer;
  };
  std::vector<Stack> stacks;
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  void *scheduler_sanitizer = nullptr;
  const void *scheduler_stack = nullptr;
  std::size_t scheduler_bytes = 0;
  int running = 0;
  BlockSchedule *schedule = nullptr;
  const std::function<void(int)> *thread = nullptr;

  static void begin(unsigned low, unsigned high) {
    auto *state = reinterpret_cast<State *>(std::uintptr_t{high} << 32 | low);
    arrived(nullptr, &state->scheduler_stack, &state->scheduler_bytes);
    (*state->thread)(state->running);
    state->schedule->waiting[static_cast<std::size_t>(state->running)] = Waiting::Ended;
    leave_for(nullptr, state->scheduler_stack, state->scheduler_bytes);
    setcontext(&state->scheduler);
  }

  void start(int threads) {
    while (static_cast<int>(stacks.size()) < threads) stacks.emplace_back();
    fibers.assign(static_cast<std::size_t>(threads), {});
    for (std::size_t n = 0; n < fibers.size(); ++n) {
      Fiber &fiber = fibers[n];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks[n].memory();
      fiber.context.uc_stack.ss_size = stack_bytes;
      fiber.context.uc_link = nullptr;
      const auto address = reinterpret_cast<std::uintptr_t>(this);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(address),
                  static_cast<unsigned>(address >> 32));
    }
  }

  void go_on(int n) {
    running = n;
    const auto at = static_cast<std::size_t>(n);
    leave_for(&scheduler_sanitizer, stacks[at].memory(), stack_bytes);
    swapcontext(&scheduler, &fibers[at].context);
    arrived(scheduler_sanitizer, nullptr, nullptr);
  }

  void wait(Waiting waiting) {
    Fiber &own = fibers[static_cast<std::size_t>(running)];
    schedule->waiting[static_cast<std::size_t>(running)] = waiting;
    leave_for(&own.sanitizer, scheduler_stack, scheduler_bytes);
    swapcontext(&own.context, &scheduler);
    arrived(own.sanitizer, &scheduler_stack, &scheduler_bytes);
  }
};

BlockOfFibers::BlockOfFibers() : state_(std::make_unique<State>()) {}
BlockOfFibers::~BlockOfFibers() = default;

void BlockOfFibers::run(int threads, ThreadOrder order, const std::function<void(int)> &thread,
                        const std::function<void(int)> &resume, int blocks) {
  State &state = *state_;
  BlockSchedule schedule(threads, order, blocks);
  state.thread = &thread;
  state.schedule = &schedule;
  state.start(threads);
  schedule.run(
      [&](int n) {
        resume(n);
        state.go_on(n);
      },
      [](int, int) {});
}

void BlockOfFibers::wait_for_block() { state_->wait(Waiting::Block); }
void BlockOfFibers::wait_for_cluster() { state_->wait(Waiting::Cluster); }
void BlockOfFibers::wait_for_warp() { state_->wait(Waiting::Warp); }
void BlockOfFibers::wait_for_others() { state_->wait(Waiting::Others); }

}  // namespace samite::test
