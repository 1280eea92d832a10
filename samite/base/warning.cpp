#include "samite/base/warning.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace samite {
namespace {

struct Warnings {
  std::mutex mutex;
  WarningSink sink;
  std::set<std::string, std::less<>> causes;

  void send(std::string_view text) {
    if (sink)
      sink(text);
    else
      std::fprintf(stderr, "samite: %.*s\n", static_cast<int>(text.size()), text.data());
  }
};

// Never destroyed: a thread may warn while the process ends.
Warnings &warnings() {
  static auto &all = *std::make_unique<Warnings>().release();
  return all;
}

}  // namespace

void warn(std::string_view text) {
  const std::lock_guard lock(warnings().mutex);
  warnings().send(text);
}

void warn_once(std::string_view cause, std::string_view text) {
  const std::lock_guard lock(warnings().mutex);
  if (warnings().causes.emplace(cause).second) warnings().send(text);
}

WarningSink set_warning_sink(WarningSink sink) {
  const std::lock_guard lock(warnings().mutex);
  warnings().causes.clear();
  return std::exchange(warnings().sink, std::move(sink));
}

}  // namespace samite
