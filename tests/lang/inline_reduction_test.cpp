// Reductions as expressions: the Funcs that they make.

#include "samite/lang/inline_reduction.h"

#include "samite/base/error.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::captured_pipeline;
using test::definitions;
using test::refusal_of_pipeline;
using ::testing::HasSubstr;

TEST(InlineReduction, IsAFuncOfTheVariablesThatAreNotReducedOver) {
  const auto pipeline = captured_pipeline([](Array<const float, 2> a, Array<const float, 1> w) {
    Var y{"y"}, x{"x"};
    Reduction k{"k", -2, 5};
    Func f{"f"};
    f(y, x) = 1 - sum(k, a(y, x + k) * w(k + 2));
  });
  EXPECT_EQ(definitions(pipeline),
            "sum[y, x] = 0.0\n"
            "sum[y, x] = add(sum[y, x], mul(p0[y, add(x, k)], p1[add(k, 2)]))\n"
            "f[y, x] = sub(1.0, sum[y, x])");
  EXPECT_TRUE(pipeline.funcs.at(0).inline_reduction);
  EXPECT_FALSE(pipeline.funcs.at(1).inline_reduction);
}

TEST(InlineReduction, IsASumProductMinimumOrMaximum) {
  EXPECT_EQ(definitions([](Array<const float, 1> a) {
              Reduction k{"k", 0, 4};
              const Float largest = maximum(k, a(k));
              const Float least = minimum(k, a(k));
              const Float all = product(k, a(k));
              const UInt8 bytes = maximum(k, cast<UInt8>(k));
              const Int64 longs = minimum(k, cast<Int64>(k));
            }),
            "maximum[] = -inf\n"
            "maximum[] = max(maximum[], p0[k])\n"
            "minimum[] = inf\n"
            "minimum[] = min(minimum[], p0[k])\n"
            "product[] = 1.0\n"
            "product[] = mul(product[], p0[k])\n"
            "maximum_1[] = 0:u8\n"
            "maximum_1[] = max(maximum_1[], u8(k))\n"
            "minimum_1[] = 9223372036854775807:i64\n"
            "minimum_1[] = min(minimum_1[], i64(k))");
}

TEST(InlineReduction, FindsTheFirstPlaceOfAnExtremum) {
  EXPECT_EQ(definitions([](Array<const float, 2> a) {
              Var x{"x"};
              Reduction k("k", {{2, 5}});
              Func<float, std::int32_t> f{"f"};
              auto [value, place] = argmin(k, a(x, k));
              f(x) = values(value, place);
            }),
            "argmin_0[x] = inf\n"
            "argmin_1[x] = 2\n"
            "argmin_0[x] = select(lt(p0[x, k], argmin_0[x]), p0[x, k], argmin_0[x])\n"
            "argmin_1[x] = select(lt(p0[x, k], argmin_0[x]), k, argmin_1[x])\n"
            "f_0[x] = argmin_0[x]\n"
            "f_1[x] = argmin_1[x]");
  EXPECT_EQ(definitions([](Array<const float, 2> a, Int n) {
              Reduction r("r", {{0, 5}, {n, 4}});
              const auto [value, places] = argmax(r, a(r[0], r[1]));
              Func<std::int32_t> f{"f"};
              f() = places[0] - places[1];
            }),
            "argmax_0[] = -inf\n"
            "argmax_1[] = 0\n"
            "argmax_2[] = p1\n"
            "argmax_0[] = select(gt(p0[r0, r1], argmax_0[]), p0[r0, r1], argmax_0[])\n"
            "argmax_1[] = select(gt(p0[r0, r1], argmax_0[]), r0, argmax_1[])\n"
            "argmax_2[] = select(gt(p0[r0, r1], argmax_0[]), r1, argmax_2[])\n"
            "f[] = sub(argmax_1[], argmax_2[])");
}

TEST(InlineReduction, DependsOnWhatItsConditionDoes) {
  EXPECT_EQ(definitions([](Array<const float, 1> a) {
              Var y{"y"}, x{"x"};
              Reduction k{"k", 0, 8};
              k.where(k < y);
              Func f{"f"};
              f(y, x) = sum(k, a(k));
            }),
            "sum[y] = 0.0\n"
            "sum[y] = add(sum[y], p0[k])\n"
            "f[y, x] = sum[y]");
}

TEST(InlineReduction, MayBeInsideOfAnother) {
  EXPECT_EQ(definitions([](Array<const float, 2> a) {
              Var x{"x"};
              Reduction j{"j", 0, 2}, k{"k", 0, 3};
              Func rows{"rows"}, f{"f"};
              rows(x) = sum(j, a(x, j));
              f(x) = sum(k, rows(x + k));
            }),
            "sum[x] = 0.0\n"
            "sum[x] = add(sum[x], p0[x, j])\n"
            "rows[x] = sum[x]\n"
            "sum_1[x] = 0.0\n"
            "sum_1[x] = add(sum_1[x], rows[add(x, k)])\n"
            "f[x] = sum_1[x]");
}

TEST(InlineReduction, OfAnotherReductionsVariableIsRefused) {
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 2> a) {
                Reduction j{"j", 0, 2}, k{"k", 0, 3};
                Func f{"f"};
                f() += sum(k, a(j, k));
              }),
              HasSubstr("sum: the value depends on 'j', which is another Reduction's: define a Func of a Var in its "
                        "place, and call that with 'j'"));
}

TEST(InlineReduction, StandsOutsideOfTracedControlFlow) {
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a, Int n) {
                Reduction k{"k", 0, 3};
                if_(n > 0, [&] { const Float s = sum(k, a(k)); });
              }),
              HasSubstr("sum of a Reduction is inside of an if_"));
}

TEST(InlineReduction, HasAtMostEightIndices) {
  EXPECT_THAT(refusal_of_pipeline([] {
                Var a{"a"}, b{"b"}, c{"c"}, d{"d"}, e{"e"}, f{"f"}, g{"g"}, h{"h"}, i{"i"};
                Reduction k{"k", 0, 3};
                const Int s = sum(k, a + b + c + d + e + f + g + h + i + k);
              }),
              HasSubstr("sum: the value depends on more than 8 variables"));
}

}  // namespace
}  // namespace samite
