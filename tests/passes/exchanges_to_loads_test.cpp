// Elements that are taken and put back.
#include "samite/passes/adjoint/exchanges_to_loads.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using testing::HasSubstr;
using testing::Not;

// The text after the pass, of an adjoint over a launch of one dimension.
std::string after(const std::string &body) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @g: gradient of @y array<f32, 1>, "
      "@h: gradient of @x array<f32, 1>) threads 1 { %0: i32 = thread_index 0 " +
      body + "}");
  ir::Kernel changed = exchanges_to_loads(kernel);
  ir::verify(changed, ir::Form::structured, "exchanges_to_loads");
  return to_string(changed);
}

TEST(ExchangesToLoads, ReplacesReturnedExchanges) {
  const std::string text =
      after("%1: f32 = exchange @g[%0] %2: f32 = mul %1, 2.0 accumulate @h[%0] += %2 accumulate @g[%0] += %1");
  EXPECT_THAT(text, HasSubstr("%1: f32 = load @g[%0]"));
  EXPECT_THAT(text, Not(HasSubstr("accumulate @g")));
  EXPECT_THAT(text, HasSubstr("accumulate @h[%0] += %2"));
}

TEST(ExchangesToLoads, KeepsExchangesOfAnotherValue) {
  EXPECT_THAT(after("%1: f32 = exchange @g[%0] %2: f32 = mul %1, 2.0 accumulate @g[%0] += %2"),
              HasSubstr("exchange @g[%0]"));
}

TEST(ExchangesToLoads, KeepsExchangesToAnotherElement) {
  EXPECT_THAT(after("%1: f32 = exchange @g[%0] %2: i32 = add %0, 1 accumulate @g[%2] += %1"),
              HasSubstr("exchange @g[%0]"));
}

TEST(ExchangesToLoads, KeepsExchangesWithAnAccessBetween) {
  EXPECT_THAT(after("%1: f32 = exchange @g[%0] %2: f32 = exchange @g[%0] accumulate @h[%0] += %2 "
                    "accumulate @g[%0] += %1"),
              HasSubstr("%1: f32 = exchange @g[%0]"));
  EXPECT_THAT(after("%1: f32 = exchange @g[%0] %2: bool = lt %0, 3 if %2 { accumulate @g[%0] += %1 } "
                    "accumulate @g[%0] += %1"),
              HasSubstr("%1: f32 = exchange @g[%0]"));
}

TEST(ExchangesToLoads, KeepsAtomicExchanges) {
  EXPECT_THAT(after("%1: f32 = exchange atomic @g[%0] accumulate @g[%0] += %1"), HasSubstr("exchange atomic @g[%0]"));
}

}  // namespace
}  // namespace samite::passes
