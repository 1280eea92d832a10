// Where the lines go that kernels print (lang/print.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace samite {

// Takes one line, without the newline. Called by one thread at a time, from any thread that runs kernels; must not
// launch kernels. What it throws, the launch throws when it has ended.
using PrintSink = std::function<void(std::string_view line)>;

// The sink of all launches from now on; an empty one stands for standard output, which is what it is at first. Returns
// the one before. Thread-safe.
PrintSink set_print_sink(PrintSink sink);

namespace jit {

// Hands a line to the sink.
void print_line(const std::string &line);

}  // namespace jit
}  // namespace samite
