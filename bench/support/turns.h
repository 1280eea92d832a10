// A benchmark whose peer is another process: that process asks for each timing, so that ours and its own come in turn
// and whatever the machine does meets both. Of a GPU that lowers its clock under load nothing else is comparable.
//
// With --turns the program prints a line {"case": name} when it has prepared a case. Then it reads lines: a number of
// calls, which it makes and answers with the milliseconds of one, or "next", for its next case. peers/against.py asks.
#pragma once

#include <functional>
#include <string>

namespace samite::bench {

// Whether the program was started with --turns. Throws std::runtime_error for any other argument.
bool asked_for_turns(int count, char **arguments);

// Times the case whenever asked, until the next one is. `milliseconds` of one of this many calls.
void take_turns(const std::string &name, const std::function<double(int calls)> &milliseconds);

}  // namespace samite::bench
