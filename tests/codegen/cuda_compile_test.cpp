// NVIDIA's compiler accepts the text for CUDA: random programs, every operation on every type, for every architecture
// that Samite is tested for. Skipped without NVRTC.
#include "samite/toolchain/cuda_compiler.h"

#include "samite/codegen/prelude.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/random_integers.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test {
namespace {

CudaKernelResources compile(const codegen::EmittedSource &emitted, const std::string &architecture) {
  const CudaSource source{.name = "test", .text = emitted.text};
  for (const CudaKernelResources &kernel :
       compile_cuda(source, codegen::cuda_prelude(source.text), architecture).image->report().kernels)
    if (kernel.name == emitted.entry) return kernel;
  throw std::runtime_error("the image has no kernel " + emitted.entry);
}

class CudaCompile : public CudaCompilerTest {};

TEST_F(CudaCompile, RandomPrograms) {
  const std::vector<std::string> architectures = cuda_architectures();
  for (unsigned seed = 0; seed < 24; ++seed) {
    codegen::EmitOptions options = cuda_options(seed % 3 != 0, seed % 5 == 0, seed % 7 == 0);
    for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = seed % 2 == 0;
    options.cuda.grid_stride = seed % 2 == 0;
    options.cuda.waits_for_earlier_launch = seed % 4 == 1;
    const ir::Kernel kernel = random_integers::Generator(seed).make();
    if (!options.debug && !emit_for_cuda(kernel, options).uses_workspace)
      options.cuda.instances_per_thread = 1 << seed % 3;
    EXPECT_GT(compile(emit_for_cuda(kernel, options), architectures[seed % architectures.size()]).registers, 0);
  }
}

constexpr ir::Op operations[] = {
#define SAMITE_ENUMERATOR(name, text, arity, typing, pure) ir::Op::name,
    SAMITE_OPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

// A kernel that does everything that can be done to elements of a type, and casts to all other types.
std::string everything(ScalarType type) {
  const bool boolean = type == ScalarType::Bool, floating = is_floating(type);
  std::string body;
  int next = 3;
  auto keep = [&](const std::string &operation) {
    body += fmt::format("%{0}: {1} = {2}\nstore @y[%0] = %{0}\n", next++, name(type), operation);
  };
  for (const ir::Op op : operations) {
    const ir::OpInfo &info = ir::info(op);
    const bool typed = info.typing == ir::Typing::Same       ? !boolean
                       : info.typing == ir::Typing::Floating ? floating
                       : info.typing == ir::Typing::Integer  ? !boolean && !floating
                                                             : info.typing == ir::Typing::Bits && !floating;
    if (typed) keep(fmt::format("{} %1{}", info.name, info.arity == 2 ? ", %2" : info.arity == 1 ? "" : ", %2, %1"));
    if (info.typing != ir::Typing::Atomic || (boolean && op < ir::Op::AtomicAnd)) continue;
    if (floating && op >= ir::Op::AtomicAnd && op <= ir::Op::AtomicXor) continue;
    keep(fmt::format("{} @y[1], %1{}", info.name, op == ir::Op::AtomicCompareExchange ? ", %2" : ""));
  }
  keep("exchange @y[%0]");
  keep("exchange atomic @y[%0]");
  keep("select %true, %1, %2");
  if (!boolean) body += "accumulate atomic @y[%0] += %1\naccumulate @y[%0] += %2\naccumulate atomic @y[0] += %1\n";
  std::string parameters;
  if (!boolean && !(floating && size_of(type) <= 2)) {
    const char *bits = size_of(type) == 1 ? "u8" : size_of(type) == 2 ? "i16" : size_of(type) == 4 ? "u32" : "i64";
    const char *same = size_of(type) == 4 ? "f32" : size_of(type) == 8 ? "f64" : bits;
    body += fmt::format(
        "%{0}: {1} = bit_cast %1\n%{2}: {3} = bit_cast %{0}\n%{4}: {5} = bit_cast %{2}\nstore @y[%0] = %{4}\n", next,
        bits, next + 1, same, next + 2, name(type));
    next += 3;
  }
  for (const char *to : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8e4m3", "f8e5m2", "f16",
                         "bf16", "f32", "f64"}) {
    parameters += fmt::format(", @to_{0}: array<{0}, 1>", to);
    body += fmt::format("%{0}: {1} = cast %1\nstore @to_{1}[%0] = %{0}\n", next++, to);
  }
  for (std::size_t at; (at = body.find("%true")) != std::string::npos;) body.replace(at, 5, "true");
  return fmt::format(
      "kernel @everything(@x: array<const {0}, 1>, @y: array<{0}, 1>{1}) threads 1 {{\n%0: i32 = thread_index 0\n"
      "%1: {0} = load @x[%0]\n%2: {0} = load @x[1]\n{2}}}",
      name(type), parameters, body);
}

TEST_F(CudaCompile, EveryOperationOnEveryType) {
  const std::vector<std::string> architectures = cuda_architectures();
  std::size_t turn = 0;
  for (const char *type : {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    const std::string text = everything(*scalar_type_from_name(type));
    for (const bool unaliased : {false, true}) {
      codegen::EmitOptions options = cuda_options();
      for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = unaliased, facts.aligned_rows = true;
      options.cuda.instances_per_thread = unaliased ? 1 : 2;
      EXPECT_GT(compile(emit_for_cuda(text, options), architectures[turn++ % architectures.size()]).registers, 0);
    }
  }
}

// Sums over blocks and warps, of every type that has them.
TEST_F(CudaCompile, Sums) {
  for (const char *type : {"i8", "u16", "i32", "u64", "i64", "f16", "f32", "f64"}) {
    std::string text = R"(kernel @sums(@x: array<const T, 2>, @rows: array<T, 2>, @total: array<T, 1>) threads 2 {
      %0: i32 = thread_index 0
      %1: i64 = thread_index 1
      %2: T = load @x[%0, %1]
      for %3: i64 in 0:i64..11:i64 step 1:i64 {
        accumulate atomic @rows[%0, %3] += %2
      }
      accumulate atomic @total[2] += %2
    })";
    for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
    const codegen::EmittedSource emitted = emit_for_cuda(text);
    EXPECT_TRUE(emitted.sums_over_launch);
    const CudaKernelResources resources = compile(emitted, "sm_80");
    EXPECT_GT(resources.shared_bytes, 0u);
    EXPECT_EQ(resources.local_bytes, 0u) << type;
  }
}

// Streamed data is moved 16 bytes at a time.
TEST_F(CudaCompile, NothingSpillsInAStream) {
  constexpr const char *axpy = R"(kernel @axpy(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: f32 = mul %1, @a
    %3: f32 = load @y[%0]
    %4: f32 = add %2, %3
    store @y[%0] = %4
  })";
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = true;
  options.cuda.instances_per_thread = 4;
  for (const std::string &architecture : cuda_architectures()) {
    const CudaKernelResources resources = compile(emit_for_cuda(axpy, options), architecture);
    EXPECT_LE(resources.registers, 32) << architecture;
    EXPECT_EQ(resources.local_bytes + resources.spill_store_bytes + resources.spill_load_bytes, 0u) << architecture;
  }
}

}  // namespace
}  // namespace samite::test
