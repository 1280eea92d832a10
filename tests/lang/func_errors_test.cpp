// Refused captures of pipelines, and their messages.

#include "samite/base/error.h"
#include "samite/lang/local_array.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"

#include <optional>

namespace samite {
namespace {

using test::at_line;
using test::captured;
using test::refusal_of_pipeline;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The line that it is written in, and others around it.
#define SAMITE_LINE(offset) at_line(__FILE__, __LINE__ + offset)

TEST(FuncErrors, NothingOfThemIsThereOutsideOfAPipeline) {
  const std::string line = SAMITE_LINE(1);
  const std::string outside = message_of<UserError>([] { Func f{"f"}; });
  EXPECT_THAT(outside, AllOf(HasSubstr(line), HasSubstr("the Func 'f' is used outside of a pipeline's function")));
  EXPECT_THAT(message_of<UserError>([] { Reduction k("k", {{0, 4}}); }),
              HasSubstr("the Reduction 'k' is used outside of a pipeline's function"));
  const std::string message = message_of<UserError>([] {
    captured([](Array<float, 1> a) {
      Var x{"x"};
      a(x) = 0;
    });
  });
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-3)));
  EXPECT_THAT(message, HasSubstr("the variable 'x' is used outside of a pipeline's function, which is where Funcs are "
                                 "defined and variables computed with; elsewhere a Var is a name alone"));
  EXPECT_THAT(message_of<UserError>([] { schedule_cpu([] {}); }),
              HasSubstr("the schedule 'cpu' is used outside of a pipeline's function"));
}

TEST(FuncErrors, NamesAreIdentifiers) {
  EXPECT_THAT(message_of<UserError>([] { Var x{"x o"}; }),
              HasSubstr("the variable name 'x o' is not an identifier (letters, digits and _)"));
  EXPECT_THAT(refusal_of_pipeline([] { Func f{"2d"}; }), HasSubstr("the Func's name '2d' is not an identifier"));
  EXPECT_THAT(refusal_of_pipeline([] { Reduction k("", {{0, 4}}); }),
              HasSubstr("the Reduction's name '' is not an identifier"));
}

TEST(FuncErrors, AnotherPipelinesFuncsAndReductionsAreNot) {
  std::optional<Func<float>> func;
  std::optional<Reduction<1>> reduction;
  test::captured_pipeline([&] {
    func.emplace("f");
    reduction.emplace("k", 0, 4);
  });
  EXPECT_THAT(refusal_of_pipeline([&] { (*func)(0) = 1; }),
              HasSubstr("a Func of one pipeline is used in another one; define it there, too"));
  EXPECT_THAT(refusal_of_pipeline([&] { Int i = *reduction + 1; }),
              HasSubstr("the variable 'k' is of another pipeline's Reduction; make one in this pipeline's function"));
  EXPECT_THAT(refusal_of_pipeline([&] { reduction->where(Bool(true)); }),
              HasSubstr("the Reduction 'k' is another pipeline's"));
}

TEST(FuncErrors, AFuncHasOneNumberOfIndices) {
  const unsigned line = __LINE__ + 4;
  const std::string message = refusal_of_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    f(x) = 0;
    f(x, 0) = 1;
  });
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line + 1) + ": the Func 'f' is given 2 indices, but has 1 ("));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + ")"));
}

TEST(FuncErrors, AnOutputHasTheIndicesOfItsArray) {
  const unsigned line = __LINE__ + 2;
  const std::string message = refusal_of_pipeline([](Array<float, 2> out) {
    Func f{"f", out};
    f(0) = 1;
  });
  EXPECT_THAT(message, HasSubstr("the Func 'f' is given 1 index, but has 2 ("));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + ")"));
}

TEST(FuncErrors, ArraysAreFilledByFuncsAlone) {
  const std::string message = refusal_of_pipeline(
      [](Array<float, 1> result) {
        Var x{"x"};
        result(x) = 1;
      },
      {"result"});
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-3)));
  EXPECT_THAT(message, HasSubstr("the array 'result' is stored to in a pipeline; define a Func that fills it: Func "
                                 "output{\"result\", result}; output(…) = …"));
}

TEST(FuncErrors, AnArrayIsFilledByOneFunc) {
  const unsigned line = __LINE__ + 3;
  const std::string message = refusal_of_pipeline(
      [](Array<float, 1> result) {
        Func f{"f", result};
        Func g{"g", result};
      },
      {"result"});
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line + 1) + ": the array 'result' is filled by two Funcs"));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + "; an array takes the values of one"));
}

TEST(FuncErrors, AFuncThatFillsAnArrayIsDefined) {
  const std::string message = refusal_of_pipeline([](Array<float, 1> result) { Func f{"f", result}; }, {"result"});
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-1)));
  EXPECT_THAT(message, HasSubstr("the Func 'f' fills the array 'result', but has no definition"));
}

