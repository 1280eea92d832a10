// Every statement of a kernel keeps the file and line at which the user wrote it.

#include "samite/ir/kernel.h"
#include "tests/lang/captured.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace samite {
namespace {

using ir::Op;

// The statements of `kernel` of the kind of `text` as they print, without the numbers of locals: "add", "store".
std::vector<SourceLocation> locations(const ir::Kernel &kernel, const std::string &text) {
  std::vector<SourceLocation> found;
  for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    std::string word = visit(
        stmt, [](const ir::Let &let) { return std::string(ir::info(let.value.op).name); },
        [](const ir::Assign &) { return std::string("assign"); },
        [](const ir::Store &) { return std::string("store"); },
        [](const ir::Accumulate &) { return std::string("accumulate"); },
        [](const ir::Print &) { return std::string("print"); }, [](const ir::Check &) { return std::string("check"); },
        [](const ir::If &) { return std::string("if"); }, [](const ir::For &) { return std::string("for"); },
        [](const ir::While &) { return std::string("while"); }, [](const auto &) { return std::string(); });
    if (word == text) found.push_back(stmt.where());
  });
  return found;
}

// All statements of that kind are on this line of this file, and there is one at least.
testing::AssertionResult on_line(const ir::Kernel &kernel, const std::string &text, std::uint32_t line) {
  auto found = locations(kernel, text);
  if (found.empty()) return testing::AssertionFailure() << "there is no " << text;
  for (const SourceLocation &where : found)
    if (!(where == SourceLocation(__FILE__, line)))
      return testing::AssertionFailure() << text << " at " << where.to_string() << ", expected line " << line;
  return testing::AssertionSuccess();
}

TEST(Location, Operators) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Float x, Int i, Bool p) {
    Float sum = x + 1;
    Float product = 2 * x;
    Float negative = -x;
    Int shifted = i << 3;
    Bool less = x < 0;
    Bool both = p && true;
    Bool opposite = !p;
    Float converted = i * x;
  });
  EXPECT_TRUE(on_line(kernel, "add", first));
  EXPECT_EQ(locations(kernel, "mul").at(0).line, first + 1);
  EXPECT_TRUE(on_line(kernel, "neg", first + 2));
  EXPECT_TRUE(on_line(kernel, "shl", first + 3));
  EXPECT_TRUE(on_line(kernel, "lt", first + 4));
  EXPECT_TRUE(on_line(kernel, "and", first + 5));
  EXPECT_TRUE(on_line(kernel, "not", first + 6));
  EXPECT_TRUE(on_line(kernel, "cast", first + 7));
  EXPECT_EQ(locations(kernel, "mul").at(1).line, first + 7);
}

TEST(Location, Assignments) {
  const unsigned first = __LINE__ + 3;
  ir::Kernel kernel = test::captured([](Float x) {
    Float y;
    y = x * x;
    y += 1;
    y /= x;
  });
  auto assignments = locations(kernel, "assign");
  ASSERT_EQ(assignments.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(assignments[i], SourceLocation(__FILE__, first + i));
  EXPECT_TRUE(on_line(kernel, "mul", first));
  EXPECT_TRUE(on_line(kernel, "add", first + 1));
  EXPECT_TRUE(on_line(kernel, "div", first + 2));
}

TEST(Location, Initialisations) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Float x) {
    Float literal = 2;
    Float copy = x;
    Float zero;
    auto also = copy;
  });
  auto copies = locations(kernel, "copy");
  ASSERT_GE(copies.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(copies[copies.size() - 4 + i], SourceLocation(__FILE__, first + i));
}

TEST(Location, FunctionsOfTheLanguage) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Array<float, 1> a, Float x, Int i, Bool p) {
    Float root = sqrt(x);
    Float power = pow(x, 2);
    Float larger = max(x, root);
    Float chosen = select(p, x, 0);
    Double wide = cast<Double>(x);
    Int number = a.extent(0);
    Int index = thread_index();
    Bool inside = interior(a, i);
    Float within = clamp(x, 0, 1);
  });
  EXPECT_TRUE(on_line(kernel, "sqrt", first));
  EXPECT_TRUE(on_line(kernel, "pow", first + 1));
  EXPECT_EQ(locations(kernel, "max").at(0).line, first + 2);
  EXPECT_TRUE(on_line(kernel, "select", first + 3));
  EXPECT_TRUE(on_line(kernel, "cast", first + 4));
  EXPECT_EQ(locations(kernel, "extent").at(0).line, first + 5);
  EXPECT_TRUE(on_line(kernel, "thread_index", first + 6));
  EXPECT_TRUE(on_line(kernel, "and", first + 7));
  EXPECT_EQ(locations(kernel, "extent").at(1).line, first + 7);
  EXPECT_TRUE(on_line(kernel, "min", first + 8));
  EXPECT_EQ(locations(kernel, "max").at(1).line, first + 8);
}

