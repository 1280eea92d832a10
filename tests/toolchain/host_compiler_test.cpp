#include "samite/toolchain/host_compiler.h"

#include "samite/base/error.h"
#include "samite/toolchain/host_target.h"
#include "samite/toolchain/image_archive.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"
#include "tests/toolchain/pretended_processor.h"
#include "tests/toolchain/sample_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace samite {
namespace {

using testing::HasSubstr;
using testing::Not;

class HostCompiler : public testing::Test {
 private:
  test::TemporaryFolder folder_;
  test::EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path()};
};

TEST_F(HostCompiler, ACompiledFunctionRuns) {
  const CompiledHost compiled = compile_host(test::adding("1."), test::sample_prelude);
  EXPECT_EQ(test::run_add(*compiled.image), 55 + 10);
}

TEST_F(HostCompiler, AnImageThatIsStillLoadedIsGivenAgain) {
  const CompiledHost first = compile_host(test::adding("2."), test::sample_prelude);
  const int compiles = host_compile_count();
  const CompiledHost second = compile_host(test::adding("2."), test::sample_prelude);
  EXPECT_TRUE(second.report.from_memory);
  EXPECT_EQ(second.image, first.image);
  EXPECT_EQ(host_compile_count(), compiles);
}

TEST_F(HostCompiler, AnImageThatWasUnloadedComesFromTheDisk) {
  EXPECT_FALSE(compile_host(test::adding("3."), test::sample_prelude).report.from_cache);
  const int compiles = host_compile_count();
  const CompiledHost again = compile_host(test::adding("3."), test::sample_prelude);
  EXPECT_TRUE(again.report.from_cache);
  EXPECT_EQ(test::run_add(*again.image), 55 + 30);
  EXPECT_EQ(host_compile_count(), compiles);
}

TEST_F(HostCompiler, AnyChangeOfSourcePreludeOrOptionsIsAnotherImage) {
  const auto compiles_of = [](const HostSource &source, const std::string &prelude) {
    const int before = host_compile_count();
    compile_host(source, prelude);
    return host_compile_count() - before;
  };
  HostSource source = test::adding("4.");
  EXPECT_EQ(compiles_of(source, test::sample_prelude), 1);
  EXPECT_EQ(compiles_of(source, test::sample_prelude), 0);
  EXPECT_EQ(compiles_of(source, std::string(test::sample_prelude) + "// changed\n"), 1);
  source.optimization = 1;
  EXPECT_EQ(compiles_of(source, test::sample_prelude), 1);
  source.debug_info = true;
  EXPECT_EQ(compiles_of(source, test::sample_prelude), 1);
}

HostTarget with(const Processor &processor) {
  HostTarget target = host_target();
  target.fingerprint = features_of(processor).hex();
  return target;
}

// A cache is filled on one machine, exported, and read on another.
TEST_F(HostCompiler, ACacheServesProcessorsOfTheSameInstructions) {
  const HostSource source = test::adding("23.");
  test::PretendedProcessor narrower;
  narrower.extended.ebx &= ~(1u << 16);  // without AVX-512
  const auto key = [&](const Processor &processor) {
    return host_image_key(source, test::sample_prelude, with(processor));
  };
  object_cache()->publish(key(test::PretendedProcessor()), "the image");
  std::vector<ArchivedImage> exported;
  for (const ObjectCache::Listed &entry : object_cache()->list())
    exported.push_back({entry.key, "cache", "", "", object_cache()->find(entry.key).value()});
  const test::TemporaryFolder elsewhere;
  const test::EnvironmentVariable cache("SAMITE_CACHE_DIR", elsewhere.path() / "cache");
  const ImageArchive archive("export", ImageArchive::packed(std::move(exported)));
  for (const ImageArchive::Entry &entry : archive.entries()) object_cache()->publish(entry.key, entry.content);
  EXPECT_EQ(object_cache()->find(key(test::of_another_maker())), "the image");
  EXPECT_FALSE(object_cache()->find(key(narrower)).has_value());
}

