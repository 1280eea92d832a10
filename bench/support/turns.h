// A benchmark whose peer is another process: that process requests each timing, so that ours and its own alternate, and
// other work on the machine affects both. On a GPU that lowers its clock under load, nothing else is comparable.
//
// With --turns the program prints a line {"case": name} when it has prepared a case. Then it reads lines: a number of
// calls, which it makes and answers with the milliseconds of one, or "next", for its next case. peers/against.py sends
// these lines.
#pragma once

#include <functional>
#include <string>

namespace samite::bench {

// Whether the program was started with --turns. Throws std::runtime_error for any other argument.
bool asked_for_turns(int count, char **arguments);

// Times the case on each request, until the next one is requested. `milliseconds` returns the time of one of this many
// calls.
void take_turns(const std::string &name, const std::function<double(int calls)> &milliseconds);

}  // namespace samite::bench
