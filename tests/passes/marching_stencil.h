// A stencil along the first of three dimensions, whose threads gain by marching (passes/threads/march.h): y is the
// difference of x along it.
#pragma once

namespace samite::test {

inline constexpr const char *marching_stencil =
    R"(kernel @k(@y: array<f32, 3>, @x: array<const f32, 3>) threads 3 {
  %0: i32 = thread_index 0
  %1: i32 = thread_index 1
  %2: i32 = thread_index 2
  %3: i32 = add %0, 1
  %4: f32 = load @x[%0, %1, %2]
  %5: f32 = load @x[%3, %1, %2]
  %6: f32 = sub %5, %4
  store @y[%0, %1, %2] = %6
})";

}  // namespace samite::test
