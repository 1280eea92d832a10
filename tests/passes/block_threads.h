// The threads of a block as coroutines, one at a time (tests/codegen/block_schedule.h).
//
// The code of a thread consists of functions that return `Steps`, which call each other with `co_await`. A thread waits
// with `co_await Meeting{…}` for the others of its warp or of its block: they continue when all of them wait at the
// same statement. Threads that can never meet are an error.
#pragma once

#include "samite/ir/stmt.h"
#include "tests/codegen/block_schedule.h"

#include <coroutine>
#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace samite::test {

struct Meeting {
  enum class Of : std::uint8_t { Warp, Block };

  Of of;
  const ir::Stmt *at;
};

class Steps {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  // The position of one thread: each function waits for the one above it.
  struct Path {
    std::vector<Handle> functions;
    const Meeting *waits_for = nullptr;
  };

  struct promise_type {
    Path *path = nullptr;
    std::exception_ptr error;

    Steps get_return_object() { return Steps(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }

    struct Wait {
      Meeting meeting;
      bool await_ready() const noexcept { return false; }
      void await_suspend(Handle function) const { function.promise().path->waits_for = &meeting; }
      void await_resume() const noexcept {}
    };
    Wait await_transform(Meeting meeting) { return {meeting}; }
    Steps await_transform(Steps inner) { return inner; }
  };

  Steps(Steps &&other) noexcept : function_(std::exchange(other.function_, nullptr)) {}
  Steps &operator=(Steps &&) = delete;
  ~Steps() {
    if (function_) function_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(Handle outer) const { begin(*outer.promise().path); }
  void await_resume() const { throw_error(); }

  void begin(Path &path) const {
    function_.promise().path = &path;
    path.functions.push_back(function_);
  }
  void throw_error() const {
    if (function_.promise().error) std::rethrow_exception(function_.promise().error);
  }

 private:
  explicit Steps(Handle function) : function_(function) {}

  Handle function_;
};

class BlockThreads {
 public:
  // Runs `thread(n)` for each number n below `threads`. Rethrows a thread's exception, and throws std::runtime_error if
  // threads wait for others that have ended or wait elsewhere.
  static void run(int threads, ThreadOrder order, const std::function<Steps(int)> &thread) {
    BlockThreads block(threads, order, thread);
    block.schedule_.run(
        [&](int n) { block.go_on(static_cast<std::size_t>(n)); },
        [&](int first, int last) { block.meet(static_cast<std::size_t>(first), static_cast<std::size_t>(last)); });
  }

 private:
  BlockThreads(int threads, ThreadOrder order, const std::function<Steps(int)> &thread)
      : schedule_(threads, order), paths_(static_cast<std::size_t>(threads)) {
    for (int n = 0; n < threads; ++n) {
      steps_.push_back(thread(n));
      steps_.back().begin(paths_[static_cast<std::size_t>(n)]);
    }
  }

  void go_on(std::size_t n) {
    Steps::Path &path = paths_[n];
    path.waits_for = nullptr;
    while (!path.functions.empty()) {
      const Steps::Handle function = path.functions.back();
      function.resume();
      if (path.waits_for) {
        schedule_.waiting[n] = path.waits_for->of == Meeting::Of::Warp ? Waiting::Warp : Waiting::Block;
        return;
      }
      if (function.done()) path.functions.pop_back();
    }
    steps_[n].throw_error();
    schedule_.waiting[n] = Waiting::Ended;
  }

  void meet(std::size_t first, std::size_t last) const {
    for (std::size_t n = first; n < last; ++n)
      if (paths_[n].functions.empty() || paths_[first].functions.empty() ||
          paths_[n].waits_for->at != paths_[first].waits_for->at)
        throw std::runtime_error("threads of a block wait for others, which have ended or wait elsewhere");
  }

  BlockSchedule schedule_;
  std::vector<Steps::Path> paths_;
  std::vector<Steps> steps_;
};

}  // namespace samite::test