// The key that a compile uses, too.
TEST_F(HostCompiler, TheKeyOfAnImageFindsItOnTheDisk) {
  const HostSource source = test::adding("25.");
  const Hash128 key = host_image_key(source, test::sample_prelude, host_target());
  EXPECT_FALSE(object_cache()->find(key).has_value());
  compile_host(source, test::sample_prelude);
  EXPECT_TRUE(object_cache()->find(key).has_value());
}

TEST_F(HostCompiler, APreludeIsMadeOnlyToCompile) {
  const HostSource source = test::adding("24.");
  int made = 0;
  const HostPrelude prelude(hash_of({"a prelude of this test"}), [&]() -> std::string_view {
    ++made;
    return test::sample_prelude;
  });
  compile_host(source, prelude);
  EXPECT_GT(made, 0);
  made = 0;
  EXPECT_TRUE(compile_host(source, prelude).report.from_cache);
  EXPECT_EQ(made, 0);
}

TEST_F(HostCompiler, ThePreludeIsParsedOnceForAllKernels) {
  const std::string prelude = std::string(test::sample_prelude) + "// of this test alone\n";
  EXPECT_FALSE(compile_host(test::adding("5."), prelude).report.prelude_was_precompiled);
  const CompileReport second = compile_host(test::adding("6."), prelude).report;
  EXPECT_FALSE(second.from_cache);
  EXPECT_TRUE(second.prelude_was_precompiled);
}

TEST_F(HostCompiler, TheReportSaysWhereTheTimeWent) {
  const CompileReport report = compile_host(test::adding("7."), test::sample_prelude).report;
  EXPECT_GT(report.times.frontend_ms, 0);
  EXPECT_GT(report.times.backend_ms, 0);
  EXPECT_GT(report.times.link_ms, 0);
  EXPECT_GT(report.times.load_ms, 0);
  EXPECT_GT(report.object_bytes, 0u);
  EXPECT_GT(report.image_bytes, 0u);
  EXPECT_LE(report.times.frontend_ms + report.times.backend_ms + report.times.link_ms + report.times.load_ms,
            report.times.total_ms);
}

TEST_F(HostCompiler, TextThatDoesNotCompileIsShownWithItsLine) {
  const HostSource source{.name = "broken", .text = "extern \"C\" int f(int x) {\n  return x + undeclared_thing;\n}\n"};
  const std::string message = message_of<InternalError>([&] { compile_host(source, test::sample_prelude); });
  EXPECT_THAT(message, HasSubstr("kernel \"broken\" does not compile"));
  EXPECT_THAT(message, HasSubstr("broken.cpp:2:14: error: use of undeclared identifier 'undeclared_thing'"));
  EXPECT_THAT(message, HasSubstr("return x + undeclared_thing;"));
}

TEST_F(HostCompiler, ABrokenPreludeIsShownToo) {
  const std::string message = message_of<InternalError>([] { compile_host(test::adding("1."), "int x = ;\n"); });
  EXPECT_THAT(message, HasSubstr("prelude"));
  EXPECT_THAT(message, HasSubstr("expected expression"));
}

TEST_F(HostCompiler, AnUndefinedFunctionIsNamed) {
  const HostSource source{.name = "calls",
                          .text = "extern \"C\" void nowhere();\nextern \"C\" void f() { nowhere(); }\n"};
  const std::string message = message_of<InternalError>([&] { compile_host(source, test::sample_prelude); });
  EXPECT_THAT(message, HasSubstr("undefined symbol: nowhere"));
}

TEST_F(HostCompiler, ObjectsAreLinked) {
  const HostSource objects[] = {test::halve()};
  const CompiledHost compiled = compile_host(test::calling_halve("1."), test::sample_prelude, objects);
  EXPECT_EQ(compiled.image->function<float(float)>("call")(8), 5);
  ASSERT_EQ(compiled.report.objects.size(), 2u);
  EXPECT_EQ(compiled.report.objects[0].name, "call");
  EXPECT_EQ(compiled.report.objects[1].name, "halve");
  for (const ObjectReport &object : compiled.report.objects) {
    EXPECT_TRUE(object.built());
    EXPECT_GT(object.bytes, 0u);
    EXPECT_LE(object.milliseconds, compiled.report.times.total_ms);
  }
}

