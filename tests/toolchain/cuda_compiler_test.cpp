#include "samite/toolchain/cuda_compiler.h"

#include "samite/base/error.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/cuda_sample.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace samite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CudaCompiler : public test::CudaCompilerTest {};

CompiledCuda compile(const CudaSource &source, const std::string &architecture = "sm_80") {
  return compile_cuda(source, test::cuda_prelude, architecture);
}

// How often NVRTC runs for `action`.
template <class Action>
int compiles_of(Action action) {
  const int before = cuda_compile_count();
  action();
  return cuda_compile_count() - before;
}

TEST_F(CudaCompiler, MakesACubinForEachArchitecture) {
  for (const std::string &architecture : test::cuda_architectures()) {
    const CompiledCuda compiled = compile(test::cuda_adding("1."), architecture);
    EXPECT_THAT(compiled.image->cubin(), StartsWith("\x7f"
                                                    "ELF"));
    EXPECT_NE(compiled.image->cubin().find(".text.add"), std::string::npos);
    EXPECT_EQ(compiled.report.image_bytes, compiled.image->cubin().size());
  }
}

TEST_F(CudaCompiler, AnImageThatStillExistsIsGivenAgain) {
  const CompiledCuda first = compile(test::cuda_adding("2."));
  CompiledCuda second;
  EXPECT_EQ(compiles_of([&] { second = compile(test::cuda_adding("2.")); }), 0);
  EXPECT_TRUE(second.report.from_memory);
  EXPECT_EQ(second.image, first.image);
}

TEST_F(CudaCompiler, AnImageThatIsGoneComesFromTheDisk) {
  CompiledCuda first = compile(test::cuda_adding("3.")), again;
  const std::string cubin = first.image->cubin(), log = first.image->log();
  first.image.reset();
  EXPECT_EQ(compiles_of([&] { again = compile(test::cuda_adding("3.")); }), 0);
  EXPECT_TRUE(again.report.from_cache);
  EXPECT_EQ(again.image->cubin(), cubin);
  EXPECT_EQ(again.image->log(), log);
}

TEST_F(CudaCompiler, AnyChangeIsAnotherImage) {
  CudaSource source = test::cuda_adding("4.");
  EXPECT_EQ(compiles_of([&] { compile(source); }), 1);
  EXPECT_EQ(compiles_of([&] { compile(source, "sm_90"); }), 1);
  EXPECT_EQ(compiles_of([&] { compile_cuda(source, test::cuda_prelude + std::string("\n"), "sm_80"); }), 1);
  source.debug_info = true;
  EXPECT_EQ(compiles_of([&] { compile(source); }), 1);
  source.text += "\n";
  EXPECT_EQ(compiles_of([&] { compile(source); }), 1);
  EXPECT_EQ(compiles_of([&] { compile(source); }), 0);
}

TEST_F(CudaCompiler, AnErrorShowsTheLineToBlame) {
  const CudaSource source{.name = "broken",
                          .text = "extern \"C\" __global__ void f(int *x) {\n  *x = undeclared_thing;\n}\n"};
  EXPECT_THAT(message_of<InternalError>([&] { compile(source); }),
              AllOf(HasSubstr("CUDA C++ emitted for kernel \"broken\" does not compile:\nbroken.cu(2): error: "),
                    HasSubstr("\"undeclared_thing\" is undefined"), HasSubstr("*x = undeclared_thing;")));
}

TEST_F(CudaCompiler, AnErrorOfThePreludeIsShownToo) {
  EXPECT_THAT(message_of<InternalError>([] { compile_cuda(test::cuda_adding("1."), "int x = ;\n", "sm_80"); }),
              AllOf(HasSubstr("samite_prelude.h(1): error"), HasSubstr("expected an expression")));
}

TEST_F(CudaCompiler, AnErrorOfTheAssemblerIsShown) {
  const CudaSource source{.name = "large",
                          .text =
                              "extern \"C\" __global__ void f(int *x, int i) {\n  __shared__ int s[100000];\n"
                              "  s[i] = i;\n  __syncthreads();\n  *x = s[2 * i];\n}\n"};
  EXPECT_THAT(message_of<InternalError>([&] { compile(source); }), HasSubstr("too much shared data"));
}

TEST_F(CudaCompiler, AnUndefinedFunctionIsNamed) {
  const CudaSource source{.name = "caller",
                          .text =
                              "extern \"C\" __device__ float halve(float);\n"
                              "extern \"C\" __global__ void f(float *x) { *x = halve(*x); }\n"};
  EXPECT_THAT(message_of<InternalError>([&] { compile(source); }), HasSubstr("halve"));
}

TEST_F(CudaCompiler, HeadersOfTheMachineAreNotRead) {
  const CudaSource source{.name = "includes", .text = "#include <stdio.h>\n"};
  EXPECT_THAT(message_of<InternalError>([&] { compile(source); }), HasSubstr("stdio.h"));
}

TEST_F(CudaCompiler, WhatIsNoArchitectureIsRefused) {
  for (const char *text : {"90", "sm_", "sm_9x", "compute_90a", "sm_90b"})
    EXPECT_THAT(message_of<UserError>([&] { compile(test::cuda_adding("1."), text); }),
                AllOf(HasSubstr("\"" + std::string(text) + "\" is no CUDA architecture"), HasSubstr("sm_90a")));
}

TEST_F(CudaCompiler, FunctionsOfTheDeviceCanBeCalled) {
  const CudaSource source{.name = "math", .text = R"(
extern "C" __global__ void f(float *x, double *y) {
  *x = sinf(*x) + rsqrtf(*x) + __fdividef(1.0f, *x) + atomicAdd(x, 1.0f);
  *y = pow(*y, 1.5) + __shfl_xor_sync(~0u, *y, 1);
})"};
  EXPECT_THAT(compile(source).image->cubin(), StartsWith("\x7f"
                                                         "ELF"));
}

TEST_F(CudaCompiler, LinesForProfilersAreWrittenOnRequest) {
  CudaSource source = test::cuda_adding("8.");
  EXPECT_EQ(compile(source).image->cubin().find(".debug_line"), std::string::npos);
  source.debug_info = true;
  EXPECT_NE(compile(source).image->cubin().find(".debug_line"), std::string::npos);
}

TEST_F(CudaCompiler, SeveralThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<CompiledCuda> compiled(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&compiled, i] { compiled[i] = compile(test::cuda_adding("10" + std::to_string(i) + ".")); });
  for (std::thread &thread : threads) thread.join();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) EXPECT_NE(compiled[i].image->cubin(), compiled[j].image->cubin());
}

TEST_F(CudaCompiler, ThreadsThatWantTheSameGetOneCompile) {
  std::vector<CompiledCuda> compiled(4);
  EXPECT_EQ(compiles_of([&] {
              std::vector<std::thread> threads;
              for (CompiledCuda &result : compiled)
                threads.emplace_back([&result] { result = compile(test::cuda_adding("9.")); });
              for (std::thread &thread : threads) thread.join();
            }),
            1);
  for (const CompiledCuda &result : compiled) EXPECT_EQ(result.image, compiled[0].image);
}

}  // namespace
}  // namespace samite
