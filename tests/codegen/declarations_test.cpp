// The part of the device headers that a text gets.
#include "samite/base/error.h"
#include "samite/codegen/prelude.h"
#include "samite/toolchain/cuda_compiler.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace samite::test {
namespace {

using codegen::Declarations;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Declarations, AreThoseThatAreNamedAndTheirs) {
  const Declarations all(R"(// Of numbers.
#define INLINE inline
namespace samite {

struct Pair {
  int first, second;  // of which Large has more
};
INLINE int sum(Pair pair) { return pair.first + pair.second; }

template <class T>
struct Large {
  T many[100];
};
template <>
struct Large<char> {
  Pair two;
};
static_assert(sizeof(Large<char>) == 8);
static_assert(sizeof(Pair) == 8);

}  // namespace samite
)");
  EXPECT_THAT(all.names(), ElementsAre("INLINE", "Large", "Pair", "sum"));
  EXPECT_EQ(all.needed_by("// sum \"Large\" 'Pair'"), "namespace samite {\n}  // namespace samite\n");
  EXPECT_EQ(all.needed_by("int three = sum(pair);"),
            R"(namespace samite {
#define INLINE inline
struct Pair {
  int first, second;  // of which Large has more
};
INLINE int sum(Pair pair) { return pair.first + pair.second; }
static_assert(sizeof(Pair) == 8);
}  // namespace samite
)");
  const std::string of_large = all.needed_by("Large<int> large;");
  EXPECT_THAT(of_large, HasSubstr("T many[100];"));
  EXPECT_THAT(of_large, HasSubstr("Pair two;"));
  EXPECT_THAT(of_large, HasSubstr("sizeof(Large<char>) == 8"));
  EXPECT_THAT(of_large, Not(HasSubstr("sum")));
}

TEST(Declarations, AreFoundHoweverTheyAreWritten) {
  const Declarations all(R"(#if ARCHITECTURE >= 890
int in_either() { return 1; }
#else
int in_either() {
  return 2;
}
int in_one;
#endif
#define FUNCTION(name, other) \
  int name() { return 0; }
SAMITE_FUNCTION_1(root, rootf)
#undef FUNCTION
using Word = unsigned;
enum : unsigned { red = 1, green = 2 };
struct alignas(2 * sizeof(int) < 16 ? 8 : 16) Aligned {
  int at[2];
};
class Hidden {
  int value_ = 0;
};
template <class A,
          class... B>
inline constexpr bool whole = false;
template <>
inline constexpr bool whole<int> = true;
INLINE bool operator==(const Aligned<A, B> &a, int b) { return false; }
INLINE Aligned<A, B> made_of(const int *p, int a,
                             int b) {
#if ARCHITECTURE >= 900
  asm("{ mov %0, 1; }" : "=r"(a));
#endif
  return {a, b};
}
template <class T>
static __attribute__((noinline)) void called(T *out) {
  *out = {};
}
INLINE void marked(int a) __attribute__((cold));
)");
  EXPECT_THAT(all.names(), ElementsAre("Aligned", "FUNCTION", "Hidden", "Word", "called", "green", "in_either",
                                       "in_one", "made_of", "marked", "red", "root", "whole"));
  EXPECT_THAT(all.needed_by("in_one"), HasSubstr("return 1;"));
  EXPECT_THAT(all.needed_by("made_of"), HasSubstr("return {a, b};\n}\n"));
  EXPECT_THAT(all.needed_by("made_of"), HasSubstr("struct alignas("));
  EXPECT_THAT(all.needed_by("Aligned"), HasSubstr("operator=="));
  EXPECT_THAT(all.needed_by("whole"), HasSubstr("whole<int> = true"));
  EXPECT_THAT(all.needed_by("green"), HasSubstr("enum"));
}

TEST(Declarations, WithoutANameOrAnEndAreRefused) {
  EXPECT_THROW(Declarations("void f() {\n  int a;\n"), InternalError);
  EXPECT_THROW(Declarations("(1);\n"), InternalError);
}

class DeclarationsCompile : public CudaCompilerTest {};

// For every name that a text uses, it gets all needed declarations.
TEST_F(DeclarationsCompile, EachByItself) {
  const auto compile = [](const std::string &names, const char *architecture) {
    compile_cuda({.name = "names", .text = "extern \"C\" __global__ void kernel() {}"}, codegen::cuda_prelude(names),
                 architecture);
  };
  const std::vector<std::string> names = codegen::cuda_declarations().names();
  EXPECT_GT(names.size(), 200u);
  std::string all;
  for (const std::string &name : names) {
    if (name.starts_with("SAMITE_")) continue;  // a macro, which comes with its users
    ASSERT_NO_THROW(compile(name, "sm_90a")) << name;
    all += name + ' ';
  }
  EXPECT_NO_THROW(compile(all, "sm_80"));
}

TEST(CpuPrelude, HasWhatTilesCallIfItIsAsked) {
  const std::string all = codegen::cpu_prelude(32), without = codegen::cpu_prelude(32, /*with_tiles=*/false);
  EXPECT_TRUE(all.starts_with(without));
  EXPECT_THAT(all, testing::HasSubstr("void tile_fourier("));
  EXPECT_THAT(without, testing::Not(testing::HasSubstr("tile_")));
}

TEST(CpuPrelude, HasAKeyForEachText) {
  std::set<std::string> texts;
  std::set<Hash128> keys;
  for (const int bytes : {16, 32, 64})
    for (const bool with_tiles : {false, true})
      for (const int lanes : {0, bytes / 4, bytes / 2, bytes}) {
        texts.insert(codegen::cpu_prelude(bytes, with_tiles, lanes));
        keys.insert(codegen::cpu_prelude_key(bytes, with_tiles, lanes));
      }
  EXPECT_EQ(texts.size(), 18u);
  EXPECT_EQ(keys.size(), texts.size());
  EXPECT_EQ(codegen::cpu_prelude_key(32), codegen::cpu_prelude_key(32));
}

}  // namespace
}  // namespace samite::test
