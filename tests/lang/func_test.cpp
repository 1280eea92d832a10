// Funcs, variables and Reductions: captured definitions and calls. Refused programs: func_errors_test.cpp.

#include "samite/lang/func.h"
#include "samite/ir/kernel.h"

#include "tests/lang/captured_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite {
namespace {

using test::captured_pipeline;
using test::definitions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of_funcs(const ir::CapturedPipeline &pipeline) {
  std::vector<std::string> names;
  for (const ir::Func &func : pipeline.funcs) names.push_back(func.name);
  return names;
}

std::vector<std::string> names_of_variables(const ir::CapturedPipeline &pipeline) {
  std::vector<std::string> names;
  for (const ir::Variable &variable : pipeline.variables) names.push_back(variable.name);
  return names;
}

TEST(Func, ADefinitionIsAStoreAndACallALoad) {
  const auto pipeline = captured_pipeline(
      [](Array<const float, 2> in, Array<float, 2> out) {
        Var y{"y"}, x{"x"};
        Func rows{"rows"}, result{"result", out};
        rows(y, x) = in(y, x + 1) * 0.5f;
        result(y, x) = rows(y + 1, x) + 1;
      },
      {"in", "out"});
  EXPECT_THAT(to_string(pipeline.algorithm),
              HasSubstr("kernel @pipeline(@in: array<const f32, 2>, @out: array<f32, 2>, @rows: array<f32, 2>, "
                        "@result: array<f32, 2>)"));
  EXPECT_EQ(definitions(pipeline),
            "rows[y, x] = mul(in[y, add(x, 1)], 0.5)\n"
            "result[y, x] = add(rows[add(y, 1), x], 1.0)");
}

// A variable has no definition, and no copy replaces it.
TEST(Func, IndicesOfDefinitionsAreTheVariablesThemselves) {
  const auto pipeline = captured_pipeline([] {
    Var y{"y"}, x{"x"};
    Func f{"f"};
    f(y, x) = 2;
  });
  EXPECT_EQ(to_string(pipeline.algorithm.body, pipeline.algorithm.parameters), "store @f[%0, %1] = 2.0\n");
  EXPECT_THAT(names_of_variables(pipeline), ElementsAre("y", "x"));
  EXPECT_EQ(pipeline.variables[1].local, 1u);
  EXPECT_EQ(pipeline.algorithm.local_count, 2u);
}

TEST(Func, FieldsSayWhatEachFuncIs) {
  const unsigned line = __LINE__ + 5;
  const auto pipeline = captured_pipeline([](Int, Array<float, 1> out) {
    Var x{"x"};
    Func<bool, std::int64_t> both{"both"};
    both(x, x + 1);
    Func result{"result", out};
    result(x) = 0;
  });
  EXPECT_EQ(pipeline.parameters, 2u);
  ASSERT_EQ(pipeline.funcs.size(), 2u);
  EXPECT_EQ(pipeline.funcs[0].array, 2u);
  EXPECT_EQ(pipeline.funcs[0].rank, 2);
  EXPECT_THAT(pipeline.funcs[0].types, ElementsAre(ScalarType::Bool, ScalarType::Int64));
  EXPECT_EQ(pipeline.funcs[0].output, std::nullopt);
  EXPECT_EQ(pipeline.funcs[1].array, 4u);
  EXPECT_EQ(pipeline.funcs[1].output, 1u);
  EXPECT_EQ(pipeline.funcs[1].where.line, line);
  EXPECT_EQ(pipeline.algorithm.parameters[3].name, "both_1");
  EXPECT_EQ(pipeline.algorithm.parameters[3].type, ScalarType::Int64);
}

TEST(Func, HasZeroToEightIndices) {
  EXPECT_EQ(definitions([] {
              Var a{"a"}, b{"b"}, c{"c"}, d{"d"}, e{"e"}, f{"f"}, g{"g"}, h{"h"};
              Func<std::int32_t> none{"none"}, one{"one"}, three{"three"}, five{"five"}, eight{"eight"};
              none() = 7;
              one(a) = none();
              three(a, b, c) = one(b);
              five(a, b, c, d, e) = three(e, d, c);
              eight(a, b, c, d, e, f, g, h) = five(h, g, f, e, d);
            }),
            "none[] = 7\n"
            "one[a] = none[]\n"
            "three[a, b, c] = one[b]\n"
            "five[a, b, c, d, e] = three[e, d, c]\n"
            "eight[a, b, c, d, e, f, g, h] = five[h, g, f, e, d]");
}

TEST(Func, IndicesAreIntegersOf32BitsWhereTheyFit) {
  EXPECT_EQ(definitions([](Int64 far, Array<const std::uint8_t, 1> bytes) {
              Var x{"x"};
              Func f{"f"}, g{"g"};
              f(x) = 0;
              g(x) = f(3) + f(far) + f(bytes(x)) + f(5'000'000'000) + f(std::size_t{7});
            }),
            "f[x] = 0.0\n"
            "g[x] = add(add(add(add(f[3], f[p0]), f[i32(p1[x])]), f[5000000000:i64]), f[7])");
}

TEST(Func, AnUpdateLoadsComputesAndStores) {
  EXPECT_EQ(definitions([](Array<const float, 2> a) {
              Var y{"y"};
              Reduction k{"k", 0, 64};
              Func sum{"sum"};
              sum(y) = 1;
              sum(y) += a(y, k);
              sum(0) *= 2;
              sum(k + 1) = sum(k) - 1;
            }),
            "sum[y] = 1.0\n"
            "sum[y] = add(sum[y], p0[y, k])\n"
            "sum[0] = mul(sum[0], 2.0)\n"
            "sum[add(k, 1)] = sub(sum[k], 1.0)");
}

TEST(Func, ASumWithoutAFirstDefinitionBeginsWithZerosAndAProductWithOnes) {
  EXPECT_EQ(definitions([](Array<const std::int32_t, 1> a) {
              Var x{"x"};
              Reduction k{"k", 0, 64};
              Func<std::int32_t> counts{"counts"}, powers{"powers"};
              counts(x, a(k)) += x;
              powers(x) *= k;
            }),
            "counts[x, counts_1] = 0\n"
            "counts[x, p0[k]] = add(counts[x, p0[k]], x)\n"
            "powers[x] = 1\n"
            "powers[x] = mul(powers[x], k)");
}

TEST(Func, TakesPartInOperatorsLikeAnElement) {
  EXPECT_EQ(definitions([](Double d) {
              Var x{"x"};
              Func<std::int32_t> f{"f"};
              Func<double> g{"g"};
              f(x) = 3;
              g(x) = -f(x) * d + select(f(x) > 2, 1.0, 0.0) + max(f(x), 4) + 0.5f * cast<Float>(f(x));
            }),
            "f[x] = 3\n"
            "g[x] = add(add(add(mul(f64(neg(f[x])), p0), select(gt(f[x], 2), 1.0:f64, 0.0:f64)), f64(max(f[x], 4))), "
            "f64(mul(0.5, f32(f[x]))))");
}

TEST(Func, HasSeveralValues) {
  EXPECT_EQ(definitions([](Array<const float, 1> a) {
              Var x{"x"};
              Reduction k{"k", 0, 8};
              Func<float, std::int32_t> best{"best"}, copy{"copy"};
              Func f{"f"};
              best(x) = values(0.0f, -1);
              auto [value, place] = best(x);
              const Bool better = a(k) > value;
              best(x) = values(select(better, a(k), value), select(better, k, place));
              copy(x) = best(x + 1);
              f(x) = best(x).get<0>();
            }),
            "best_0[x] = 0.0\n"
            "best_1[x] = -1\n"
            "best_0[x] = select(gt(p0[k], best_0[x]), p0[k], best_0[x])\n"
            "best_1[x] = select(gt(p0[k], best_0[x]), k, best_1[x])\n"
            "copy_0[x] = best_0[add(x, 1)]\n"
            "copy_1[x] = best_1[add(x, 1)]\n"
            "f[x] = best_0[x]");
}

TEST(Func, OfSeveralValuesFillsAsManyArrays) {
  const auto pipeline = captured_pipeline([](Int, Array<float, 1> values_of, Array<std::int32_t, 1> places) {
    Var x{"x"};
    Func result{"result", values_of, places};
    result(x) = values(1, x);
  });
  ASSERT_EQ(pipeline.funcs.size(), 1u);
  EXPECT_EQ(pipeline.funcs[0].output, 1u);
  EXPECT_THAT(pipeline.funcs[0].types, ElementsAre(ScalarType::Float32, ScalarType::Int32));
  EXPECT_EQ(definitions(pipeline), "result_0[x] = 1.0\nresult_1[x] = x");
}

TEST(Func, LocalsAndNativeControlFlowMakeAValue) {
  EXPECT_EQ(definitions([](Array<const float, 1> a) {
              Var x{"x"};
              Func f{"f"};
              Float total = 0;
              for (int i = -1; i <= 1; ++i) total = total + a(x + i);
              f(x) = Float(total * 2);
            }),
            "f[x] = mul(%1, 2.0)")
      << "of a local that is assigned";
  EXPECT_EQ(to_string(captured_pipeline([](Array<const float, 1> a) {
                        Var x{"x"};
                        Func f{"f"};
                        Float total = 0;
                        for (Int i : range(3)) total += a(i);
                        f(x) = total;
                      }).algorithm.body.back(),
                      {{"a", ScalarType::Float32, 1}, {"f", ScalarType::Float32, 1}}),
            "store @f[%0] = %1");
}

Func<float> twice(const Func<float> &f) {
  Var x{"x"};
  Func result{"result"};
  result(x) = f(x) * 2;
  return result;
}

TEST(Func, OfAFunctionIsNamedApartFromOthers) {
  const auto pipeline = captured_pipeline(
      [](Array<float, 1> out) {
        Var x{"x"};
        Func f{"f"}, filled{"out", out};
        f(x) = cast<Float>(x);
        filled(x) = twice(twice(f))(x);
      },
      {"out"});
  EXPECT_THAT(names_of_funcs(pipeline), ElementsAre("f", "result", "result_1", "out"));
  EXPECT_THAT(names_of_variables(pipeline), ElementsAre("x"));
  EXPECT_EQ(definitions(pipeline),
            "f[x] = f32(x)\n"
            "result[x] = mul(f[x], 2.0)\n"
            "result_1[x] = mul(result[x], 2.0)\n"
            "out_1[x] = result_1[x]");
}

TEST(Func, IsDroppedWhereItIsNeitherCalledNorDefined) {
  const auto pipeline = captured_pipeline([] {
    Var x{"x"}, never{"never"};
    Func unused{"unused"}, f{"f"}, undefined{"undefined"};
    f(x) = undefined(x, 0, 1);
  });
  EXPECT_THAT(names_of_funcs(pipeline), ElementsAre("undefined", "f"));
  EXPECT_EQ(pipeline.funcs[0].rank, 3);
  EXPECT_THAT(names_of_variables(pipeline), ElementsAre("x"));
}

TEST(Var, IsAnIntThatMeetsOtherNumbers) {
  EXPECT_EQ(definitions([](Float s, Array<const float, 1> a) {
              Var x{"x"};
              Func<double> f{"f"};
              const Int halved = x / 2;
              f(x) = cast<Float>(x % 3) + x * s + a(halved) + x * 0.5 + abs(-x) + min(x, 3) + select(x >= 2, x, 0);
            }),
            "f[x] = add(add(add(add(f64(add(add(f32(rem(x, 3)), mul(f32(x), p0)), p1[div(x, 2)])), "
            "mul(f64(x), 0.5:f64)), f64(abs(neg(x)))), f64(min(x, 3))), f64(select(ge(x, 2), x, 0)))");
}

TEST(Var, OfTheSameNameIsTheSameVariable) {
  EXPECT_EQ(definitions([] {
              Var x{"x"};
              const Var copy = x;
              Func f{"f"};
              f(Var{"x"}) = x + copy;
            }),
            "f[x] = f32(add(x, x))");
}

TEST(Var, IsANameAloneOutsideOfAPipeline) {
  const Var x{"x"};
  EXPECT_EQ(x.name(), "x");
  EXPECT_EQ(definitions([&] {
              Func f{"f"};
              f(x) = x;
            }),
            "f[x] = f32(x)");
}

TEST(Reduction, HasARangeThatIsPlainOrTraced) {
  const auto pipeline = captured_pipeline([](Array<const float, 1> a, Int n) {
    Var x{"x"};
    Func f{"f"};
    Int extent = a.extent(0) - 2;
    Reduction k{"k", n, extent};
    extent = 5;  // has no part in it any more
    Reduction unused{"unused", std::uint8_t{1}, 2};
    f(x) += a(k);
  });
  ASSERT_EQ(pipeline.domains.size(), 2u);
  ASSERT_EQ(pipeline.domains[0].ranges.size(), 1u);
  const test::DefinitionText text(pipeline);
  const auto &range = pipeline.domains[0].ranges[0];
  EXPECT_EQ(range.variable.name, "k");
  EXPECT_EQ(text.of(range.begin), "p1");
  EXPECT_EQ(text.of(range.extent).substr(0, 1), "%") << "a copy of what is assigned later";
  EXPECT_FALSE(pipeline.domains[0].predicate);
  EXPECT_EQ(text.of(pipeline.domains[1].ranges[0].extent), "2");
  EXPECT_THAT(names_of_variables(pipeline), ElementsAre("x"));
}

TEST(Reduction, OfSeveralDimensionsHasAVariableForEach) {
  const auto pipeline = captured_pipeline([](Array<const float, 2> a, Int w) {
    Var y{"y"}, x{"x"};
    Reduction r{"r", {{-1, 3}, {0, w}}};
    auto [dy, dx] = r;
    r.where(dy * dy < 4);
    r.where(dx < y);
    Func f{"f"};
    f(y, x) = 0;
    f(y, x) += a(y + r[0], x + dx);
  });
  EXPECT_EQ(definitions(pipeline),
            "f[y, x] = 0.0\n"
            "f[y, x] = add(f[y, x], p0[add(y, r0), add(x, r1)])");
  ASSERT_EQ(pipeline.domains.size(), 1u);
  const ir::ReductionDomain &domain = pipeline.domains[0];
  ASSERT_EQ(domain.ranges.size(), 2u);
  const test::DefinitionText text(pipeline);
  EXPECT_EQ(domain.ranges[1].variable.name, "r1");
  EXPECT_EQ(text.of(domain.ranges[0].begin) + " " + text.of(domain.ranges[0].extent), "-1 3");
  EXPECT_EQ(text.of(domain.ranges[1].extent), "p1");
  EXPECT_EQ(text.of(domain.predicate.value()), "and(lt(mul(r0, r0), 4), lt(r1, y))");
}

// A plain function that makes one may be called twice.
TEST(Reduction, HasVariablesOfItsOwnWhateverTheyAreNamed) {
  const auto pipeline = captured_pipeline([] {
    Var k{"k"};
    Reduction first{"k", 0, 2}, second{"k", 0, 3};
    Func<std::int32_t> f{"f"};
    f(k) = 0;
    f(k) += first;
    f(k) += second;
  });
  ASSERT_EQ(pipeline.domains.size(), 2u);
  const auto added = [&](std::size_t definition) {
    std::vector<ir::LocalId> found;
    for (const ir::Stmt &stmt : pipeline.algorithm.body)
      if (auto *let = stmt.as<ir::Let>(); let && let->value.op == ir::Op::Add)
        found.push_back(let->value.operands[1].id());
    return found.at(definition);
  };
  EXPECT_EQ(added(0), pipeline.domains[0].ranges[0].variable.local);
  EXPECT_EQ(added(1), pipeline.domains[1].ranges[0].variable.local);
  EXPECT_NE(added(0), pipeline.variables.at(0).local);
}

// The captured form of kernels, and that one may be captured after a pipeline failed.
TEST(Func, LeavesTheCaptureOfKernelsAsItIs) {
  EXPECT_NE(test::refusal_of_pipeline([] { throw UserError("the user's own"); }), "no error");
  EXPECT_EQ(test::recorded([](Array<float, 4> a, Int i) { a(i, 1, i, 0) = a(0, i, i, i); }),
            "%0: f32 = load @p0[0:i64, @p1, @p1, @p1]; store @p0[@p1, 1:i64, @p1, 0:i64] = %0");
}

}  // namespace
}  // namespace samite
