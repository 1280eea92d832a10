// Says in a line what a program is told that is compiled as an older C++. Included before anything else.
#pragma once

#if __cplusplus < 202002L
#error "Samite needs C++20: compile with -std=c++20 or later"
// Not there: ends the compilation, whose further errors would only bury this one.
#include "samite_needs_cpp20"
#endif
