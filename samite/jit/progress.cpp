#include "samite/jit/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

namespace samite {
namespace {

struct Listener {
  std::mutex mutex;
  ProgressSink sink;
};
Listener &listener() {
  static Listener one;
  return one;
}

bool environment_listens() {
  const char *set = std::getenv("SAMITE_PROGRESS");
  return set && std::string_view(set) != "0" && *set != '\0';
}

}  // namespace

ProgressSink set_progress_sink(ProgressSink sink) {
  Listener &one = listener();
  const std::lock_guard lock(one.mutex);
  return std::exchange(one.sink, std::move(sink));
}

namespace jit {

bool progress_is_heard() {
  Listener &one = listener();
  const std::lock_guard lock(one.mutex);
  return one.sink || environment_listens();
}

void tell_progress(std::string_view text) {
  Listener &one = listener();
  const std::lock_guard lock(one.mutex);
  if (one.sink)
    one.sink(text);
  else if (environment_listens())
    fmt::print(stderr, "samite: {}\n", text);
}

struct LongWork::Watch {
  Watch(std::string what, std::chrono::milliseconds long_from)
      : what(std::move(what)), start(std::chrono::steady_clock::now()), thread([this, long_from] {
          std::unique_lock lock(mutex);
          if (ended.wait_for(lock, long_from, [this] { return has_ended; })) return;
          said = true;
          tell_progress(this->what + " …");
        }) {}

  std::string what;
  std::chrono::steady_clock::time_point start;
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false, said = false;
  std::thread thread;  // the last one: it uses the others
};

LongWork::LongWork(std::string what, int long_from_ms) {
  if (progress_is_heard()) watch_ = std::make_unique<Watch>(std::move(what), std::chrono::milliseconds(long_from_ms));
}

LongWork::~LongWork() {
  if (!watch_) return;
  {
    const std::lock_guard lock(watch_->mutex);
    watch_->has_ended = true;
  }
  watch_->ended.notify_one();
  watch_->thread.join();
  if (!watch_->said) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - watch_->start;
  tell_progress(fmt::format("{}: {:.2f} s", watch_->what, took.count()));
}

}  // namespace jit
}  // namespace samite
