#include "samite/passes/adjoint/inline_primals.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/simplify/dead_code.h"
#include "samite/passes/simplify/simplify.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

// y = exp(x) by a function with a given adjoint that calls another one.
const char *const nested = R"(kernel @k(@y: array<f64, 1>, @x: array<const f64, 1>) threads 1 {
  %0: i32 = thread_index 0
  %1: f64 = load @x[%0]
  custom (%2: f64 = %1) -> (%6: f64 = %5) {
    custom (%3: f64 = %2) -> (%5: f64 = %4) {
      %4: f64 = exp %3
    } adjoint (%7: f64) {
    } gradients (%7)
  } adjoint (%8: f64) {
    %9: f64 = mul %8, %6
  } gradients (%9)
  store @y[%0] = %6
}
)";

TEST(InlinePrimals, RunsTheFunctionAlone) {
  Kernel inlined = inline_primals(parse_kernel(nested));
  EXPECT_NO_THROW(verify(inlined, Form::structured, "inline_primals"));
  EXPECT_FALSE(has_custom_adjoint(inlined));
  EXPECT_EQ(to_string(simplify(inlined)), R"(kernel @k(@y: array<f64, 1>, @x: array<const f64, 1>) threads 1 {
  %0: i32 = thread_index 0
  %1: f64 = load @x[%0]
  %2: f64 = exp %1
  store @y[%0] = %2
}
)");
}

TEST(InlinePrimals, InsideOfOneThatStays) {
  Kernel kernel = parse_kernel(nested);
  CustomAdjoint flat = inline_nested_primals(*kernel.body[2].as<CustomAdjoint>());
  ASSERT_EQ(flat.primal.size(), 1u);
  EXPECT_EQ(flat.results[0].value, Value::local(ScalarType::Float64, 4));
  EXPECT_EQ(flat.primal[0].as<Let>()->value.operands[0], Value::local(ScalarType::Float64, 2));
}

TEST(DeadCode, KeepsWhatAnAdjointNeeds) {
  Kernel kernel = parse_kernel(nested);
  EXPECT_EQ(to_string(remove_dead_code(kernel)), nested);
  kernel.body.pop_back();  // nothing reads the result
  EXPECT_TRUE(remove_dead_code(kernel).body.empty());
}

TEST(Simplify, LoadsAgainInReplaysAndAdjoints) {
  Kernel kernel = simplify(parse_kernel(R"(kernel @k(@y: array<f64, 1>, @x: array<const f64, 1>) threads 1 {
  %0: f64 = load @x[0]
  custom (%1: f64 = %0) -> (%3: f64 = %2) {
    %2: f64 = exp %1
  } adjoint (%4: f64) {
    %5: f64 = load @x[0]
    %6: f64 = mul %4, %5
  } gradients (%6)
  store @y[0] = %3
}
)"));
  int loads = 0;
  for (const Stmt &stmt : kernel.body[1].as<CustomAdjoint>()->adjoint)
    if (auto *let = stmt.as<Let>()) loads += let->value.op == Op::Load;
  EXPECT_EQ(loads, 1) << "the array may have changed between the forward run and the adjoint";
}

}  // namespace
}  // namespace samite::passes