TEST(FuncErrors, AnArrayThatIsFilledIsNotRead) {
  const std::string message = refusal_of_pipeline(
      [](Array<float, 1> result) {
        Var x{"x"};
        Func g{"g"}, f{"f", result};
        g(x) = result(x);
        f(x) = g(x);
      },
      {"result"});
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-4)));
  EXPECT_THAT(message,
              HasSubstr("the array 'result' is read in the pipeline that fills it; call the Func 'f' instead"));
}

TEST(FuncErrors, ArraysOfSeveralValuesAreNextToEachOther) {
  EXPECT_THAT(refusal_of_pipeline([](Array<float, 1> a, Int, Array<float, 1> b) { Func f{"f", a, b}; }),
              HasSubstr("the arrays that the Func 'f' fills are not one after another in the pipeline's parameters"));
}

TEST(FuncErrors, AFirstDefinitionIsForAllIndices) {
  EXPECT_THAT(
      refusal_of_pipeline([] {
        Var x{"x"};
        Func f{"f"};
        f(x, 0) = 1;
      }),
      HasSubstr(
          "the first definition of the Func 'f' gives its value for all indices, which are different Vars "
          "there, and index 1 is no Var: give initial values first, such as f(y, x) = 0, and update elements behind"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"};
                Func f{"f"};
                f(x, x) = 1;
              }),
              HasSubstr("and index 1 is 'x', as index 0 is"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Reduction k("k", {{0, 4}});
                Func f{"f"};
                f(k) = 1;
              }),
              HasSubstr("index 0 is no Var"));
}

TEST(FuncErrors, AFirstDefinitionDependsOnItsIndicesAlone) {
  const std::string message = refusal_of_pipeline([](Array<const float, 2> a) {
    Var y{"y"}, x{"x"};
    Func f{"f"};
    Float value = a(x, 0);
    value = a(x, y);
    f(x) = value;
  });
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-2)));
  EXPECT_THAT(message,
              HasSubstr("the first definition of the Func 'f' depends on the variable 'y', which is none of its "
                        "indices"));
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a) {
                Var x{"x"};
                Reduction k{"k", 0, 4};
                Func f{"f"};
                f(x) = a(k);
              }),
              HasSubstr("the first definition of the Func 'f' goes through a Reduction, by its variable 'k': give "
                        "initial values first, and reduce in an update such as f(…) += …"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"};
                Func f{"f"};
                f(x) = f(x - 1) + 1;
              }),
              HasSubstr("the first definition of the Func 'f' reads the Func itself, which has no values yet"));
}

// A value does not depend on its previous contents before an assignment, but on the conditions of the assignment.
TEST(FuncErrors, DependenciesAreThoseOfTheValueAsItIs) {
  EXPECT_EQ(refusal_of_pipeline([](Array<const float, 1> a) {
              Var y{"y"}, x{"x"};
              Func f{"f"};
              Float value = a(y);
              value = a(x);
              f(x) = value;
            }),
            "no error");
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a) {
                Var y{"y"}, x{"x"};
                Func f{"f"};
                Float value = a(x);
                if_(y > 0, [&] { value = 1; });
                f(x) = value;
              }),
              HasSubstr("depends on the variable 'y'"));
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a) {
                Var y{"y"}, x{"x"};
                Func f{"f"};
                Float value = 0, next = 0;
                for (Int i : range(3)) {
                  value = next;
                  next = a(y + i);
                }
                f(x) = value;
              }),
              HasSubstr("depends on the variable 'y'"));
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a) {
                Var y{"y"}, x{"x"};
                Func f{"f"};
                const Float value = returning<Float>([&](auto return_) -> Float {
                  if_(y > 3, [&] { return_(Float(1.0f)); });
                  return a(x);
                });
                f(x) = value;
              }),
              HasSubstr("depends on the variable 'y'"));
  EXPECT_THAT(refusal_of_pipeline([](Array<const float, 1> a) {
                Var y{"y"}, x{"x"};
                Func f{"f"};
                LocalArray<float, 3> window;
                window(0) = a(y);
                f(x) = window(1);
              }),
              HasSubstr("depends on the variable 'y'"));
}

TEST(FuncErrors, AnUpdateHasItsVariablesInTheirPlaces) {
  const unsigned line = __LINE__ + 4;
  const std::string message = refusal_of_pipeline([](Array<const float, 1> a) {
    Var y{"y"}, x{"x"}, z{"z"};
    Func f{"f"};
    f(y, x) = 0;
    f(y, 0) += a(z);
  });
  EXPECT_THAT(message,
              HasSubstr(at_line(__FILE__, line + 1) +
                        ": an update of the Func 'f' depends on the variable 'z', but not as the index that it "
                        "is in the first definition, f(y, x) ("));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + "): it would have no range; use it there, or a Reduction"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var y{"y"}, x{"x"};
                Func f{"f"};
                f(y, x) = 0;
                f(x, y) = 1;
              }),
              HasSubstr("depends on the variable"));
}

