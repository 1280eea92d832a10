// Things that went wrong without stopping anything: a cache that cannot be written, a slower path that was taken.
//
// A warning goes to one sink for the process, at first standard error with the prefix "samite: ". Thread-safe: the
// sink is called by the thread that warns, one call at a time; it must not warn itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace samite {

using WarningSink = std::function<void(std::string_view text)>;

void warn(std::string_view text);

// Warns only at the first call with this `cause`: for warnings that would otherwise repeat with each kernel.
void warn_once(std::string_view cause, std::string_view text);

// Returns the previous sink. An empty function restores standard error. Forgets which causes have been reported, so
// that the new sink gets each of them once.
WarningSink set_warning_sink(WarningSink sink);

}  // namespace samite
