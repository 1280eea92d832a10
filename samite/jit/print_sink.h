// The destination of lines that kernels print (lang/print.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace samite {

// Takes one line, without the newline. Called by one thread at a time, from any thread that runs kernels; must not
// launch kernels. The launch rethrows its exceptions when it has ended.
using PrintSink = std::function<void(std::string_view line)>;

// Sets the sink of all later launches; an empty one means standard output, the initial sink. Returns the previous one.
// Thread-safe.
PrintSink set_print_sink(PrintSink sink);

namespace jit {

// Passes a line to the sink.
void print_line(const std::string &line);

}  // namespace jit
}  // namespace samite