TEST_F(HostCompiler, AnObjectIsCompiledOnceForAllKernelsThatLinkIt) {
  HostSource object = test::halve();
  object.text += "// once\n";
  const HostSource objects[] = {object};
  const int before = host_compile_count();
  compile_host(test::calling_halve("2."), test::sample_prelude, objects);
  EXPECT_EQ(host_compile_count() - before, 2);
  const CompiledHost second = compile_host(test::calling_halve("3."), test::sample_prelude, objects);
  EXPECT_EQ(host_compile_count() - before, 3);
  EXPECT_EQ(second.image->function<float(float)>("call")(8), 7);
  EXPECT_EQ(second.report.objects[1].from, ObjectReport::From::memory);
}

TEST_F(HostCompiler, AnotherObjectIsAnotherImage) {
  HostSource object = test::halve();
  const HostSource first[] = {object};
  object.text = "extern \"C\" float halve(float x) { return x * 0.25f; }\n";
  const HostSource second[] = {object};
  const HostSource kernel = test::calling_halve("4.");
  const CompiledHost half = compile_host(kernel, test::sample_prelude, first);
  const CompiledHost quarter = compile_host(kernel, test::sample_prelude, second);
  EXPECT_EQ(half.image->function<float(float)>("call")(8), 8);
  EXPECT_EQ(quarter.image->function<float(float)>("call")(8), 6);
}

TEST_F(HostCompiler, AnErrorInAnObjectNamesTheObject) {
  const HostSource objects[] = {{.name = "second", .text = "int x = ;\n"}};
  EXPECT_THAT(
      message_of<InternalError>([&] { compile_host(test::calling_halve("5."), test::sample_prelude, objects); }),
      HasSubstr("second.cpp:1:9: error"));
}

TEST_F(HostCompiler, HeadersOfTheMachineAreNotRead) {
  const HostSource source{.name = "includes", .text = "#include <stdio.h>\n"};
  const std::string message = message_of<InternalError>([&] { compile_host(source, test::sample_prelude); });
  EXPECT_THAT(message, HasSubstr("'stdio.h' file not found"));
}

TEST_F(HostCompiler, TheMathLibraryCanBeCalled) {
  const HostSource source{.name = "math", .text = R"(
extern "C" float expf(float);
extern "C" float f(float x) { return expf(x); }
)"};
  const CompiledHost compiled = compile_host(source, test::sample_prelude);
  EXPECT_EQ(compiled.image->function<float(float)>("f")(0.5f), std::exp(0.5f));
}

#ifdef __x86_64__
TEST_F(HostCompiler, TheVectorMathLibraryCanBeCalled) {
  const HostSource source{.name = "vector_math", .text = R"(
using Four = float __attribute__((ext_vector_type(4)));
extern "C" Four _ZGVbN4v_sinf(Four);
extern "C" void f(float *values) { *(Four *)values = _ZGVbN4v_sinf(*(Four *)values); }
)"};
  const CompiledHost compiled = compile_host(source, test::sample_prelude);
  alignas(16) float values[4] = {0, 0.25f, 0.5f, 1};
  compiled.image->function<void(float *)>("f")(values);
  EXPECT_NEAR(values[2], std::sin(0.5f), 1e-6);
}

