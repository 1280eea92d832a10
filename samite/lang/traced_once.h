// Marks functions that run once, to be traced into a kernel. Optimising them takes most of the time in which their
// source compiles and saves microseconds at run time:
//
//   SAMITE_TRACED_ONCE_BEGIN
//   template <Scalar T>
//   auto make_scan() { return TileKernel{"scan", …}; }
//   SAMITE_TRACED_ONCE_END
//
// Clang does not optimise the functions and templates between the two, which do not nest; for other compilers both are
// empty.
#pragma once

#ifdef __clang__
#define SAMITE_TRACED_ONCE_BEGIN _Pragma("clang optimize off")
#define SAMITE_TRACED_ONCE_END _Pragma("clang optimize on")
#else
#define SAMITE_TRACED_ONCE_BEGIN
#define SAMITE_TRACED_ONCE_END
#endif