TEST(FuncErrors, DefinitionsStandOutsideOfTracedControlFlow) {
  const std::string message = refusal_of_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    if_(x > 0, [&] { f(x) = 1; });
  });
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-2)));
  EXPECT_THAT(message,
              HasSubstr("the Func 'f' is defined inside of an if_, a while_, a loop over range(…) or a function "
                        "of returning(…): it holds for all elements of a Func. Choose a value by "
                        "select(condition, a, b), and write a Reduction for a loop"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"};
                Func f{"f"};
                for (Int i : range(3)) f(x) = i;
              }),
              HasSubstr("the Func 'f' is defined inside of"));
  EXPECT_THAT(refusal_of_pipeline([] {
                for (Int i : range(3)) Reduction k("k", {{0, i}});
              }),
              HasSubstr("a Reduction is made inside of an if_"));
}

TEST(FuncErrors, KernelsHaveThreadsAtomicsMessagesAndReturns) {
  const std::string line = SAMITE_LINE(1);
  const std::string of_thread = refusal_of_pipeline([] { thread_index(); });
  EXPECT_THAT(of_thread, AllOf(HasSubstr(line), HasSubstr("thread_index in a pipeline, where a Func is defined for all "
                                                          "elements at once: declare variables, Var y{\"y\"}")));
  EXPECT_THAT(refusal_of_pipeline([] {
                Func f{"f"};
                atomic_add(f(0), 1);
              }),
              HasSubstr("atomic_add in a pipeline, where a Func is defined element by element: write an update such as "
                        "f(x) += value, and atomic() in the schedule that runs it in parallel"));
  EXPECT_THAT(refusal_of_pipeline([](Array<float, 1> a) { atomic_exchange(a(0), 1); }),
              HasSubstr("atomic_exchange in a pipeline"));
  EXPECT_THAT(refusal_of_pipeline([] { print("here"); }), HasSubstr("print in a pipeline, whose values are computed"));
  EXPECT_THAT(refusal_of_pipeline([](Int n) { check(n > 0, "positive"); }), HasSubstr("check in a pipeline"));
  EXPECT_THAT(refusal_of_pipeline([](Int n) { if_(n > 0, [] { return_(); }); }),
              HasSubstr("return_ in a pipeline would end all of it"));
}

TEST(FuncErrors, TheRangeOfAReductionIsTheSameForAllElements) {
  const std::string message = refusal_of_pipeline([] {
    Var x{"x"};
    Reduction k("k", {{0, x}});
  });
  EXPECT_THAT(message, HasSubstr(SAMITE_LINE(-2)));
  EXPECT_THAT(message,
              HasSubstr("the range of the reduction variable 'k' depends on the variable 'x', but is the same for "
                        "all elements: give the largest range, and a condition by where(…)"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Reduction k{"k", 0, 4};
                Reduction r("r", {{0, 2}, {k, 3}});
              }),
              HasSubstr("the range of the reduction variable 'r1' depends on the variable 'k'"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"};
                Func<std::int32_t> f{"f"};
                f(x) = 3;
                Reduction k("k", {{0, f(0)}});
              }),
              HasSubstr("the range of the reduction variable 'k' depends on the Func 'f'"));
}

TEST(FuncErrors, AConditionIsGivenBeforeItIsNeeded) {
  const unsigned line = __LINE__ + 5;
  const std::string message = refusal_of_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    Reduction k{"k", 0, 4};
    f(x) += k;
    k.where(k > 2);
  });
  EXPECT_THAT(message,
              HasSubstr(at_line(__FILE__, line + 1) + ": a condition is added to a Reduction that a definition "
                                                      "has gone through already ("));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + "); give it before"));
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"}, y{"y"};
                Func f{"f"};
                Reduction k{"k", 0, 4};
                k.where(k > y);
                f(x) += k;
              }),
              HasSubstr("depends on the variable 'y'"))
      << "an update depends on what its condition does";
}

TEST(FuncErrors, AReductionHasSoManyVariables) {
  EXPECT_THAT(refusal_of_pipeline([] {
                Reduction r("r", {{0, 2}, {0, 3}});
                const Var none = r[2];
              }),
              HasSubstr("the Reduction 'r' has no variable 2; they are 0 to 1"));
}

#undef SAMITE_LINE

}  // namespace
}  // namespace samite
