#include "samite/jit/print_sink.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace samite {
namespace {

struct Sink {
  std::mutex mutex;
  PrintSink function;
};

Sink &sink() {
  static Sink sink;
  return sink;
}

}  // namespace

PrintSink set_print_sink(PrintSink function) {
  std::lock_guard lock(sink().mutex);
  return std::exchange(sink().function, std::move(function));
}

void jit::print_line(const std::string &line) {
  std::lock_guard lock(sink().mutex);
  if (sink().function) return sink().function(line);
  // In one write, so that no other output of the process is interleaved.
  const std::string whole = line + '\n';
  std::fwrite(whole.data(), 1, whole.size(), stdout);
}

}  // namespace samite
