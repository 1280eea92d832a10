// The casts of a gathered adjoint that are made once, and unchanged kernels.
#include "samite/passes/adjoint/cast_copies.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/adjoint/gather_tiles.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

// An adjoint that adds f(%20), the cotangent of C[i, j], to the windows [i, k] of `@ag`, which is of `type`.
std::optional<CastCopies> copied(const std::string &type, const std::string &inside, const std::string &outside = "",
                                 const std::string &sums = "f32") {
  Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const " + type + ", 2>, @c: array<const " + sums + ", 2>, @ag: gradient of @a array<" +
      type + ", 2>, @cg: gradient of @c array<" + sums + ", 2>) blocks 2 of 64 { " +
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 8 %3: i32 = mul %1, 8 "
      "%4: i32 = extent @a, 1 %5: i32 = div %4, 8 %20: tile<" +
      sums + ", 8, 8> = exchange @cg[%2, %3] " + outside + " for %6: i32 in 0 .. %5 step 1 { %7: i32 = mul %6, 8 " +
      inside + " } }");
  verify(kernel, Form::structured, "the test");
  auto gathered = gather_tiles(kernel);
  EXPECT_TRUE(gathered);
  auto copies = copy_casts(gathered.value());
  if (copies) {
    verify(copies->copy, Form::structured, "copy_casts");
    verify(copies->gather, Form::structured, "copy_casts");
  }
  return copies;
}

std::string cast_to(const std::string &type) {
  return "%8: tile<" + type + ", 8, 8> = cast %20 %9: tile<" + type + ", 8, 8> = mul %8, %8 ";
}
const std::string add = "accumulate atomic @ag[%2, %7] += %9 ";

TEST(CastCopies, ACastInALoopOverWindowsIsMadeOnce) {
  for (const std::string type : {"f16", "bf16"}) {
    const auto copies = copied(type, cast_to(type) + add);
    ASSERT_TRUE(copies);
    EXPECT_THAT(copies->copies, testing::ElementsAre(CotangentCopy{4, 3, *scalar_type_from_name(type)}));
    const Parameter &parameter = copies->gather.parameters[4];
    EXPECT_EQ(parameter.name, "cg_as_" + type);
    EXPECT_EQ(parameter.rank, 2);
    EXPECT_EQ(copies->copy.parameters, copies->gather.parameters);
    const std::string copy = to_string(copies->copy), gather = to_string(copies->gather);
    EXPECT_THAT(copy, HasSubstr("load @cg["));
    EXPECT_THAT(copy, HasSubstr("store @cg_as_" + type + "["));
    EXPECT_THAT(copy, Not(HasSubstr("store @cg["))) << "what is taken stays until all have read it";
    EXPECT_THAT(copy, Not(HasSubstr("for ")));
    EXPECT_THAT(gather, HasSubstr("load @cg_as_" + type + "["));
    EXPECT_THAT(gather, Not(HasSubstr("@cg[")));
    EXPECT_THAT(gather, Not(HasSubstr("cast %20")));
  }
}

TEST(CastCopies, WhatIsReadAsItIsStaysBesideTheCopy) {
  const auto copies = copied("f16",
                             "%8: tile<f16, 8, 8> = cast %20 %10: tile<f32, 8, 8> = mul %20, %20 "
                             "%11: tile<f16, 8, 8> = cast %10 %9: tile<f16, 8, 8> = add %8, %11 " +
                                 add);
  ASSERT_TRUE(copies);
  EXPECT_THAT(to_string(copies->gather), testing::AllOf(HasSubstr("load @cg["), HasSubstr("load @cg_as_f16[")));
}

TEST(CastCopies, OneCopyForEachType) {
  const auto copies = copied("f16",
                             "%8: tile<f16, 8, 8> = cast %20 %10: tile<bf16, 8, 8> = cast %20 "
                             "%11: tile<f16, 8, 8> = cast %20 %12: tile<f16, 8, 8> = cast %10 "
                             "%13: tile<f16, 8, 8> = mul %8, %11 %9: tile<f16, 8, 8> = add %12, %13 " +
                                 add + "%14: tile<f16, 8, 8> = mul %8, %9 accumulate atomic @ag[%2, %7] += %14 ",
                             "", "f64");
  ASSERT_TRUE(copies);
  EXPECT_THAT(copies->copies, testing::ElementsAre(CotangentCopy{4, 3, ScalarType::Float16},
                                                   CotangentCopy{5, 3, ScalarType::BFloat16}));
  EXPECT_EQ(copies->gather.parameters[4].type, ScalarType::Float16);
  EXPECT_EQ(copies->gather.parameters[5].type, ScalarType::BFloat16);
}

TEST(CastCopies, LeavesAloneWhatGainsNothing) {
  EXPECT_FALSE(copied("f32", "accumulate atomic @ag[%2, %7] += %20 ")) << "nothing is cast";
  EXPECT_FALSE(copied("f64", cast_to("f64") + add)) << "wider";
  EXPECT_FALSE(copied("f16", cast_to("f16") + add, "", "f16")) << "as it is";
  EXPECT_FALSE(copied("f16", "%8: tile<f16, 8, 8> = load @a[%2, %3] %9: tile<f16, 8, 8> = mul %8, %8 " + add))
      << "the cotangent is not read";
  EXPECT_FALSE(copied("f32",
                      "%8: tile<f32, 8, 8> = mul %20, %20 %10: tile<f16, 8, 8> = cast %8 "
                      "%9: tile<f32, 8, 8> = cast %10 " +
                          add))
      << "not what was loaded is cast";
  EXPECT_FALSE(copied("f32", "accumulate atomic @ag[%2, %7] += %20 ",
                      "%30: tile<f16, 8, 8> = cast %20 %31: tile<f32, 8, 8> = cast %30 "
                      "accumulate atomic @ag[0, 0] += %31 "))
      << "once for each block";
}

}  // namespace
}  // namespace samite::passes
