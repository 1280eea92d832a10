// expect: Samite needs C++20: compile with -std=c++20 or later
// at most 12 lines
#include "samite/samite.h"
