// Loops whose text differs only in names share a function; all others do not.
#include "samite/codegen/loop_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace samite::test {
namespace {

using codegen::LoopTexts;

// Locals from 100 on are the loop's own.
const LoopTexts::Types all_types_alike{
    .local = [](ir::LocalId local) { return local < 100 ? "const i32" : ""; },
    .array = [](ir::LocalArrayId) { return "f32 *const"; },
};

std::string call_of_loop(LoopTexts &texts, const std::string &loop, const LoopTexts::Types &types = all_types_alike) {
  const std::vector<SourceLocation> lines(static_cast<std::size_t>(std::ranges::count(loop, '\n')));
  return texts.call(loop, lines, types);
}

TEST(LoopTexts, NamesBecomeParameters) {
  LoopTexts texts;
  EXPECT_EQ(call_of_loop(texts, "a7[v100 + v3] = f32(v5);\n"), "loop1(a7, v3, v5);");
  EXPECT_EQ(call_of_loop(texts, "a2[v200 + v9] = f32(v9);\n"), "loop2(a2, v9);") << "one local twice is another loop";
  EXPECT_EQ(call_of_loop(texts, "a1[v300 + v8] = f32(v2);\n"), "loop1(a1, v8, v2);");
  EXPECT_EQ(texts.text(),
            "  const auto loop1 = [=](f32 *const a0, const i32 v1, const i32 v2) __attribute__((noinline)) {\n"
            "a0[v0 + v1] = f32(v2);\n"
            "  };\n"
            "  const auto loop2 = [=](f32 *const a0, const i32 v1) __attribute__((noinline)) {\n"
            "a0[v0 + v1] = f32(v1);\n"
            "  };\n");
  EXPECT_EQ(texts.lines().size(), 6u);
}

TEST(LoopTexts, OtherTextTypesAndOrderAreOtherLoops) {
  LoopTexts texts;
  const std::string loop = "a7[v3] = a8[v3];\n";
  EXPECT_EQ(call_of_loop(texts, loop), "loop1(a7, v3, a8);");
  EXPECT_EQ(call_of_loop(texts, "a7[v3] = a7[v3];\n"), "loop2(a7, v3);") << "reads what it writes";
  EXPECT_EQ(call_of_loop(texts, "a7[v3] = a8[v4];\n"), "loop3(a7, v3, a8, v4);");
  EXPECT_EQ(call_of_loop(texts, "a7[v3] = a8[1];\n"), "loop4(a7, v3, a8);");
  EXPECT_EQ(call_of_loop(texts, "a7[p3] = a8[p3];\n"), "loop5(a7, a8);") << "parameters of the kernel keep their names";
  LoopTexts::Types other = all_types_alike;
  other.local = [](ir::LocalId) { return "const i64"; };
  EXPECT_EQ(call_of_loop(texts, loop, other), "loop6(a7, v3, a8);");
  other = all_types_alike;
  other.array = [](ir::LocalArrayId array) { return array == 7 ? "f32 *__restrict const" : "f32 *const"; };
  EXPECT_EQ(call_of_loop(texts, loop, other), "loop7(a7, v3, a8);");
  other.array = [](ir::LocalArrayId) { return "f64 *const"; };
  EXPECT_EQ(call_of_loop(texts, loop, other), "loop8(a7, v3, a8);");
  EXPECT_EQ(call_of_loop(texts, loop), "loop1(a7, v3, a8);");
}

// Copies of a local in unroll and jam, and names that only look like those of locals and arrays.
TEST(LoopTexts, Names) {
  LoopTexts texts;
  call_of_loop(texts, "v104_1 = v3 + at5 + a1s + i32(v) + p3.value * 0x1.a2p+3f;\n");
  EXPECT_NE(texts.text().find("v0_1 = v1 + at5 + a1s + i32(v) + p3.value * 0x1.a2p+3f;\n"), std::string::npos)
      << texts.text();
}

}  // namespace
}  // namespace samite::test
