// Random programs of integers as CUDA's kernels, run on the host, against the interpreter.
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/random_integers.h"

#include "samite/ir/print.h"

#include <cstdlib>

namespace samite::test {
namespace {

using random_integers::Generator;
using random_integers::Interpreter;
using random_integers::shared_size;
using random_integers::slots;
using random_integers::table_size;

// In both forms; one and several instances of a thread side by side; with and without blocks that are not full; with
// and without a workspace.
void expect_cuda_as_interpreted(unsigned seed) {
  const ir::Kernel kernel = Generator(seed).make();
  const int n = seed % 4 == 1 ? 37 : seed % 4 == 2 ? 331 : seed % 4 == 3 ? 110 : 64;
  std::vector<int> table(table_size);
  std::mt19937 random(seed + 1);
  for (int &value : table) value = static_cast<int>(random() % 41) - 20;
  const std::size_t elements = static_cast<std::size_t>(n) * slots;
  std::vector<int> expected(elements), out(elements), shared(shared_size), expected_shared(shared_size);
  for (std::size_t i = 0; i < out.size(); ++i) expected[i] = out[i] = static_cast<int>(i % 11);
  for (int i = 0; i < n; ++i) Interpreter(expected, table, expected_shared, n, i).run(kernel.body);

  codegen::EmitOptions chosen = cuda_options(seed % 3 != 0, seed % 5 == 0, seed % 7 == 0);
  chosen.arrays[1].unaliased = seed % 2 == 0;
  chosen.cuda.grid_stride = seed % 2 == 0;
  chosen.cuda.threads_per_block = seed % 3 == 0 ? 32 : 64;
  if (seed % 4 != 3 && !chosen.debug && !emit_for_cuda(kernel, chosen).uses_workspace)
    chosen.cuda.instances_per_thread = 1 << seed % 4;
  const CudaOnHost compiled(kernel, chosen);
  const CudaResult result = compiled.run({n}, {array(out, {n, slots}), array(table), scalar(n), array(shared)});
  EXPECT_TRUE(result.failure.state == 0 || result.failure.kind == codegen::FailureKind::integer_division_by_zero);
  ASSERT_EQ(out, expected) << "seed " << seed << '\n' << to_string(kernel) << compiled.source().text;
  ASSERT_EQ(shared, expected_shared) << "seed " << seed << '\n' << to_string(kernel) << compiled.source().text;
}

TEST(CudaRandomProgram, DoesWhatTheInterpreterDoes) {
  const char *more = std::getenv("SAMITE_TEST_RANDOM_PROGRAMS");  // how many
  const unsigned count = more ? static_cast<unsigned>(std::atoi(more)) : 40;
  for (unsigned seed = 0; seed < count; ++seed) {
    expect_cuda_as_interpreted(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace samite::test
