// Random launches of ready-made operations (tests/ops/random_operation.h) as CUDA text, run on the host: with the plans
// of a GPU with warp groups, and of one without; and products whose factors are loaded by bulk copies for warp groups
// (wgmma), all of which the host emulates. SAMITE_TEST_RANDOM_OPERATIONS is their number, SAMITE_TEST_RANDOM_SEED the
// first seed.
#include "tests/codegen/staying_blocks.h"
#include "tests/ops/random_operation.h"

#include "samite/ops/plan_device.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace samite::test::operations {
namespace {

// The elements of an operand as its type has them.
struct Memory {
  std::vector<std::byte> bytes;

  explicit Memory(const Operand &operand) : bytes(operand.values.size() * size_of(operand.type) + 16) {
    with_type(operand.type, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t k = 0; k < operand.values.size(); ++k) {
        T element;
        if constexpr (std::same_as<T, double>)
          element = operand.values[k];
        else
          element = T(static_cast<float>(operand.values[k]));
        std::memcpy(bytes.data() + k * sizeof element, &element, sizeof element);
      }
    });
  }
  std::vector<double> numbers(const Operand &operand) const {
    std::vector<double> numbers;
    with_type(operand.type, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t k = 0; k < operand.values.size(); ++k) {
        T element;
        std::memcpy(&element, bytes.data() + k * sizeof element, sizeof element);
        if constexpr (std::same_as<T, double>)
          numbers.push_back(element);
        else
          numbers.push_back(static_cast<double>(static_cast<float>(element)));
      }
    });
    return numbers;
  }
  Argument argument(const Operand &operand) const {
    const std::vector<long long> extents(operand.extents.begin(), operand.extents.end());
    std::vector<long long> strides(extents.size(), 1);
    for (std::size_t d = extents.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
    return strided(bytes.data(), extents, strides);
  }
};

void run(const Operation &operation, const std::vector<Memory> &memory, const ops::PlanDevice &device) {
  for (const Call &call : operation.calls(device)) {
    std::vector<Argument> arguments;
    for (const std::size_t operand : call.operands)
      arguments.push_back(memory[operand].argument(operation.operands[operand]));
    if (call.number)
      arguments.push_back(call.type_of_number() == ScalarType::Float64 ? scalar(*call.number)
                                                                       : scalar(static_cast<float>(*call.number)));
    for (const std::int32_t integer : call.integers) arguments.push_back(scalar(integer));
    if (call.planned.blocks.count() == 0) continue;
    CudaOnHost(call.planned.kernel->forward(), cuda_options())
        .run({call.planned.blocks.begin(), call.planned.blocks.end()}, arguments);
  }
}

// With bulk copies and warp groups, if the kernel has such a loop; returns whether it has.
bool run_by_groups(const Call &call, const Operation &operation, const std::vector<Memory> &memory) {
  codegen::EmitOptions options = good_arrays();
  const ir::Kernel lowered = jit::lower(call.planned.kernel->forward(), {.cuda = 90, .arrays = options.arrays}).kernel;
  const ir::Kernel planned = jit::plan(lowered, {passes::gpu_architecture(90), options.arrays});
  if (planned.roles.producers == 0) return false;
  const StayingBlocksOnHost kernel(planned, options);
  std::vector<Argument> arguments;
  for (const std::size_t operand : call.operands)
    arguments.push_back(memory[operand].argument(operation.operands[operand]));
  std::vector<TensorMapOnHost> maps;
  for (const passes::TensorMapNeeded &map : kernel.maps()) {
    const std::size_t operand = call.operands[map.array];
    maps.push_back(map_on_host(map, memory[operand].bytes.data(), operation.operands[operand].extents));
  }
  const Extents &blocks = call.planned.blocks;
  const auto at_one_time = planned.grid.step_parts > 0
                               ? static_cast<unsigned>(blocks.count() * planned.grid.step_parts)
                               : 2 * static_cast<unsigned>(std::max(planned.grid.cluster_blocks, 1));
  kernel.run(arguments, maps, {blocks.begin(), blocks.end()}, at_one_time, {});
  return true;
}

TEST(CudaRandomOperations, AreRightOnTheHost) {
  const char *wanted = std::getenv("SAMITE_TEST_RANDOM_OPERATIONS"), *from = std::getenv("SAMITE_TEST_RANDOM_SEED");
  const int count = wanted ? std::atoi(wanted) : 12, first = from ? std::atoi(from) : 1;
  constexpr std::int64_t most_elements = 3000;  // threads of the host take long
  int run_so_far = 0;
  for (int seed = first; run_so_far < count; ++seed) {
    const Operation operation = random_operation(static_cast<std::uint32_t>(seed), 130);
    const bool is_small = std::ranges::all_of(operation.operands,
                                              [](const Operand &operand) { return operand.count() <= most_elements; });
    if (!is_small) continue;
    ++run_so_far;
    const ops::PlanDevice device = seed % 2 == 0 ? ops::PlanDevice{90, 132} : ops::PlanDevice{80, 108};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", capability " + std::to_string(device.compute_capability) + ": " +
                 operation.text);
    std::vector<Memory> memory(operation.operands.begin(), operation.operands.end());
    run(operation, memory, device);
    for (const Expected &expected : operation.expected) {
      const Operand &operand = operation.operands[expected.operand];
      EXPECT_EQ(difference(operand, expected, memory[expected.operand].numbers(operand)), "");
    }
  }
}

TEST(CudaRandomOperations, ProductsByGroupsOfWarpsAreRightOnTheHost) {
  const char *wanted = std::getenv("SAMITE_TEST_RANDOM_OPERATIONS"), *from = std::getenv("SAMITE_TEST_RANDOM_SEED");
  const int count = wanted ? std::atoi(wanted) : 6, first = from ? std::atoi(from) : 1;
  int by_groups = 0;
  for (int seed = first; by_groups < count && seed < first + 20 * count; ++seed) {
    const Operation operation = random_product_of_units(static_cast<std::uint32_t>(seed), 600);
    const std::vector<Call> calls = operation.calls({90, 132});
    if (calls[0].planned.blocks.count() == 0) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + operation.text);
    std::vector<Memory> memory(operation.operands.begin(), operation.operands.end());
    if (!run_by_groups(calls[0], operation, memory)) continue;
    ++by_groups;
    for (const Expected &expected : operation.expected) {
      const Operand &operand = operation.operands[expected.operand];
      EXPECT_EQ(difference(operand, expected, memory[expected.operand].numbers(operand)), "");
    }
  }
  EXPECT_EQ(by_groups, count);
}

}  // namespace
}  // namespace samite::test::operations
