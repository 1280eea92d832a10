#include "samite/driver/fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver {
namespace {

constexpr std::size_t max_watched = 256;

std::string what_failed(const std::string &context, Result code, const std::string &description) {
  if (kind_of(code) == ResultKind::lost) return fmt::format("{} can no longer be used: {}", context, description);
  return fmt::format("asynchronous work on {} failed: {}", context, description);
}

}  // namespace

void FaultLog::watch(std::string stream_name, const std::shared_ptr<LaunchHistory> &history) {
  std::lock_guard lock(mutex_);
  std::erase_if(watched_, [](const Watched &watched) { return watched.forgotten(); });
  // Bounds the list for programs that keep making streams and never wait for them.
  const auto gone = [](const Watched &watched) { return watched.history.use_count() == 1; };
  if (watched_.size() >= max_watched) std::erase_if(watched_, gone);
  watched_.push_back({std::move(stream_name), history});
}

FaultLog::Mark FaultLog::mark() const {
  std::lock_guard lock(mutex_);
  Mark mark;
  for (const Watched &watched : watched_) mark.emplace_back(watched.history, watched.history->count());
  return mark;
}

void FaultLog::completed(const Mark &mark) {
  for (const auto &[history, count] : mark) history->completed(count);
}

std::string FaultLog::report(const std::string &context, Result code, const std::string &description,
                             const std::string &call) {
  std::lock_guard lock(mutex_);
  if (!first_.empty()) return fmt::format("{} cannot run, since the context was lost earlier:\n{}", call, first_);

  first_ = fmt::format("{}\nIt was met by {}, which is not its cause.\n{}", what_failed(context, code, description),
                       call, launches());
  if (const std::string_view remedy = remedy_of(code); !remedy.empty()) first_ += fmt::format("\n{}", remedy);
  first_ += fmt::format("\nEvery later call on {} fails with the same code until the process ends.", context);
  return first_;
}

bool FaultLog::met() const {
  std::lock_guard lock(mutex_);
  return !first_.empty();
}

std::string FaultLog::launches() const {
  std::string text;
  for (const Watched &watched : watched_) {
    const std::vector<LaunchRecord> pending = watched.history->pending();
    if (pending.empty()) continue;
    text += fmt::format("\n  {}, the latest last:", watched.name);
    for (const LaunchRecord &launch : pending) text += fmt::format("\n    {}", launch.to_string());
  }
  if (text.empty()) return "No launch that was made through Samite was running.";
  return "Launches that had not completed:" + text;
}

}  // namespace samite::driver