// The code of a function that adds two vectors of 16 floats, as bytes, for the width that the environment requests.
std::string vector_code(const char *vector_bytes) {
  const test::EnvironmentVariable width("SAMITE_CPU_VECTOR_BYTES", vector_bytes);
  const HostSource source{.name = "wide", .text = R"(
using Sixteen = float __attribute__((ext_vector_type(16)));
extern "C" void f(Sixteen *a, const Sixteen *b) { *a = *a + *b; }
extern "C" void end() {}
)"};
  const CompiledHost compiled = compile_host(source, test::sample_prelude);
  const auto *begin = static_cast<const char *>(compiled.image->symbol("f"));
  return {begin, static_cast<const char *>(compiled.image->symbol("end"))};
}

// a * a - b, with more digits in a * a than in a float: with a fused multiply-add they count.
float product_and_difference() {
  const HostSource source{.name = "fused", .text = R"(
extern "C" void f(float *values) { values[0] = values[0] * values[0] - values[1]; }
)"};
  const CompiledHost compiled = compile_host(source, test::sample_prelude);
  float values[2] = {1 + 0x1p-12f, 1 + 0x1p-11f};
  compiled.image->function<void(float *)>("f")(values);
  return values[0];
}

// Each in an image of its own, though the text is the same.
TEST_F(HostCompiler, ProductsAreContractedWhereTheTargetCanAndTheEnvironmentLets) {
  if (host_target().vector_bytes < 32) GTEST_SKIP() << "needs fused multiply-adds";
  EXPECT_EQ(product_and_difference(), 0x1p-24f);
  {
    const test::EnvironmentVariable none("SAMITE_CPU_CONTRACTION", "0");
    EXPECT_EQ(product_and_difference(), 0);
  }
  const test::EnvironmentVariable old("SAMITE_CPU_ARCHITECTURE", "x86-64-v2");
  EXPECT_EQ(product_and_difference(), 0);
}

TEST_F(HostCompiler, SignedIntegersWrapAround) {
  const HostSource source{.name = "wraps", .text = R"(
extern "C" void f(int *values) { values[1] = values[0] + 1 > values[0]; }
)"};
  const CompiledHost compiled = compile_host(source, test::sample_prelude);
  int values[2] = {2147483647, 2};
  compiled.image->function<void(int *)>("f")(values);
  EXPECT_EQ(values[1], 0);
}

TEST_F(HostCompiler, VectorsAreAsWideAsTheTarget) {
  // EVEX, the prefix of 512-bit instructions, begins with 0x62; VEX, that of 256-bit ones, with 0xc4 or 0xc5.
  const auto uses = [](const std::string &code, const std::string &bytes) {
    return code.find_first_of(bytes) != std::string::npos;
  };
  if (host_target().vector_bytes < 64) GTEST_SKIP() << "needs AVX-512";
  EXPECT_TRUE(uses(vector_code("64"), "\x62"));
  EXPECT_FALSE(uses(vector_code("32"), "\x62"));
  EXPECT_TRUE(uses(vector_code("32"), "\xc4\xc5"));
  EXPECT_FALSE(uses(vector_code("16"), "\x62\xc4\xc5"));
}
#endif

TEST_F(HostCompiler, DebugInformationIsWrittenOnRequest) {
  HostSource source = test::adding("8.");
  const std::size_t without = compile_host(source, test::sample_prelude).report.image_bytes;
  source.debug_info = true;
  EXPECT_GT(compile_host(source, test::sample_prelude).report.image_bytes, without + 500);
}

TEST_F(HostCompiler, SeveralThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&sums, i] {
      const HostSource source = test::adding("10" + std::to_string(i) + ".");
      sums[i] = test::run_add(*compile_host(source, test::sample_prelude).image);
    });
  for (std::thread &thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(sums[i], 55 + 10 * (100 + i));
}

TEST_F(HostCompiler, ThreadsThatWantTheSameGetOneCompile) {
  const int compiles = host_compile_count();
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const HostImage>> images(4);
  for (auto &image : images)
    threads.emplace_back([&image] { image = compile_host(test::adding("9."), test::sample_prelude).image; });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(host_compile_count(), compiles + 1);
  for (const auto &image : images) EXPECT_EQ(image, images[0]);
}

}  // namespace
}  // namespace samite
