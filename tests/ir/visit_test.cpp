// Walking and rebuilding statements.

#include "samite/ir/visit.h"

#include "samite/ir/difference.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"

#include <gtest/gtest.h>

namespace samite::ir {
namespace {

// Every statement that has blocks, nested.
Kernel nested() {
  return parse_kernel(R"(
      kernel @k(@out: array<f32, 1>, @n: i32, @x: f32) threads 1 {
        for %0: i32 in 0 .. @n step 1 carry (%1 -> %2: f32 = @x then %3) {
          if true -> (%3: f32 = %4 | %1) {
            %4: f32 = neg %1
          } else {
            store @out[%0] = %1
          }
        }
        while carry (%5 -> %6: f32 = %2 then %8) {
          %7: bool = lt %5, 9.0
        } test %7 {
          %8: f32 = add %5, 1.0
        }
        accumulate atomic @out[0] += %6
      })");
}

std::vector<std::string> texts(const Kernel &kernel, const std::vector<Value> &values) {
  std::vector<std::string> texts;
  for (const Value &value : values) texts.push_back(to_string(value, kernel.parameters));
  return texts;
}

std::vector<std::string> operands(const Kernel &kernel, const Stmt &stmt) {
  std::vector<Value> values;
  for_each_operand(stmt, [&](const Value &value) { values.push_back(value); });
  return texts(kernel, values);
}

std::vector<LocalId> definitions(const Stmt &stmt) {
  std::vector<LocalId> locals;
  for_each_definition(stmt, [&](LocalId local, ScalarType) { locals.push_back(local); });
  return locals;
}

TEST(Visit, CallsTheFunctionOfTheStatementsKind) {
  Kernel kernel = nested();
  auto name = [](const Stmt &stmt) {
    return visit(
        stmt, [](const For &) { return "for"; }, [](const While &) { return "while"; },
        [](const auto &) { return "other"; });
  };
  EXPECT_STREQ(name(kernel.body[0]), "for");
  EXPECT_STREQ(name(kernel.body[1]), "while");
  EXPECT_STREQ(name(kernel.body[2]), "other");
}

TEST(Visit, StatementsOuterBeforeInnerInProgramOrder) {
  std::string order;
  for_each_statement(nested().body, [&](const Stmt &stmt) {
    order += visit(
        stmt, [](const Let &let) { return std::string(info(let.value.op).name); },
        [](const Assign &) { return std::string("assign"); }, [](const Store &) { return std::string("store"); },
        [](const Accumulate &) { return std::string("accumulate"); },
        [](const Allocate &) { return std::string("local"); },
        [](const LocalStore &) { return std::string("local_store"); }, [](const If &) { return std::string("if"); },
        [](const For &) { return std::string("for"); }, [](const While &) { return std::string("while"); },
        [](const auto &) { return std::string("other"); });
    order += ' ';
  });
  EXPECT_EQ(order, "for if neg store while lt add accumulate ");
}

TEST(Visit, LabelsAreWalkedAndRebuilt) {
  Kernel kernel = parse_kernel("kernel @k(@a: array<f32, 1>) threads 1 { label 7 { store @a[0] = 1.0 leave 7 } }");
  int statements = 0;
  for_each_statement(kernel.body, [&](const Stmt &) { ++statements; });
  EXPECT_EQ(statements, 3);
  EXPECT_TRUE(operands(kernel, kernel.body[0]).empty());
  EXPECT_TRUE(definitions(kernel.body[0]).empty());
  kernel.body = map_operands(kernel.body, [](const Value &value) { return Value::constant(value.type(), 2); });
  EXPECT_EQ(to_string(kernel.body, kernel.parameters), "label 7 {\n  store @a[2] = 2.0\n  leave 7\n}\n");
}

TEST(Visit, OperandsAreThoseOfTheStatementItself) {
  Kernel kernel = nested();
  using Texts = std::vector<std::string>;
  EXPECT_EQ(operands(kernel, kernel.body[0]), (Texts{"0", "@n", "1", "@x", "%3"}));
  EXPECT_EQ(operands(kernel, kernel.body[0].as<For>()->body[0]), (Texts{"true", "%4", "%1"}));
  EXPECT_EQ(operands(kernel, kernel.body[1]), (Texts{"%7", "%2", "%8"}));
  EXPECT_EQ(operands(kernel, kernel.body[2]), (Texts{"0", "%6"}));
}

TEST(Visit, DefinitionsIncludeIndexResultsAndCarriedValues) {
  Kernel kernel = nested();
  EXPECT_EQ(definitions(kernel.body[0]), (std::vector<LocalId>{0, 1, 2}));
  EXPECT_EQ(definitions(kernel.body[0].as<For>()->body[0]), (std::vector<LocalId>{3}));
  EXPECT_EQ(definitions(kernel.body[1]), (std::vector<LocalId>{5, 6}));
  EXPECT_TRUE(definitions(kernel.body[2]).empty());
}

TEST(Visit, MapOperandsReplacesEveryReadAndNoDefinition) {
  Kernel kernel = nested();
  kernel.body = map_operands(kernel.body, [](const Value &value) {
    return value.kind() == Value::Kind::Parameter ? Value::constant(value.type(), std::int64_t{7}) : value;
  });
  Kernel expected = nested();
  std::string text = to_string(expected);
  text.replace(text.find(".. @n"), 5, ".. 7");
  text.replace(text.find("= @x"), 4, "= 7.0");
  EXPECT_EQ(to_string(kernel), text);
}

TEST(Visit, MapOperandsKeepsKindsFlagsAndLocations) {
  Kernel kernel = parse_kernel(R"(
      kernel @k(@out: array<f32, 1>) threads 1 {
        for.thread %0: i32 in 0 .. 4 step 1 at "a.cpp":1 {
          accumulate atomic @out[%0] += 1.0 at "a.cpp":2
        }
        accumulate @out[0] += 1.0 at "a.cpp":3
        load_pack take %1: f32, %2: f32 = @out[0] at "a.cpp":4
        store_pack streaming @out[0] = %1, %2 at "a.cpp":5
        for %3: i32 in 0 .. 4 step 1 rolled instances 2 stages 2 ahead 1 {
          accumulate_pack atomic @out[0] += 1.0, %1
        }
      })");
  std::string before = to_string(kernel, {.locations = true});
  kernel.body = map_operands(kernel.body, [](const Value &value) { return value; });
  EXPECT_EQ(to_string(kernel, {.locations = true}), before);
}

TEST(Visit, NeighboursAreReadAndWrittenTogether) {
  const Kernel kernel = parse_kernel(R"(
      kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @n: i32) threads 1 {
        load_pack constant %0: f32, %1: f32 = @x[@n]
        load_pack take %2: f32, %3: f32 = @y[@n]
        store_pack @y[@n] = %0, %3
      })");
  const Stmt &load = kernel.body[0], &take = kernel.body[1], &store = kernel.body[2];
  using Texts = std::vector<std::string>;
  EXPECT_EQ(operands(kernel, load), Texts{"@n"});
  EXPECT_EQ(operands(kernel, store), (Texts{"@n", "%0", "%3"}));
  EXPECT_EQ(definitions(load).size(), 2u);
  EXPECT_TRUE(definitions(store).empty());
  EXPECT_EQ(array_read(load), 1u);
  EXPECT_EQ(array_written(load), std::nullopt);
  EXPECT_EQ(array_read(take), 0u);
  EXPECT_EQ(array_written(take), 0u);
  EXPECT_EQ(array_read(store), std::nullopt);
  EXPECT_EQ(array_written(store), 0u);
}

TEST(Visit, OperandsOfLocalArrays) {
  Kernel kernel = parse_kernel("kernel @k(@n: i32, @x: f32) threads 1 { local $0: f32[@n] local_store $0[@n] = @x }");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(operands(kernel, kernel.body[0]), Texts{"@n"});
  EXPECT_EQ(operands(kernel, kernel.body[1]), (Texts{"@n", "@x"}));
  kernel.body = map_operands(kernel.body, [](const Value &value) { return Value::constant(value.type(), 7); });
  EXPECT_EQ(to_string(kernel.body, {}), "local $0: f32[7]\nlocal_store $0[7] = 7.0\n");
}

TEST(Visit, LocalTypes) {
  Kernel kernel = parse_kernel("kernel @k() threads 1 { %2: f64 = copy 1.0:f64 if true -> (%0: u8 = 1:u8 | 2:u8) {} }");
  std::vector<Type> types = local_types(kernel);
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[2], ScalarType::Float64);
  EXPECT_EQ(types[0], ScalarType::UInt8);
}

}  // namespace
}  // namespace samite::ir
