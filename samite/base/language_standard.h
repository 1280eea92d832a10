// Stops the compilation of a program as an older C++ with a one-line error. Included before anything else.
#pragma once

#if __cplusplus < 202002L
#error "Samite needs C++20: compile with -std=c++20 or later"
// There is no such file: a missing header ends the compilation, so that further errors do not bury this one.
#include "samite_needs_cpp20"
#endif
