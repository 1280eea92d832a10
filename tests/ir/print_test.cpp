// The printed form, statement by statement, compared with docs/ir.md.

#include "samite/ir/print.h"

#include "samite/ir/kernel.h"

#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <sstream>

namespace samite::ir {
namespace {

const std::vector<Parameter> parameters = {
    {"next", ScalarType::Float32, 2},
    {"now", ScalarType::Float32, 2, true},
    {"rate", ScalarType::Float32},
};

Value i32(std::int64_t value) { return Value::constant(ScalarType::Int32, value); }
Value f32(double value) { return Value::constant(ScalarType::Float32, value); }
Value local(ScalarType type, LocalId id) { return Value::local(type, id); }
std::string text(const Value &value) { return to_string(value, parameters); }

template <class Kind>
std::string text(Kind kind, SourceLocation where = {}) {
  return to_string(Stmt(std::move(kind), where), parameters, {.locations = true});
}

TEST(Print, ConstantsNameTheirTypeUnlessItIsClear) {
  EXPECT_EQ(text(Value::boolean(true)), "true");
  EXPECT_EQ(text(i32(-7)), "-7");
  EXPECT_EQ(text(f32(2)), "2.0");
  EXPECT_EQ(text(Value::constant(ScalarType::Float64, 2.0)), "2.0:f64");
  EXPECT_EQ(text(Value::constant(ScalarType::UInt8, std::int64_t{255})), "255:u8");
  EXPECT_EQ(text(Value::constant(ScalarType::Int64, std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808:i64");
  EXPECT_EQ(text(Value::constant(ScalarType::UInt64, std::int64_t{-1})), "18446744073709551615:u64");
}

TEST(Print, FloatingConstantsHaveTheFewestDigitsThatRoundTrip) {
  EXPECT_EQ(text(f32(0.1)), "0.1");  // as a double this float is 0.100000001490116…
  EXPECT_EQ(text(Value::constant(ScalarType::Float64, 0.1)), "0.1:f64");
  EXPECT_EQ(text(f32(1e20)), "1e+20");
  EXPECT_EQ(text(f32(std::numeric_limits<float>::denorm_min())), "1e-45");
  EXPECT_EQ(text(f32(-0.0)), "-0.0");
}

TEST(Print, InfinityAndNaN) {
  EXPECT_EQ(text(f32(HUGE_VAL)), "inf");
  EXPECT_EQ(text(Value::constant(ScalarType::Float64, -HUGE_VAL)), "-inf:f64");
  EXPECT_EQ(text(Value::from_bits(ScalarType::Float32, 0x7ff8000000000000)), "nan");
  EXPECT_EQ(text(Value::from_bits(ScalarType::Float64, 0xfff8000000000001)), "nan(0xfff8000000000001):f64");
}

TEST(Print, Operations) {
  auto let = [](Operation operation) { return text(Let{4, std::move(operation)}); };
  EXPECT_EQ(let({Op::ThreadIndex, ScalarType::Int32, {}, 0, 1}), "%4: i32 = thread_index 1");
  EXPECT_EQ(let({Op::Extent, ScalarType::Int64, {}, 1, 0}), "%4: i64 = extent @now, 0");
  EXPECT_EQ(let({Op::Load, ScalarType::Float32, {local(ScalarType::Int32, 0), i32(1)}, 1}),
            "%4: f32 = load @now[%0, 1]");
  EXPECT_EQ(let({Op::Exchange, ScalarType::Float32, {i32(0), i32(1)}, 0, 0}), "%4: f32 = exchange atomic @next[0, 1]");
  EXPECT_EQ(let({Op::Exchange, ScalarType::Float32, {i32(0), i32(1)}, 0, 1}), "%4: f32 = exchange @next[0, 1]");
  EXPECT_EQ(let({Op::LocalLoad, ScalarType::Float32, {i32(1)}, 2}), "%4: f32 = local_load $2[1]");
  EXPECT_EQ(let({Op::Unavailable, ScalarType::Float32, {}, 0, 3}), "%4: f32 = unavailable 3");
  EXPECT_EQ(
      let({Op::Mul, ScalarType::Float32, {local(ScalarType::Float32, 2), Value::parameter(ScalarType::Float32, 2)}}),
      "%4: f32 = mul %2, @rate");
}

TEST(Print, StatementsAndTheirLocations) {
  SourceLocation where{"diffuse.cpp", 12};
  EXPECT_EQ(text(Assign{3, f32(1)}, where), "assign %3 = 1.0 at \"diffuse.cpp\":12");
  EXPECT_EQ(text(Store{0, {i32(0), i32(1)}, f32(1)}, where), "store @next[0, 1] = 1.0 at \"diffuse.cpp\":12");
  EXPECT_EQ(text(Accumulate{0, {i32(0), i32(1)}, f32(1), true}), "accumulate atomic @next[0, 1] += 1.0");
  EXPECT_EQ(text(Accumulate{0, {i32(0), i32(1)}, f32(1), false}), "accumulate @next[0, 1] += 1.0");
}

TEST(Print, PrintsAndChecks) {
  SourceLocation where{"diffuse.cpp", 12};
  EXPECT_EQ(text(ir::Print{{{"x = ", " and ", ""}, {f32(1), i32(2)}}}, where),
            "print \"x = \", 1.0, \" and \", 2 at \"diffuse.cpp\":12");
  EXPECT_EQ(text(ir::Print{{{""}, {}}}), "print \"\"");
  EXPECT_EQ(text(Check{Value::boolean(false), {{"\"no\""}, {}}, {}}), "check false, \"\\\"no\\\"\"");
  EXPECT_EQ(text(Check{Value::boolean(false), {{"", ""}, {i32(2)}}, {i32(3), i32(4)}}), "check false of (3, 4), 2");
  EXPECT_EQ(text(Check{Value::boolean(false), {{""}, {}}, {}}), "check false");
  EXPECT_EQ(text(Check{Value::boolean(false), {{"", ""}, {i32(2)}}, {}, true}), "check race false, 2");
}

TEST(Print, LocalArrays) {
  SourceLocation where{"diffuse.cpp", 12};
  EXPECT_EQ(text(Allocate{2, ScalarType::Float32, i32(8)}, where), "local $2: f32[8] at \"diffuse.cpp\":12");
  EXPECT_EQ(text(LocalStore{2, i32(1), f32(3)}, where), "local_store $2[1] = 3.0 at \"diffuse.cpp\":12");
}

TEST(Print, LocationsAreLeftOutUnlessAsked) {
  Stmt stmt(Assign{3, f32(1)}, {"diffuse.cpp", 12});
  EXPECT_EQ(to_string(stmt, parameters), "assign %3 = 1.0");
}

TEST(Print, If) {
  Block then_block{Stmt(Let{1, {Op::Copy, ScalarType::Float32, {f32(1)}}}, {})};
  If branch{local(ScalarType::Bool, 0), then_block, {}, {}};
  EXPECT_EQ(text(branch),
            "if %0 {\n"
            "  %1: f32 = copy 1.0\n"
            "}");
  branch.else_block = {Stmt(Store{0, {i32(0), i32(0)}, f32(2)}, {})};
  branch.results = {{2, ScalarType::Float32, local(ScalarType::Float32, 1), f32(0)},
                    {3, ScalarType::Int32, i32(1), i32(0)}};
  EXPECT_EQ(text(branch, {"a.cpp", 3}),
            "if %0 -> (%2: f32 = %1 | 0.0, %3: i32 = 1 | 0) at \"a.cpp\":3 {\n"
            "  %1: f32 = copy 1.0\n"
            "} else {\n"
            "  store @next[0, 0] = 2.0\n"
            "}");
}

TEST(Print, For) {
  For loop{5, ScalarType::Int32, i32(0), i32(8), i32(1), {}, {}, LoopKind::Thread};
  EXPECT_EQ(text(loop), "for.thread %5: i32 in 0 .. 8 step 1 {\n}");
  loop.kind = LoopKind::Block;
  EXPECT_EQ(text(loop), "for.block %5: i32 in 0 .. 8 step 1 {\n}");
  loop.kind = LoopKind::Serial;
  loop.carried = {{6, 7, ScalarType::Float32, f32(0), local(ScalarType::Float32, 8)}};
  loop.body = {Stmt(Let{8, {Op::Neg, ScalarType::Float32, {local(ScalarType::Float32, 6)}}}, {})};
  EXPECT_EQ(text(loop),
            "for %5: i32 in 0 .. 8 step 1 carry (%6 -> %7: f32 = 0.0 then %8) {\n"
            "  %8: f32 = neg %6\n"
            "}");
}

TEST(Print, LabelAndLeave) {
  EXPECT_EQ(text(Labelled{3, {Stmt(Leave{3}, {})}}, {"a.cpp", 5}),
            "label 3 at \"a.cpp\":5 {\n"
            "  leave 3\n"
            "}");
}

TEST(Print, While) {
  While loop{{Stmt(Let{2, {Op::Less, ScalarType::Bool, {local(ScalarType::Int32, 0), i32(9)}}}, {})},
             local(ScalarType::Bool, 2),
             {Stmt(Let{3, {Op::Add, ScalarType::Int32, {local(ScalarType::Int32, 0), i32(1)}}}, {})},
             {{0, 1, ScalarType::Int32, i32(0), local(ScalarType::Int32, 3)}}};
  EXPECT_EQ(text(loop, {"a.cpp", 4}),
            "while carry (%0 -> %1: i32 = 0 then %3) at \"a.cpp\":4 {\n"
            "  %2: bool = lt %0, 9\n"
            "} test %2 {\n"
            "  %3: i32 = add %0, 1\n"
            "}");
}

TEST(Print, KernelWithGradientParameterAndNamesThatNeedQuotes) {
  Kernel kernel;
  kernel.name = "heat step";
  kernel.parameters = {{"now", ScalarType::Float32, 2, true},
                       {"now's gradient", ScalarType::Float32, 2, false, Role::Gradient, 0},
                       {"rate", ScalarType::Float64}};
  kernel.launch_rank = 2;
  kernel.where = {"heat.cpp", 5};
  std::string signature =
      "kernel @\"heat step\"(@now: array<const f32, 2>, @\"now's gradient\": gradient of @now array<f32, 2>, "
      "@rate: f64) threads 2";
  EXPECT_EQ(to_string(kernel), signature + " {\n}\n");
  EXPECT_EQ(to_string(kernel, {.locations = true}), signature + " at \"heat.cpp\":5 {\n}\n");

  std::ostringstream stream;
  stream << kernel;
  EXPECT_EQ(stream.str(), signature + " {\n}\n");
}

TEST(Print, RenumberCountsLocalsInTheOrderOfTheirDefinitions) {
  Block block{Stmt(Let{70, {Op::Copy, ScalarType::Int32, {i32(1)}}}, {}),
              Stmt(Let{3, {Op::Neg, ScalarType::Int32, {local(ScalarType::Int32, 70)}}}, {})};
  EXPECT_EQ(to_string(block, {}, {.renumber = true}), "%0: i32 = copy 1\n%1: i32 = neg %0\n");
}

TEST(Print, IllFormedKernelsPrintToo) {
  EXPECT_EQ(text(Store{9, {}, Value::parameter(ScalarType::Float32, 8)}), "store @<parameter 9>[] = @<parameter 8>");
  EXPECT_EQ(text(Value::from_bits(ScalarType::Bool, 7)), "7:bool");
}

}  // namespace
}  // namespace samite::ir
