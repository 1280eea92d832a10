// For tests of passes: kernels as text, before and after.
#pragma once

#include "samite/ir/difference.h"
#include "samite/ir/parse.h"
#include "samite/ir/verify.h"

#include <gtest/gtest.h>

#include <string>

namespace samite::test {

// A kernel of these parameters with this body, well-formed.
//
// Most tests are about bodies, and have the same parameters.
inline ir::Kernel kernel_of(const std::string &body, ir::Form form = ir::Form::structured) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@a: array<f32, 1>, @b: array<f32, 1>, @out: array<i32, 1>, @i: i32, @n: i32, @x: f32, @p: bool) "
      "threads 1 {" +
      body + "}");
  ir::verify(kernel, form, "the test");
  return kernel;
}

// The difference between the result of `pass` on `before` and `after`; empty if there is none. `before` may be in
// `form`; the result is structured.
template <class Pass>
std::string difference_after(Pass pass, const std::string &before, const std::string &after,
                             ir::Form form = ir::Form::structured) {
  ir::Kernel actual = pass(kernel_of(before, form));
  ir::verify(actual, ir::Form::structured, "the pass");
  return structural_difference(actual, kernel_of(after));
}

}  // namespace samite::test
