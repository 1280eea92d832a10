// Arrays and Funcs beyond their edges: the element at each index, and the captured statements.

#include "samite/lang/exterior.h"

#include "samite/base/error.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/passes/interpreter.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::captured_pipeline;
using test::definitions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The values of the only Func, with one index and over the first array, for -7, -6, …, 9.
std::vector<int> around_zero(const ir::CapturedPipeline &pipeline, const std::vector<int> &array) {
  const ir::LocalId x = pipeline.variables.at(0).local;
  ir::Kernel kernel = pipeline.algorithm;
  const ir::LocalId thread = kernel.local_count++;
  const auto local = [](ir::LocalId id) { return ir::Value::local(ScalarType::Int32, id); };
  ir::Block body;
  body.emplace_back(ir::Let{thread, {ir::Op::ThreadIndex, ScalarType::Int32, {}}}, SourceLocation());
  body.emplace_back(
      ir::Let{x, {ir::Op::Sub, ScalarType::Int32, {local(thread), ir::Value::constant(ScalarType::Int32, 7)}}},
      SourceLocation());
  for (const ir::Stmt &stmt : kernel.body) {
    auto *store = stmt.as<ir::Store>();
    body.push_back(store ? ir::Stmt(ir::Store{store->array, {local(thread)}, store->value}, stmt.where()) : stmt);
  }
  kernel.body = body;
  test::Arguments arguments;
  arguments.add_array<int>(array).add_array<int>(std::vector<int>(17));
  return test::interpret(kernel, {17}, arguments).arguments.elements<int>(1);
}

TEST(Exterior, RepeatsTheEdge) {
  const auto f = captured_pipeline([](Array<const int, 1> a) { repeat_edge(a); });
  EXPECT_THAT(around_zero(f, {1, 2, 3}), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_EQ(around_zero(f, {5}), std::vector<int>(17, 5));
}

TEST(Exterior, IsAConstant) {
  const auto f = captured_pipeline([](Array<const int, 1> a) { constant_exterior(a, -1); });
  EXPECT_THAT(around_zero(f, {1, 2, 3}), ElementsAre(-1, -1, -1, -1, -1, -1, -1, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1));
}

TEST(Exterior, RepeatsTheWhole) {
  const auto f = captured_pipeline([](Array<const int, 1> a) { repeat(a); });
  EXPECT_THAT(around_zero(f, {1, 2, 3}), ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1));
  EXPECT_EQ(around_zero(f, {5}), std::vector<int>(17, 5));
}

TEST(Exterior, IsAMirrorImageWithItsEdgesTwice) {
  const auto f = captured_pipeline([](Array<const int, 1> a) { mirror_image(a); });
  EXPECT_THAT(around_zero(f, {1, 2, 3}), ElementsAre(1, 1, 2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3, 3));
  EXPECT_EQ(around_zero(f, {5}), std::vector<int>(17, 5));
}

TEST(Exterior, IsAMirrorOfTheInteriorWithItsEdgesOnce) {
  const auto f = captured_pipeline([](Array<const int, 1> a) { mirror_interior(a); });
  EXPECT_THAT(around_zero(f, {1, 2, 3}), ElementsAre(2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2));
  EXPECT_EQ(around_zero(f, {5}), std::vector<int>(17, 5));
}

TEST(Exterior, IsAFuncThatIsNamedAfterTheArray) {
  const auto pipeline = captured_pipeline([](Array<const float, 2> in) { repeat_edge(in); }, {"in"});
  EXPECT_EQ(definitions(pipeline),
            "in_repeat_edge[y, x] = in[min(max(y, 0), sub(extent(in, 0), 1)), min(max(x, 0), sub(extent(in, 1), 1))]");
}

TEST(Exterior, OfAFuncHasRangesThatAreGiven) {
  EXPECT_EQ(
      definitions([](Int w) {
        Var y{"y"}, x{"x"};
        Func<std::int32_t> f{"f"};
        f(y, x) = y * x;
        constant_exterior(f, 7, {{1, 8}, {0, w}});
      }),
      "f[y, x] = mul(y, x)\n"
      "f_constant_exterior[y, x] = select(and(and(ge(sub(y, 1), 0), lt(sub(y, 1), 8)), and(ge(x, 0), lt(x, p0))), "
      "f[add(min(max(sub(y, 1), 0), sub(8, 1)), 1), min(max(x, 0), sub(p0, 1))], 7)");
  const std::string message = test::refusal_of_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    f(x) = 1;
    mirror_image(f, {{0, 4}, {0, 4}});
  });
  EXPECT_THAT(message, HasSubstr(test::at_line(__FILE__, __LINE__ - 2)));
  EXPECT_THAT(message, HasSubstr("the Func 'f' is given 2 indices, but has 1"));
}

}  // namespace
}  // namespace samite
