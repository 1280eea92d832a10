// Random launches of ready operations on the device that tests run on, against double. An output may lie over an input:
// then the launch is refused, or right. SAMITE_TEST_RANDOM_OPERATIONS is how many are run, and SAMITE_TEST_RANDOM_SEED
// the first.
#include "tests/ops/random_operation.h"

#include "samite/ops/plan_device.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace samite::test::operations {
namespace {

using testing::HasSubstr;

long from_environment(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

Extents extents_of(const Operand &operand) {
  const auto &e = operand.extents;
  switch (e.size()) {
    case 1: return {e[0]};
    case 2: return {e[0], e[1]};
    case 3: return {e[0], e[1], e[2]};
    default: return {e[0], e[1], e[2], e[3]};
  }
}

void write(const AnyBuffer &buffer, const std::vector<double> &values) {
  with_type(buffer.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> converted;
    for (const double value : values)
      if constexpr (std::same_as<T, double>)
        converted.push_back(value);
      else
        converted.push_back(T(static_cast<float>(value)));
    Buffer<T> typed{buffer};
    typed.copy_from(converted);
  });
}
std::vector<double> read(const AnyBuffer &buffer) {
  std::vector<double> values;
  with_type(buffer.type(), [&](auto zero) {
    using T = decltype(zero);
    for (const T value : Buffer<T>{buffer}.to_vector())
      if constexpr (std::same_as<T, double>)
        values.push_back(value);
      else
        values.push_back(static_cast<double>(static_cast<float>(value)));
  });
  return values;
}

void launch(const Operation &operation, const std::vector<AnyBuffer> &buffers) {
  for (const Call &call : operation.calls(ops::plan_device(device()))) {
    std::vector<jit::Argument> arguments;
    for (const std::size_t operand : call.operands) arguments.push_back({&buffers[operand]});
    if (call.number)
      arguments.push_back(ops::detail::number(*call.number, call.planned.kernel->parameters().back().type));
    jit::launch_once(call.planned.kernel, LaunchExtents(call.planned.blocks), {}, arguments);
  }
}

std::vector<AnyBuffer> apart(const Operation &operation) {
  std::vector<AnyBuffer> buffers;
  for (const Operand &operand : operation.operands) {
    buffers.emplace_back(device(), operand.type, extents_of(operand));
    write(buffers.back(), operand.values);
  }
  return buffers;
}

std::string first_difference(const Operation &operation, const std::vector<AnyBuffer> &buffers) {
  for (const Expected &expected : operation.expected)
    if (const std::string text =
            difference(operation.operands[expected.operand], expected, read(buffers[expected.operand]));
        !text.empty())
      return text;
  return "";
}

// Puts an output that is expected over an operand of its type, by `shift` elements behind it. Its values before the
// launch are then that operand's: nothing that it is expected to hold depends on them.
bool put_over(const Operation &operation, std::size_t output, std::size_t input, std::int64_t shift,
              std::vector<AnyBuffer> &buffers) {
  const Operand &over = operation.operands[input], &own = operation.operands[output];
  if (over.type != own.type || output == input || over.count() == 0 || own.count() == 0) return false;
  const AnyBuffer all(device(), own.type, {std::max(over.count(), own.count() + shift)});
  buffers[output] = all.slice(0, shift, shift + own.count()).reshape(extents_of(own));
  buffers[input] = all.slice(0, 0, over.count()).reshape(extents_of(over));
  write(buffers[output], own.values);
  write(buffers[input], over.values);
  return true;
}

void check_over_each_other(const Operation &operation, std::uint32_t seed) {
  const std::size_t output = operation.expected[seed % operation.expected.size()].operand;
  if (operation.operands[output].name.ends_with("_gradient") && operation.operands[output].extents.size() == 1)
    return;  // is added to, so that what it holds before matters
  for (std::size_t input = 0; input < operation.operands.size(); ++input)
    for (const std::int64_t shift : {0, 1}) {
      if (operation.operands[input].written) continue;  // by another launch, perhaps, before it is read
      std::vector<AnyBuffer> buffers = apart(operation);
      if (!put_over(operation, output, input, shift, buffers) || !buffers[output].overlaps(buffers[input])) continue;
      SCOPED_TRACE(operation.operands[output].name + " over " + operation.operands[input].name);
      try {
        launch(operation, buffers);
      } catch (const UserError &error) {
        EXPECT_THAT(error.what(), HasSubstr("shares memory with argument"));
        continue;
      }
      Expected own = operation.expected[seed % operation.expected.size()];
      EXPECT_EQ(difference(operation.operands[output], own, read(buffers[output])), "");
    }
}

TEST(RandomOperations, AreRightOrRefused) {
  const long count = from_environment("SAMITE_TEST_RANDOM_OPERATIONS", 40);
  const auto first = static_cast<std::uint32_t>(from_environment("SAMITE_TEST_RANDOM_SEED", 1));
  for (std::uint32_t seed = first; seed < first + static_cast<std::uint32_t>(count); ++seed) {
    const Operation operation = random_operation(seed, 600);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + operation.text);
    const std::vector<AnyBuffer> buffers = apart(operation);
    launch(operation, buffers);
    EXPECT_EQ(first_difference(operation, buffers), "");
    if (seed % 4 == 0) check_over_each_other(operation, seed / 4);
  }
}

}  // namespace
}  // namespace samite::test::operations
