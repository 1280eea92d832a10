// One test for each rule of ir/verify.h: a kernel that breaks it, and the words that say so.

#include "samite/ir/verify.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"

#include <gtest/gtest.h>
#include <bit>
#include <string>

namespace samite::ir {
namespace {

std::string verify_error_of(const Kernel &kernel, Form form = Form::structured) {
  try {
    verify(kernel, form, "promote");
  } catch (const InternalError &error) {
    return error.what();
  }
  return "no error";
}

// A kernel with something of each kind, and `body`.
Kernel with_body(const std::string &body) {
  return parse_kernel(
      "kernel @k(@out: array<f32, 2>, @in: array<const f32, 1>, @flags: array<bool, 1>, @n: i32, @x: f32) threads 2 "
      "{\n" +
      body + "\n}");
}

void expect_accepted(const std::string &body, Form form = Form::structured) {
  EXPECT_EQ(verify_error_of(with_body(body), form), "no error") << body;
}

void expect_rejected(const Kernel &kernel, const std::string &fact, Form form = Form::structured) {
  EXPECT_NE(verify_error_of(kernel, form).find(fact), std::string::npos)
      << "expected: " << fact << "\nin: " << verify_error_of(kernel, form);
}
void expect_rejected(const std::string &body, const std::string &fact, Form form = Form::structured) {
  SCOPED_TRACE(body);
  expect_rejected(with_body(body), fact, form);
}

Kernel with_parameters(const std::string &parameters) {
  return parse_kernel("kernel @k(" + parameters + ") threads 1 {}");
}

TEST(Verify, NamesThePassTheStatementAndTheLine) {
  Kernel kernel = with_body("store @out[0, 0] = 1.0 at \"user.cpp\":41\nstore @out[0, 0] = 2 at \"user.cpp\":42");
  expect_rejected(kernel,
                  "kernel 'k' is ill-formed after promote: the stored value has type i32, expected f32\n"
                  "  in: store @out[0, 0] = 2\n"
                  "  at: user.cpp:42");
}

TEST(Verify, ShowsTheHeadOfALoopAlone) {
  std::string message = verify_error_of(with_body("for %0: i32 in 0 .. 4 step 0 {\n store @out[0, 0] = 1.0\n }"));
  EXPECT_NE(message.find("  in: for %0: i32 in 0 .. 4 step 0 {\n  at:"), std::string::npos) << message;
}

TEST(Verify, BlamesTheOuterStatementAfterItsBlocks) {
  expect_rejected("if true -> (%0: f32 = 1.0 | 2) {\n store @out[0, 0] = 1.0\n }",
                  "in: if true -> (%0: f32 = 1.0 | 2) {");
}

TEST(Verify, AcceptsAWholeKernel) {
  expect_accepted(R"(
      %0: i32 = thread_index 0
      %1: i64 = extent @in, 0
      for %2: i64 in 0:i64 .. %1 step 1:i64 carry (%3 -> %4: f32 = @x then %6) {
        %5: f32 = load @in[%2]
        %6: f32 = add %3, %5
      }
      while carry (%7 -> %8: f32 = %4 then %11) {
        %9: f32 = mul %7, 0.5
        %10: bool = gt %9, 1.0
      } test %10 {
        %11: f32 = copy %9
      }
      %12: bool = lt %0, @n
      if %12 -> (%13: f32 = %14 | %8) {
        %14: f32 = exchange @out[%0, 0]
      }
      accumulate atomic @out[%0, 1] += %13)");
}

TEST(Verify, EachLocalIsDefinedOnce) {
  expect_rejected("%0: i32 = copy 1\n%0: i32 = copy 2", "%0 is defined twice");
  expect_rejected("if true { %0: i32 = copy 1 } else { %0: i32 = copy 2 }", "%0 is defined twice");
  expect_rejected("for %0: i32 in 0 .. 1 step 1 carry (%0 -> %1: i32 = 0 then %0) {}", "%0 is defined twice");
}

TEST(Verify, LocalsAreBelowLocalCount) {
  Kernel kernel = with_body("%0: i32 = copy 1\n%7: i32 = neg %0");
  kernel.local_count = 7;
  expect_rejected(kernel, "%7 is not below the kernel's local_count of 7");
}

TEST(Verify, ReadsComeAfterDefinitions) {
  expect_rejected("%0: i32 = neg %1\n%1: i32 = copy 1", "%1 is read before it is defined");
  expect_rejected("%0: i32 = neg %0", "%0 is read before it is defined");
  expect_rejected("for %0: i32 in 0 .. %0 step 1 {}", "%0 is read before it is defined");
}

TEST(Verify, LocalsOfABlockEndWithIt) {
  expect_rejected("if true { %0: i32 = copy 1 }\n%1: i32 = neg %0", "%0 is defined, but not in scope here");
  expect_rejected("if true { %0: i32 = copy 1 } else { %1: i32 = neg %0 }", "%0 is defined, but not in scope here");
  expect_rejected("if true -> (%2: i32 = 1 | %0) { %0: i32 = copy 1 }", "%0 is defined, but not in scope here");
  expect_rejected("for %0: i32 in 0 .. 4 step 1 {}\n%1: i32 = neg %0", "%0 is defined, but not in scope here");
  expect_rejected("for %0: i32 in 0 .. 4 step 1 carry (%1 -> %2: i32 = 0 then 1) {}\n%3: i32 = neg %1",
                  "%1 is defined, but not in scope here");
  expect_rejected("while { %0: bool = copy true } test %0 {}\n%1: bool = not %0",
                  "%0 is defined, but not in scope here");
}

TEST(Verify, ResultsAreSeenOnlyAfterTheirStatement) {
  expect_rejected("for %0: i32 in 0 .. 4 step 1 carry (%1 -> %2: i32 = 0 then %3) { %3: i32 = neg %2 }",
                  "%2 is read before it is defined");
}

TEST(Verify, BodyOfAWhileSeesItsConditionBlock) {
  expect_accepted("while carry (%0 -> %1: i32 = 0 then %2) { %2: i32 = add %0, 1 } test false { %3: i32 = neg %2 }");
}

TEST(Verify, OperandsMustExist) {
  Kernel kernel = with_body("");
  kernel.body = {Stmt(Let{0, {Op::Neg, ScalarType::Float32, {Value::parameter(ScalarType::Float32, 9)}}}, {})};
  kernel.local_count = 1;
  expect_rejected(kernel, "parameter 9 is read, and the kernel has 5");
  expect_rejected("%0: f32 = neg @out", "@out is an array, expected a scalar");
}

TEST(Verify, OperandsCarryTheTypeOfWhatTheyName) {
  Kernel kernel = with_body("%0: i32 = copy 1");
  kernel.body.push_back(Stmt(Let{1, {Op::Neg, ScalarType::Float32, {Value::local(ScalarType::Float32, 0)}}}, {}));
  kernel.local_count = 2;
  expect_rejected(kernel, "%0 is read as f32, and its type is i32");
  kernel.body[1] = Stmt(Let{1, {Op::Neg, ScalarType::Float64, {Value::parameter(ScalarType::Float64, 4)}}}, {});
  expect_rejected(kernel, "@x is read as f64, and its type is f32");
}

TEST(Verify, ConstantsAreValuesOfTheirType) {
  auto kernel_with = [](Value constant) {
    Kernel kernel = with_body("");
    kernel.body = {Stmt(Let{0, {Op::Copy, constant.type(), {constant}}}, {})};
    kernel.local_count = 1;
    return kernel;
  };
  expect_rejected(kernel_with(Value::from_bits(ScalarType::UInt8, 256)),
                  "the constant with bits 0x100 is not a value of type u8");
  expect_rejected(kernel_with(Value::from_bits(ScalarType::Int32, 0xffffffff)), "is not a value of type i32");
  expect_rejected(kernel_with(Value::from_bits(ScalarType::Bool, 2)), "is not a value of type bool");
  expect_rejected(kernel_with(Value::from_bits(ScalarType::Float32, std::bit_cast<std::uint64_t>(0.1))),
                  "is not a value of type f32");
  EXPECT_EQ(verify_error_of(kernel_with(Value::from_bits(ScalarType::Float64, std::bit_cast<std::uint64_t>(0.1)))),
            "no error");
}

TEST(Verify, Arity) {
  expect_rejected("%0: i32 = add 1", "add has 1 operands, expected 2");
  expect_rejected("%0: i32 = neg 1, 2", "neg has 2 operands, expected 1");
}

TEST(Verify, OperandAndResultTypesOfEachTyping) {
  expect_rejected("%0: bool = add true, false", "the result of add has type bool, expected an arithmetic type");
  expect_rejected("%0: f32 = add 1.0, 2", "operand 2 of add has type i32, expected f32");
  expect_rejected("%0: i32 = sqrt 1", "the result of sqrt has type i32, expected a floating type");
  expect_rejected("%0: f64 = sqrt 1.0", "operand 1 of sqrt has type f32, expected f64");
  expect_rejected("%0: f32 = rem 1.0, 2.0", "the result of rem has type f32, expected an integer type");
  expect_rejected("%0: i32 = shl 1, 2:i64", "operand 2 of shl has type i64, expected i32");
  expect_rejected("%0: f32 = and 1.0, 2.0", "the result of and has type f32, expected an integer type or bool");
  expect_rejected("%0: i32 = lt 1, 2", "the result of lt has type i32, expected bool");
  expect_rejected("%0: bool = lt 1, 2.0", "operand 2 of lt has type f32, expected i32");
  expect_rejected("%0: i32 = select 1, 2, 3", "operand 1 of select has type i32, expected bool");
  expect_rejected("%0: i32 = select true, 2, 3.0", "operand 3 of select has type f32, expected i32");
  expect_rejected("%0: i32 = copy true", "operand 1 of copy has type bool, expected i32");
  expect_accepted("%0: bool = and true, false\n%1: u8 = xor 1:u8, 2:u8\n%2: bool = eq true, %0\n%3: f64 = cast %2");
}

TEST(Verify, LaunchDimensions) {
  expect_accepted("%0: i64 = launch_end 1");
  expect_rejected("%0: i32 = thread_index 2", "dimension 2 is asked for, and the launch has 2");
  expect_rejected("%0: i32 = launch_begin -1", "dimension -1 is asked for, and the launch has 2");
  expect_rejected("%0: u32 = thread_index 0", "the result of thread_index has type u32, expected i32 or i64");
}

TEST(Verify, Extents) {
  expect_accepted("%0: i64 = extent @out, 1");
  expect_rejected("%0: i32 = extent @in, 1", "dimension 1 is asked for, and the array has 1");
  expect_rejected("%0: i32 = extent @n, 0", "@n is a scalar, expected an array");
  expect_rejected("%0: f32 = extent @in, 0", "the result of extent has type f32, expected i32 or i64");
}

TEST(Verify, MemoryOperationsIndexAnArrayByItsRank) {
  expect_rejected("%0: f32 = load @out[0]", "@out has rank 2, and 1 indices are given");
  expect_rejected("store @out[0, 0, 0] = 1.0", "@out has rank 2, and 3 indices are given");
  expect_rejected("accumulate @out[0] += 1.0", "@out has rank 2, and 1 indices are given");
  expect_rejected("%0: f32 = exchange @out[0]", "@out has rank 2, and 1 indices are given");
  expect_rejected("%0: f32 = load @x[]", "@x is a scalar, expected an array");
  expect_rejected("store @n[0] = 1", "@n is a scalar, expected an array");

  Kernel kernel = with_body("");
  kernel.body = {Stmt(Store{5, {}, Value::zero(ScalarType::Float32)}, {})};
  expect_rejected(kernel, "array 5 is used, and the kernel has 5 parameters");
}

TEST(Verify, ExchangeIsAtomicOrPlain) {
  expect_accepted("%0: f32 = exchange @out[0, 0]\n%1: f32 = exchange atomic @out[0, 0]");
  Kernel kernel = with_body("");
  Value zero = Value::zero(ScalarType::Int32);
  kernel.body = {Stmt(Let{0, {Op::Exchange, ScalarType::Float32, {zero, zero}, 0, 2}}, {})};
  kernel.local_count = 1;
  expect_rejected(kernel, "exchange has attribute 2, expected 0 (atomic) or 1 (plain)");
}

TEST(Verify, AtomicOperationsFitTheirArray) {
  expect_accepted("%0: f32 = atomic_add @out[0, 0], 1.0\n%1: f32 = atomic_compare_exchange @out[0, 0], 1.0, %0");
  expect_rejected("%0: f32 = atomic_add @out[0], 1.0", "atomic_add has 2 operands, expected 2 indices and 1 values");
  expect_rejected("%0: f32 = atomic_compare_exchange @out[0, 0], 1.0",
                  "atomic_compare_exchange has 3 operands, expected 2 indices and 2 values");
  expect_rejected("%0: f32 = atomic_add @out[0, 0], 1", "a value of atomic_add has type i32, expected f32");
  expect_rejected("%0: i32 = atomic_add @out[0, 0], 1.0", "the result of atomic_add has type i32, expected f32");
  expect_rejected("%0: f32 = atomic_xor @out[0, 0], 1.0",
                  "the result of atomic_xor has type f32, expected an integer type or bool");
  expect_rejected("%0: f32 = atomic_min @in[0], 1.0", "@in is read-only, and is written");
}

TEST(Verify, AtomicOperationsOnTilesFitTheirArray) {
  const auto kernel = [](const std::string &statement) {
    return parse_kernel(
        "kernel @k(@y: array<i32, 2>, @f: array<f32, 2>) blocks 1 of 32 {\n"
        "%0: tile<i32, 4> = coordinate 0\n" +
        statement + "\n}");
  };
  EXPECT_EQ(verify_error_of(kernel("%1: tile<i32, 4> = atomic_max @y[1, %0], %0")), "no error");
  EXPECT_EQ(verify_error_of(kernel("%1: tile<i32, 4> = atomic_add @y[0, 2], %0")), "no error");
  EXPECT_EQ(verify_error_of(kernel("%1: tile<f32, 4> = bit_cast %0")), "no error");
  expect_rejected(kernel("%1: tile<i32, 3> = atomic_max @y[1, %0], 1:tile<i32, 3>"),
                  "an index has type tile<i32, 4>, and the element tile<i32, 3>");
  expect_rejected(kernel("%1: tile<i32, 4> = atomic_max @y[1, %0], 1"),
                  "a value of atomic_max has type i32, expected tile<i32, 4>");
  expect_rejected(kernel("%1: tile<i32, 4> = atomic_max @f[1, %0], %0"),
                  "the result of atomic_max has type tile<i32, 4>, expected f32");
}

TEST(Verify, PrintsAndChecks) {
  expect_accepted("print \"x\", @x, true\ncheck true, \"x\"\ncheck false");
  expect_rejected("check @x", "the condition has type f32, expected bool");
  expect_rejected("check true of (0)", "the index of the instance has 1 dimensions, and the launch has 2");
  expect_rejected("check true of (0, 1.0)", "an index of the instance has type f32, expected i32 or i64");
  Kernel kernel = with_body("");
  kernel.body = {Stmt(Print{{{"x", "y"}, {}}}, {})};
  expect_rejected(kernel, "a message has 2 texts and 0 values, expected one text more than values");
}

TEST(Verify, IndicesAreI32OrI64) {
  expect_accepted("%0: f32 = load @out[0, 1:i64]");
  expect_rejected("%0: f32 = load @in[0:u32]", "an index has type u32, expected i32 or i64");
  expect_rejected("store @out[0, 1.0] = 1.0", "an index has type f32, expected i32 or i64");
}

TEST(Verify, ElementsHaveTheArraysType) {
  expect_rejected("%0: f64 = load @in[0]", "the result of load has type f64, expected f32");
  expect_rejected("store @out[0, 0] = 1.0:f64", "the stored value has type f64, expected f32");
  expect_rejected("accumulate @out[0, 0] += 1", "the accumulated value has type i32, expected f32");
  expect_rejected("accumulate @flags[0] += true", "@flags has type bool, which does not accumulate");
}

TEST(Verify, ReadOnlyArraysAreNotWritten) {
  expect_rejected("store @in[0] = 1.0", "@in is read-only, and is written");
  expect_rejected("accumulate atomic @in[0] += 1.0", "@in is read-only, and is written");
  expect_rejected("%0: f32 = exchange @in[0]", "@in is read-only, and is written");
  expect_rejected("%0: f32 = exchange atomic @in[0]", "@in is read-only, and is written");
}

TEST(Verify, LocalArraysAreAllocatedOnceAndUsedInScope) {
  expect_accepted("local $0: f32[@n]\nif true { local_store $0[0] = 1.0 }\n%0: f32 = local_load $0[0:i64]");
  expect_accepted("while { local $0: bool[4] %0: bool = local_load $0[0] } test %0 { local_store $0[0] = false }");
  expect_rejected("local_store $0[0] = 1.0\nlocal $0: f32[4]", "$0 is used before it is allocated");
  expect_rejected("if true { local $0: f32[4] }\n%0: f32 = local_load $0[0]", "$0 is allocated, but not in scope here");
  expect_rejected("local $0: f32[4]\nif true { local $0: f32[4] }", "$0 is allocated twice");
  Kernel kernel = with_body("local $0: f32[4]");
  kernel.local_array_count = 0;
  expect_rejected(kernel, "$0 is not below the kernel's local_array_count of 0");
}

TEST(Verify, LocalArraysHoldTheirTypeAtIndicesOfI32OrI64) {
  expect_rejected("local $0: f32[4:u32]", "the size of a local array has type u32, expected i32 or i64");
  expect_rejected("local $0: f32[4]\nlocal_store $0[true] = 1.0", "an index has type bool, expected i32 or i64");
  expect_rejected("local $0: f32[4]\nlocal_store $0[0] = 1", "the stored value has type i32, expected f32");
  expect_rejected("local $0: f32[4]\n%0: f64 = local_load $0[0]",
                  "the result of local_load has type f64, expected f32");
}

TEST(Verify, ConditionsAreBool) {
  expect_rejected("if @n {}", "the condition has type i32, expected bool");
  expect_rejected("while {} test 1.0 {}", "the condition has type f32, expected bool");
}

TEST(Verify, BoundsAndStepHaveTheTypeOfTheIndex) {
  expect_accepted("for %0: u64 in 0:u64 .. 4:u64 step 1:u64 {}");
  expect_rejected("for %0: f32 in 0.0 .. 4.0 step 1.0 {}", "the loop's index has type f32, expected an integer type");
  expect_rejected("for %0: i64 in 0 .. 4:i64 step 1:i64 {}", "the loop's begin has type i32, expected i64");
  expect_rejected("for %0: i64 in 0:i64 .. @n step 1:i64 {}", "the loop's end has type i32, expected i64");
  expect_rejected("for %0: i64 in 0:i64 .. 4:i64 step 1 {}", "the loop's step has type i32, expected i64");
  expect_rejected("for %0: i32 in 0 .. 4 step 0 {}", "the loop's step is zero");
}

TEST(Verify, ResultsAndCarriedValuesHaveTheirType) {
  expect_rejected("if true -> (%0: f32 = 1 | 2.0) {}", "the first value of %0 has type i32, expected f32");
  expect_rejected("if true -> (%0: f32 = 1.0 | 2) {}", "the second value of %0 has type i32, expected f32");
  expect_rejected("for %0: i32 in 0 .. 4 step 1 carry (%1 -> %2: f32 = 0 then %1) {}",
                  "the initial value of %1 has type i32, expected f32");
  expect_rejected("while carry (%1 -> %2: f32 = 0.0 then 1) {} test false {}",
                  "the next value of %1 has type i32, expected f32");
}

TEST(Verify, OnlyALoopWithAnOrderCarriesValues) {
  for (std::string kind : {"block", "thread"})
    expect_rejected("for." + kind + " %0: i32 in 0 .. 4 step 1 carry (%1 -> %2: f32 = 0.0 then 1.0) {}",
                    "an unordered loop carries values", Form::lowered);
}

TEST(Verify, AssignBelongsToTheCapturedForm) {
  std::string body = "%0: f32 = copy 1.0\nif true { assign %0 = 2.0 }";
  expect_accepted(body, Form::captured);
  expect_rejected(body, "the structured form has no assign", Form::structured);
}

TEST(Verify, AssignChangesAVisibleLocalOfAnOperationToItsType) {
  expect_rejected("assign %0 = 1.0\n%0: f32 = copy 1.0", "%0 is read before it is defined", Form::captured);
  expect_rejected("if true { %0: f32 = copy 1.0 }\nassign %0 = 2.0", "%0 is defined, but not in scope here",
                  Form::captured);
  expect_rejected("%0: f32 = copy 1.0\nassign %0 = 2", "the assigned value has type i32, expected f32", Form::captured);
  expect_rejected("for %0: i32 in 0 .. 4 step 1 { assign %0 = 2 }",
                  "%0 is assigned, and is not defined by an operation", Form::captured);
}

TEST(Verify, JumpsBelongToTheCapturedForm) {
  expect_accepted("label 1 { if true { leave 1 } }", Form::captured);
  expect_rejected("label 1 {}", "the structured form has no label");
  expect_rejected("leave 1", "the structured form has no leave");
}

TEST(Verify, AJumpLeavesALabelAroundIt) {
  expect_accepted("label 1 { label 2 { leave 1 } leave 1 }\nlabel 1 { leave 1 }", Form::captured);
  expect_rejected("label 1 { leave 2 }", "leave 2 outside of its label", Form::captured);
  expect_rejected("label 1 {}\nleave 1", "leave 1 outside of its label", Form::captured);
  expect_rejected("label 1 { label 2 { label 1 {} } }", "label 1 is nested in itself", Form::captured);
}

TEST(Verify, AJumpCrossesNothingThatGivesValues) {
  const std::string refused = "leave 1 out of a condition or a statement with results";
  auto expect_crossed = [](const std::string &body) { expect_accepted("label 1 {" + body + "}", Form::captured); };
  auto expect_not_crossed = [&](const std::string &body) {
    expect_rejected("label 1 {" + body + "}", refused, Form::captured);
  };
  expect_crossed("if true {} else { leave 1 }");
  expect_not_crossed("if true -> (%0: i32 = 1 | 2) { leave 1 }");
  expect_crossed("for %0: i32 in 0 .. 4 step 1 { leave 1 }");
  expect_not_crossed("for %0: i32 in 0 .. 4 step 1 carry (%1 -> %2: i32 = 0 then %1) { leave 1 }");
  expect_crossed("while {} test true { leave 1 }");
  expect_not_crossed("while { leave 1 } test true {}");
  expect_not_crossed("while carry (%1 -> %2: i32 = 0 then %1) {} test true { leave 1 }");
  expect_crossed("while { label 2 { leave 2 } } test true { if true -> (%0: i32 = 1 | 2) { label 2 { leave 2 } } }");
}

TEST(Verify, WhatALabelDefinesEndsWithIt) {
  expect_rejected("label 1 { %0: f32 = copy 1.0 }\nstore @out[0, 0] = %0", "%0 is defined, but not in scope here",
                  Form::captured);
}

TEST(Verify, LaunchRank) {
  Kernel kernel = with_body("");
  kernel.launch_rank = 0;
  expect_rejected(kernel, "the launch has 0 dimensions, expected 1 to 4");
  kernel.launch_rank = 5;
  expect_rejected(kernel, "the launch has 5 dimensions, expected 1 to 4");
}

TEST(Verify, ParametersHaveDistinctNamesAndARank) {
  expect_rejected(with_parameters("@a: f32, @a: i32"), "two parameters are named @a");
  expect_rejected(with_parameters("@\"\": f32"), "a parameter has no name");
  expect_rejected(with_parameters("@a: array<f32, 5>"), "@a has rank 5, expected 0 to 4");
  expect_rejected(with_parameters("@a: array<f32, 1>, @b: array<f32, -1>"), "@b has rank -1, expected 0 to 4");
}

TEST(Verify, DerivativesThatAreGiven) {
  expect_accepted(
      "custom (%0: f32 = @x) -> (%1: f32 = %0) {\n} adjoint (%2: f32) {\n} gradients (%2)\n"
      "store @out[0, 0] = %1");
  expect_rejected("custom (%0: i32 = @n) -> () {\n} adjoint () {\n} gradients (%0)", "expected a floating type");
  expect_rejected("custom (%0: f32 = @x) -> (%1: f32 = %0) {\n} adjoint (%2: f32) {\n} gradients (@n)",
                  "the gradient of %0 has type i32, expected f32");
  expect_rejected(
      "custom (%0: f32 = @x) -> (%1: f32 = %0) {\n} adjoint (%2: f32) {\n} gradients (%2)\n"
      "store @out[0, 0] = %2",
      "%2 is defined, but not in scope here");
  expect_rejected("accumulate atomic gradient @in[0] += @x", "outside of an adjoint block");
  expect_rejected("%3: f32 = copy @x\ncustom () -> () {\nassign %3 = 1.0\n} adjoint () {\n} gradients ()",
                  "%3 is assigned inside a custom adjoint or an adjoint_of", Form::captured);
  expect_rejected("adjoint_of (%0: f32 = @x then %1: f32) {\n} seeds (%0 = @x)", "no adjoint_of");
  expect_accepted("adjoint_of (%0: f32 = @x then %1: f32) {\n} seeds (%0 = @x)\nstore @out[0, 0] = %1", Form::captured);
}

TEST(Verify, OnlyArraysAreDistinctInMemory) {
  EXPECT_EQ(verify_error_of(with_parameters("@a: distinct array<f32, 2>")), "no error");
  expect_rejected(with_parameters("@a: distinct f32"), "@a is a scalar and cannot be distinct in memory");
}

TEST(Verify, GradientsBelongToAParameter) {
  auto accepted = [](const std::string &parameters) {
    return verify_error_of(with_parameters(parameters)) == "no error";
  };
  EXPECT_TRUE(accepted("@a: array<f32, 2>, @g: gradient of @a array<f32, 2>"));
  EXPECT_TRUE(accepted("@a: f32, @g: gradient of @a array<f32, 1>"));
  EXPECT_TRUE(accepted("@a: array<f32, 2>, @g: gradient of @a array<f32, 2>, @gg: gradient of @g array<f32, 2>"));

  expect_rejected(with_parameters("@a: array<f32, 2>, @g: gradient of @a array<f32, 1>"),
                  "@g has rank 1 and is the gradient of @a of rank 2");
  expect_rejected(with_parameters("@a: array<i32, 1>, @g: gradient of @a array<f32, 1>"),
                  "@g has type f32 and is the gradient of @a of type i32, expected floating types");
  expect_rejected(with_parameters("@g: gradient of @g array<f32, 1>"), "@g is a gradient of itself");
  expect_rejected(with_parameters("@g: gradient of @h array<f32, 1>, @h: gradient of @g array<f32, 1>"),
                  "@g is a gradient of itself");

  Kernel kernel = with_parameters("@a: f32, @g: gradient of @a array<f32, 1>");
  kernel.parameters[1].primal = 2;
  expect_rejected(kernel, "@g is the gradient of parameter 2, and the kernel has 2");
}

void expect_only_lowered(const Kernel &kernel, const std::string &what) {
  EXPECT_EQ(verify_error_of(kernel, Form::lowered), "no error");
  expect_rejected(kernel, "the structured form has no " + what);
  expect_rejected(kernel, "the captured form has no " + what, Form::captured);
}

TEST(Verify, WhatOnlyLoweredKernelsHave) {
  expect_only_lowered(with_body("for.thread %0: i32 in 0 .. 4 step 1 {}"), "unordered loop");
  expect_only_lowered(with_body("for.block %0: i32 in 0 .. 4 step 1 {}"), "unordered loop");
  expect_only_lowered(with_body("local shared $0: f32[4]"), "memory of a block");
}

TEST(Verify, NeighboursOfAThreadAreOfLoweredKernels) {
  const auto launch = [](const std::string &body) {
    return parse_kernel(
        "kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @b: array<bool, 1>, @i: array<i32, 1>) "
        "threads 1 { for.thread %0: i32 in 0 .. 8 step 2 { " +
        body + " } }");
  };
  const auto expect = [&](const std::string &body, const std::string &error) {
    expect_rejected(launch(body), error, Form::lowered);
  };
  EXPECT_EQ(
      verify_error_of(launch("load_pack constant %1: f32, %2: f32 = @x[%0] store_pack streaming @y[%0] = %1, %2 "
                             "load_pack take %3: f32, %4: f32 = @y[%0] accumulate_pack atomic @y[%0] += %3, %4 "
                             "for %5: i32 in 0 .. %0 step 1 rolled { } for %6: i32 in 0 .. 8 step 3 instances 2 { }"),
                      Form::lowered),
      "no error");
  expect_rejected(with_body("load_pack %0: f32, %1: f32 = @in[0]"), "the structured form has no wide access");
  expect_rejected(with_body("for %0: i32 in 0 .. 4 step 1 rolled { }"), "the structured form has no rolled loop");
  expect_rejected(with_body("for %0: i32 in 0 .. 4 step 1 instances 2 { }"),
                  "the structured form has no loop of several instances");
  expect("load_pack %1: f32, %2: f32, %3: f32 = @x[%0]", "a wide access to 3 elements, expected 2, 4 or 8");
  expect("load_pack %1: i32, %2: i32 = @x[%0]", "elements of type i32, expected f32");
  expect("load_pack take %1: f32, %2: f32 = @x[%0]", "@x is read-only");
  expect("load_pack %1: f32, %2: f32 = @x[%0, %0]", "@x has rank 1, and 2 indices are given");
  expect("store_pack @y[%0] = 1.0, 2", "the stored value has type i32, expected f32");
  expect("accumulate_pack @b[%0] += true, true", "@b has type bool, which does not accumulate");
  expect("accumulate_pack atomic @i[%0] += 1, 2", "wide atomic additions of type i32, expected f32");
  expect("for %1: i32 in 0 .. 8 step 1 instances 0 { }", "a loop of 0 instances");
  expect("for %1: i32 in 0 .. 8 step 1 by_warp 40 { }", "a loop of 40 iterations of a warp at once, expected up to 32");
  expect("for %1: i32 in 0 .. 8 step 1 by_warp 1 { %2: f32 = load by_warp @x[%1] }",
         "a load by warp from @x outside of a loop by warp");
  expect("for %1: i32 in 0 .. 8 step 1 march 2 { }", "a thread runs 2 iterations of a loop one after another");
  const auto steps = [](const std::string &loop) {
    return parse_kernel("kernel @k(@n: i32) threads 1 { " + loop + " { } }");
  };
  expect_rejected(steps("for.thread %0: i32 in 0 .. 8 step @n"), "is @n, expected a positive constant", Form::lowered);
  expect_rejected(steps("for.thread %0: i32 in 0 .. 8 step -2"), "is -2, expected a positive", Form::lowered);
  expect_rejected(steps("for.block %0: i32 in 0 .. 8 step 2"), "is 2, expected 1", Form::lowered);
  expect_rejected(steps("for.thread %0: i32 in 0 .. 8 step 1 rolled"), "a loop that is rolled", Form::lowered);
}

Kernel tiles_with_body(const std::string &body) {
  return parse_kernel("kernel @k(@y: array<f32, 2>, @x: array<const f32, 2>) blocks 1 of 64 {\n" + body + "\n}");
}

TEST(Verify, BarriersAreOfBlocks) {
  EXPECT_EQ(verify_error_of(tiles_with_body("commit_copies wait_for_copies 1 barrier"), Form::lowered), "no error");
  expect_rejected(tiles_with_body("commit_copies"), "the structured form has no group of copies");
  expect_rejected(tiles_with_body("wait_for_copies -1"), "a wait for all but -1 groups of copies", Form::lowered);
  expect_rejected(tiles_with_body("barrier"), "the structured form has no barrier");
  expect_rejected(with_body("barrier"), "a barrier in a kernel without blocks", Form::lowered);
  expect_rejected(tiles_with_body("for.thread %0: i32 in 0 .. 4 step 1 { barrier }"), "a barrier inside a thread loop",
                  Form::lowered);
}

// Each is well-formed without the one thing that is wrong with it.
TEST(Verify, MemoryOfBlocksLiesWhereItMay) {
  const auto expect = [](const std::string &body, const std::string &message) {
    expect_rejected(tiles_with_body(body), message, Form::lowered);
  };
  EXPECT_EQ(verify_error_of(tiles_with_body("local shared $0: f16[4096] rows(64, 8, swizzled) stages 3 offset 1024 "
                                            "local registers $1: f32[4096] fragments(matrices, 64, 64, 1, 2) "
                                            "local device $2: f32[100] local shared $3: f32[12]"),
                            Form::lowered),
            "no error");
  expect("local shared $0: f16[4096] rows(64, 7)", "rows of 64 elements of 2 bytes in 7 units of 16 bytes");
  expect("local shared $0: f16[4000] rows(64, 8)", "4000 elements in a layout with 64 columns");
  expect("local device $0: f16[4096] rows(64, 8)", "rows of units outside of shared memory");
  expect("local shared $0: f32[4096] fragments(fours, 64, 64, 1, 2)", "fragments outside of registers");
  expect("local registers $0: f32[4096] fragments(fours, 64, 64, 2, 2)",
         "fragments on 2 by 2 warps, and the block has 64 threads");
  expect("local registers $0: f32[4096] fragments(fours, 64, 63, 1, 2)", "4096 elements in a layout with 63 columns");
  expect("local registers $0: f32[4096]", "memory in registers without a fragment layout");
  expect("local device $0: f32[4096] stages 2", "memory with 2 buffers");
  expect("local device $0: f32[4096] offset 128", "memory at 128 bytes");
  expect("local $0: f32[4096] rows(64, 16)", "rows of units outside of shared memory");
  expect("local shared $0: f32[4096] units 0", "or whose size is not a parameter");
  EXPECT_EQ(verify_error_of(parse_kernel("kernel @k(@n: i32, @at: i32) blocks 1 of 64 scheduled {\n"
                                         "local shared $0: f32[@n] units @at offset 128\n}"),
                            Form::lowered),
            "no error");
}

TEST(Verify, ProductsAreMultipliedInTheirOwnExtents) {
  const auto product = [](const std::string &how) {
    return tiles_with_body(
        "local shared $0: f32[1024] local shared $1: f32[1024] local shared $2: f32[4096] "
        "tile_call matmul 0 $2: tile<f32, 64, 64> = $0: tile<f32, 64, 16>, $1: tile<f32, 16, 64>" +
        how);
  };
  EXPECT_EQ(verify_error_of(product(""), Form::lowered), "no error");
  EXPECT_EQ(verify_error_of(product(" by fragments(fours, 64, 64, 2, 1)"), Form::lowered), "no error");
  expect_rejected(product(" by fragments(fours, 64, 32, 2, 1)"), "sums of 64 by 32 elements", Form::lowered);
}

TEST(Verify, BuffersAreThoseOfTheirMemory) {
  const std::string memory = "local shared $0: f16[4096] rows(64, 8, swizzled) stages 3 ";
  const auto expect = [&](const std::string &body, const std::string &message) {
    expect_rejected(tiles_with_body(memory + body), message, Form::lowered);
  };
  EXPECT_EQ(verify_error_of(tiles_with_body(memory + "local shared $1: f16[4096] rows(64, 8, swizzled) buffer 1 of $0"),
                            Form::lowered),
            "no error");
  expect("local shared $1: f16[4096] rows(64, 8) buffer 1 of $0",
         "a buffer whose type, size or layout differs from that of $0");
  expect("local shared $1: f16[2048] rows(64, 8, swizzled) buffer 1 of $0",
         "a buffer whose type, size or layout differs from that of $0");
  expect("local shared $1: f32[64] local shared $2: f32[64] buffer 0 of $1",
         "a buffer of memory without several buffers");
  expect("local shared $1: f16[4096] rows(64, 8, swizzled) buffer 1.0 of $0", "the number of a buffer");
}

TEST(Verify, StreamsLoadWhatTheySay) {
  const std::string stream =
      "local shared $0: f32[512] stages 2 load_stream $1 inside %0: i32 to $0: tile<f32, 8, 64> = @x[0, 0] step 0, 64 "
      "local shared $2: f32[512] buffer 0 of $0 ";
  const auto expect = [&](const std::string &body, const std::string &message) {
    expect_rejected(tiles_with_body(stream + body), message, Form::lowered);
  };
  EXPECT_EQ(verify_error_of(tiles_with_body(stream + "tile_load $2: tile<f32, 8, 64> = next $1"), Form::lowered),
            "no error");
  expect("tile_load $2: tile<f32, 4, 64> = next $1", "a load of type tile<f32, 4, 64> from a stream of type");
  expect("tile_load $2: tile<f32, 8, 64> = next $0", "$0 is not a stream of loads");
  expect("load_stream $3 inside %1: i32 to $0: tile<f16, 8, 64> = @x[0, 0] step 0, 64", "elements of type f32");
}

TEST(Verify, MainLoopsWhoseThreadsCopyTheWindows) {
  const std::string rings =
      "local shared $0: f32[1024] stages 3 local shared $1: f32[1024] stages 3 local shared $5: f32[1024] "
      "local registers $2: f32[4096] fragments(matrices, 64, 64, 1, 2) ";
  const auto loop = [&](const std::string &a, const std::string &b, const std::string &how = " for 4") {
    return tiles_with_body(rings + "main_loop 0 $2: tile<f32, 64, 64> += " + a + ", " + b + how +
                           " by fragments(matrices, 64, 64, 1, 2)");
  };
  const std::string a = "$0: tile<f32, 64, 16> of @x[0, 0] step 0, 16 in_units",
                    b = "$1: tile<f32, 16, 64> of @x[0, 0] step 16, 0";
  EXPECT_EQ(verify_error_of(loop(a, b), Form::lowered), "no error");
  const auto expect = [&](const Kernel &kernel, const std::string &message) {
    expect_rejected(kernel, message, Form::lowered);
  };
  expect(loop(a, b, ""), "or of one product");
  expect(loop(a, b, " for 1.0"), "the number of products");
  expect(tiles_with_body(rings + "main_loop producers 0 $2: tile<f32, 64, 64> += " + a + ", " + b +
                         " for 4 by fragments(matrices, 64, 64, 1, 2)"),
         "for threads of another role");
  expect(loop(a, b + " in 2"), "copied by threads, in parts");
  expect(loop(a, "$5: tile<f32, 16, 64> of @x[0, 0] step 16, 0"), "factors of 3 and 1 stages");
  expect(loop("$5: tile<f32, 64, 16> of @x[0, 0] step 0, 16", "$5: tile<f32, 16, 64> of @x[0, 0] step 16, 0"),
         "to rings of one stage");
  expect(loop(a, "$1: tile<f32, 64, 16> of @x[0, 0] step 16, 0"), "have no product");
}

// Rings of three stages, their barriers, and sums.
const std::string rings_of_groups =
    "local shared $0: f32[2048] panels(64, 32) stages 3 local shared $1: f32[2048] panels(64, 32) stages 3 "
    "local shared $3: u64[6] local shared $4: u64[4] local shared $5: f32[2048] panels(64, 32) "
    "local registers $2: f32[4096] fragments(matrices, 64, 64, 1, 2) ";
const std::string by_matrices = " by fragments(matrices, 64, 64, 1, 2)",
                  with_barriers = " barriers $3: tile<u64, 6>" + by_matrices;

TEST(Verify, MainLoopsOfBulkCopies) {
  const std::string a = "$0: tile<f32, 64, 32> of @x[0, 0] step 0, 32",
                    b = "$1: tile<f32, 64, 32> of @x[0, 0] step 0, 32";
  const auto loop = [&](const std::string &factors, const std::string &how, const std::string &more = "") {
    return tiles_with_body(rings_of_groups + "main_loop 2 $2: tile<f32, 64, 64> += " + factors + how + more);
  };
  const auto expect = [&](const Kernel &kernel, const std::string &message) {
    expect_rejected(kernel, message, Form::lowered);
  };
  const std::string both = a + ", " + b;
  EXPECT_EQ(verify_error_of(loop(both, " for 4" + with_barriers), Form::lowered), "no error");
  EXPECT_EQ(verify_error_of(loop(both, " for 4" + with_barriers, " terms 100"), Form::lowered), "no error");
  EXPECT_EQ(verify_error_of(loop(both, with_barriers), Form::lowered), "no error");
  expect(loop(both, with_barriers, " terms 100"), "on something other than a whole main loop");
  expect(loop(both, " for 4" + with_barriers, " because \"of that\""), "a reason against bulk copies");
  expect(loop(both, " for 4 barriers $4: tile<u64, 4>" + by_matrices), "barriers of type tile<u64, 4> for 3 stages");
  expect(loop(both + " in 2", " for 4" + with_barriers), "in 2 parts");
  expect(loop(both, " for 4" + with_barriers, " store @x[0, 0] = 0.0"), "bulk copies from @x, which the kernel writes");
}

TEST(Verify, SingleProductsOfMainLoops) {
  const auto with = [&](const std::string &body) { return tiles_with_body(rings_of_groups + body); };
  const auto expect = [&](const std::string &body, const std::string &message) {
    expect_rejected(with(body), message, Form::lowered);
  };
  const std::string product =
      "window_product 2 $2: tile<f32, 64, 64> += $5: tile<f32, 64, 32>, $1: tile<f32, 64, 32> "
      "of @x[0, 0]" +
      with_barriers;
  EXPECT_EQ(verify_error_of(with(product), Form::lowered), "no error");
  EXPECT_EQ(verify_error_of(with(product + " keeps_window " + product + " has_window"), Form::lowered), "no error");
  expect(product + " keeps_window", "a kept window without a later product");
  expect(product + " has_window", "has not kept");
  expect(product + " takes_turn", "a turn on a product that is not one of a warp group");
  expect(product + " runs_into $2", "runs_into on a product that is not one of a warp group");
  const std::string bring =
                        "bring_windows $3: tile<u64, 6> to $0: tile<f32, 64, 32> of @x[0, 0], "
                        "$1: tile<f32, 64, 32> of @x[0, 0] ",
                    in_stage = "stage_product 2 $2: tile<f32, 64, 64> = $0: tile<f32, 64, 32>, $1: tile<f32, 64, 32>" +
                               with_barriers;
  EXPECT_EQ(verify_error_of(with(bring + in_stage + " release_windows $3"), Form::lowered), "no error");
  expect(bring + in_stage, "windows that are not released");
  expect(in_stage, "a product in a stage whose windows were not loaded");
  std::string of_another = in_stage;
  of_another.replace(of_another.find("$1:"), 3, "$5:");
  expect(bring + of_another + " release_windows $3", "a product of a window that was not loaded");
}

TEST(Verify, DeclaredProductsAreThoseOfTheLoop) {
  const auto loop = [](const std::string &declared, const std::string &more = "") {
    return tiles_with_body(
        "local shared $0: f32[4096] local shared $1: f32[4096] local shared $2: f32[4096] "
        "for %0: i32 in 0 .. 4 step 1 products " +
        declared +
        " { tile_load $0: tile<f32, 64, 64> = @x[%0, 0] "
        "tile_call matmul 0 $2: tile<f32, 64, 64> = $0: tile<f32, 64, 64>, $1: tile<f32, 64, 64> " +
        more + "}");
  };
  EXPECT_EQ(verify_error_of(loop("($2 += $0 window, $1)"), Form::lowered), "no error");
  EXPECT_EQ(verify_error_of(loop("and_more ($2 += $0 window, $1 window $0 terms %0)"), Form::lowered), "no error");
  const auto expect = [&](const Kernel &kernel, const std::string &message) {
    expect_rejected(kernel, message, Form::lowered);
  };
  expect(loop("($1 += $0 window, $1)"), "a product to $1 is none");
  expect(loop("($2 += $0 window, $0 window)"), "a factor $0 is none");
  expect(loop("($2 += $0 window $0 terms 1.0, $1)"), "the terms of $0 have type f32, expected i32");
  expect(loop("and_more ($2 += $0 window, $1 and $2 += $0 window, $1)"), "declares 2 products, and computes 1");
  const std::string again = "tile_call matmul 0 $2: tile<f32, 64, 64> = $0: tile<f32, 64, 64>, $1: tile<f32, 64, 64> ";
  expect(loop("($2 += $0 window, $1 and $2 += $0 window, $1)", again), "declares several");
  EXPECT_EQ(verify_error_of(loop("and_more ($2 = $0 window, $1)"), Form::lowered), "no error");
  expect(loop("($2 = $0 window, $1)"), "a loop that only adds to its sums begins with zeros");
}

TEST(Verify, LoopsLoadAheadWhatTheyHave) {
  const auto loop = [](const std::string &how) { return tiles_with_body("for %0: i32 in 0 .. 4 step 1 " + how); };
  const std::string body = " { %1: i32 = add %0, 1 }";
  EXPECT_EQ(verify_error_of(loop("stages 3 ahead 1" + body), Form::lowered), "no error");
  expect_rejected(loop("stages 3 ahead 1" + body), "the structured form has no loop that prefetches statements");
  expect_rejected(loop("stages 3 ahead 2" + body), "2 of them ahead", Form::lowered);
  expect_rejected(loop("ahead 1" + body), "a loop of 1 stages", Form::lowered);
}

TEST(Verify, LoweredKernelsHaveNoTiles) {
  expect_rejected(tiles_with_body("%0: tile<f32, 4> = load @x[0, 0]"),
                  "the lowered form has no values of type tile<f32, 4>", Form::lowered);
  expect_rejected(tiles_with_body("store @y[0, 0] = 1.0:tile<f32, 4>"),
                  "the lowered form has no values of type tile<f32, 4>", Form::lowered);
}

TEST(Verify, LoweredKernelsHaveAllTheirValuesAtHand) {
  const Kernel kernel = with_body("%0: f32 = unavailable 3");
  EXPECT_EQ(verify_error_of(kernel), "no error");
  expect_rejected(kernel, "the lowered form has no unavailable values", Form::lowered);
}

// A call computes the operation that its name says, and fits the memory.
TEST(Verify, CallsOnTilesInMemory) {
  const std::string memory = "local shared $0: f32[64]\nlocal shared $1: f32[64]\nlocal shared $2: i32[64]\n";
  const auto accepted = [&](const std::string &call) {
    EXPECT_EQ(verify_error_of(tiles_with_body(memory + call), Form::lowered), "no error") << call;
  };
  const auto rejected = [&](const std::string &call, const std::string &fact) {
    expect_rejected(tiles_with_body(memory + call), fact, Form::lowered);
  };
  accepted("tile_load $0: tile<f32, 8, 8> = @x[0, 0]");
  accepted("tile_call reduce_add 0 $1: tile<f32, 8, 1> = $0: tile<f32, 8, 8>");
  accepted("tile_call reduce_add 0 $1: f32 = $0: tile<f32, 64>");
  accepted("tile_call matmul 0 $1: tile<f32, 4, 4> = $0: tile<f32, 4, 2>, $1: tile<f32, 2, 4>");
  accepted("tile_call cast 0 $2: tile<i32, 8, 8> = $0: tile<f32, 8, 8>");
  accepted("tile_call sort_order 0 $2: tile<i32, 8, 8> = $0: tile<f32, 8, 8>");
  accepted("tile_call sort_order 10 $2: tile<i32, 8, 8> = $2: tile<i32, 8, 8>");
  rejected("tile_call sort_order 10 $2: tile<i32, 8, 8> = $0: tile<f32, 8, 8>", "5 bits of tile<f32, 8, 8>");
  rejected("tile_call sort_order 11 $2: tile<i32, 8, 8> = $2: tile<i32, 8, 8>", "5 bits of tile<i32, 8, 8>");
  rejected("tile_call sort_order 80 $2: tile<i32, 8, 8> = $2: tile<i32, 8, 8>", "40 bits of tile<i32, 8, 8>");
  rejected("tile_load $0: tile<f32, 8, 16> = @x[0, 0]",
           "$0 has 64 elements, and is used as a tile of type tile<f32, 8, 16>");
  rejected("tile_load $2: tile<i32, 8, 8> = @x[0, 0]", "a load of type tile<i32, 8, 8> from @x of type f32");
  rejected("tile_call reduce_add 0 $1: tile<i32, 8, 1> = $0: tile<f32, 8, 8>", "$1 has elements of type f32");
  rejected("tile_call reduce_add 0 $1: tile<f32, 4, 1> = $0: tile<f32, 8, 8>", "reduce_add: tile<f32, 4, 1> is no");
  rejected("tile_call matmul 0 $1: tile<f32, 4, 4> = $0: tile<f32, 4, 2>, $1: tile<f32, 3, 4>", "have no product");
  rejected("tile_call matmul 0 $1: tile<f32, 4, 4> = $0: tile<f32, 4, 2>", "matmul has 2 operands, expected 3");
  rejected("tile_call load 0 $0: tile<f32, 8, 8> = $1: tile<f32, 8, 8>", "load as a call on tiles in memory");
  rejected("tile_call cast 0 $2: tile<i32, 8, 8> = $0: tile<f32, 8, 8> because \"of that\"",
           "on an operation that is not a product");
  rejected("tile_call cast 0 $2: tile<i32, 8, 8> = $0: tile<f32, 64>", "cast: an operand has type tile<f32, 64>");
  rejected("tile_call reduce_add 0 $7: tile<f32, 8, 1> = $0: tile<f32, 8, 8>", "$7 is used before it is allocated");
  expect_rejected(tiles_with_body(memory + "tile_load $0: tile<f32, 8, 8> = @x[0, 0]"),
                  "the structured form has no memory of a block");
}

}  // namespace
}  // namespace samite::ir
