// For tests of the capture: C++ functions as kernels, and their captured statements.
#pragma once

#include "samite/ir/difference.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/lang/atomic.h"
#include "samite/lang/capture.h"
#include "samite/lang/math.h"
#include "samite/lang/print.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/simplify/structure_jumps.h"

#include <string>

namespace samite::test {

template <class F>
struct CaptureOf : CaptureOf<decltype(&F::operator())> {};
template <class C, class R, class... Ps>
struct CaptureOf<R (C::*)(Ps...) const> {
  template <class F>
  static ir::Kernel run(const std::string &name, const std::vector<std::string> &names, const F &function,
                        SourceLocation where) {
    return lang::capture<std::remove_cvref_t<Ps>...>(name, names, function, where);
  }
  template <class F>
  static ir::CapturedPipeline run_pipeline(const std::vector<std::string> &names, const F &function) {
    return lang::capture_pipeline<std::remove_cvref_t<Ps>...>("pipeline", names, function, {});
  }
};

// The captured statements of `function`, a lambda with parameters p0, p1, ….
template <class F>
ir::Kernel captured(const F &function, SourceLocation where = std::source_location::current()) {
  ir::Kernel kernel = CaptureOf<F>::run("k", {}, function, where);
  ir::verify(kernel, ir::Form::captured, "capture");
  return kernel;
}

template <class F>
ir::Kernel promoted(const F &function) {
  ir::Kernel kernel = passes::promote(passes::structure_jumps(captured(function)));
  ir::verify(kernel, ir::Form::structured, "promote");
  return kernel;
}

template <class F>
ir::Kernel structured(const F &function) {
  ir::Kernel kernel = passes::simplify(promoted(function));
  ir::verify(kernel, ir::Form::structured, "simplify");
  return kernel;
}

// The operations of `function`, without copies, as "%0: f32 = add @p0, @p1; …".
template <class F>
std::string recorded(const F &function) {
  ir::Kernel kernel = promoted(function);
  std::string text = to_string(kernel.body, kernel.parameters);
  if (!text.empty()) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

// The difference between the simplified kernel of `function` and the one with the same signature and this body; else
// empty.
template <class F>
std::string difference(const F &function, const std::string &body) {
  ir::Kernel actual = structured(function), expected = actual;
  expected.body.clear();
  std::string text = to_string(expected);
  expected = ir::parse_kernel(text.substr(0, text.rfind('}')) + body + "}");
  ir::verify(expected, ir::Form::structured, "the test");
  return structural_difference(actual, expected);
}

}  // namespace samite::test