TEST(Location, ReadsAndWritesOfArrays) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Array<float, 1> a, Array<const double, 2> b, Int i) {
    Float read = a(i);
    a(i + 1) = read;
    Double promoted = b(i, 0) + read;
    a(i) *= 2;
    atomic_add(a(i), read);
  });
  auto loads = locations(kernel, "load");
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_EQ(loads[0], SourceLocation(__FILE__, first));
  EXPECT_EQ(loads[1], SourceLocation(__FILE__, first + 2));
  EXPECT_EQ(loads[2], SourceLocation(__FILE__, first + 3));
  auto stores = locations(kernel, "store");
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(stores[0], SourceLocation(__FILE__, first + 1));
  EXPECT_EQ(stores[1], SourceLocation(__FILE__, first + 3));
  EXPECT_TRUE(on_line(kernel, "mul", first + 3));
  EXPECT_TRUE(on_line(kernel, "atomic_add", first + 4));
}

TEST(Location, PrintsAndChecks) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Array<float, 1> a, Int i) {
    print("a is ", a(i));
    print(i, " comes after ", i - 1);
    check(a(i) > 0, "a is ", a(i));
  });
  EXPECT_EQ(locations(kernel, "print"), (std::vector{SourceLocation(__FILE__, first), {__FILE__, first + 1}}));
  EXPECT_TRUE(on_line(kernel, "check", first + 2));
}

TEST(Location, LoopsAndBranchesAreWhereTheyBegin) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Array<float, 1> a, Float x, Int n) {
    for (Int i : range(n)) {
      a(i) = 1;
    }
    if_(x > 0, [&] {
      a(0) = 2;
      a(1) = 3;
    });
    while_([&] { return a(0) > 0; }, [&] { a(0) -= 1; });
  });
  EXPECT_TRUE(on_line(kernel, "for", first));
  EXPECT_TRUE(on_line(kernel, "if", first + 3));
  EXPECT_TRUE(on_line(kernel, "while", first + 7));
}

constexpr unsigned function_line = __LINE__ + 1;
Float average(Float x, Float y) { return (x + y) / 2; }

TEST(Location, InsideOfAPlainFunctionItIsTheFunctions) {
  const unsigned first = __LINE__ + 2;
  ir::Kernel kernel = test::captured([](Array<float, 1> a, Float x) {
    Float doubled = x * 2;
    a(0) = average(x, doubled);
  });
  EXPECT_TRUE(on_line(kernel, "mul", first));
  EXPECT_TRUE(on_line(kernel, "add", function_line));
  EXPECT_TRUE(on_line(kernel, "div", function_line));
  EXPECT_TRUE(on_line(kernel, "store", first + 1));
}

TEST(Location, TheKernelIsWhereItIsDefined) {
  const unsigned line = __LINE__ + 1;
  EXPECT_EQ(test::captured([] {}).where, SourceLocation(__FILE__, line));
}

// Passes keep the captured locations.
TEST(Location, EveryStatementOfTheSimplifiedKernelHasOneOfThisFile) {
  const unsigned first = __LINE__ + 1;
  ir::Kernel kernel = test::structured([](Array<float, 2> next, Array<const float, 2> now, Float rate, Int steps) {
    auto [y, x] = thread_index<2>();
    if_(interior(now, y, x), [&] {
      Float value = now(y, x), change = 0;
      for (Int s : range(steps)) {
        change += now(y - 1, x) + now(y + 1, x) - 2 * value;
        while_([&] { return change > 1; }, [&] { change *= 0.5; });
        value = average(value, change) + s;
      }
      next(y, x) = select(value > rate, value, rate);
    });
  });
  const unsigned last = __LINE__ - 1;
  int statements = 0;
  for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    ++statements;
    SourceLocation where = stmt.where();
    EXPECT_STREQ(where.file, __FILE__) << to_string(stmt, kernel.parameters);
    EXPECT_TRUE((where.line >= first && where.line <= last) || where.line == function_line)
        << to_string(stmt, kernel.parameters) << " at " << where.to_string();
  });
  EXPECT_GT(statements, 25);
}

}  // namespace
}  // namespace samite
