// Random launches of ready operations on the device that tests run on, against double: forward, on a tape, and with
// tangents. An output may lie over an input: then the launch is refused, or right. SAMITE_TEST_RANDOM_OPERATIONS is how
// many are run, and SAMITE_TEST_RANDOM_SEED the first.
#include "tests/ops/random_operation.h"

#include "samite/jit/tangent_launches.h"
#include "samite/ops/plan_device.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>
#include <algorithm>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

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

void launch(const Call &call, const std::vector<AnyBuffer> &buffers) {
  std::vector<jit::Argument> arguments;
  for (const std::size_t operand : call.operands) arguments.push_back({&buffers[operand]});
  if (call.number) arguments.push_back(ops::detail::number(*call.number, call.type_of_number()));
  for (const std::int32_t integer : call.integers) arguments.push_back({nullptr, static_cast<std::uint32_t>(integer)});
  jit::launch_once(call.planned.kernel, LaunchExtents(call.planned.blocks), {}, arguments);
}
void launch(const Operation &operation, const std::vector<AnyBuffer> &buffers) {
  for (const Call &call : operation.calls(ops::plan_device(device()))) launch(call, buffers);
}
void launch_first(const Operation &operation, const std::vector<AnyBuffer> &buffers) {
  launch(operation.calls(ops::plan_device(device())).front(), buffers);
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

// Puts an expected output over an operand of its type, `shift` elements after its start. Its values before the launch
// are then that operand's: nothing that it is expected to hold depends on them.
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
  if (operation.adds) return;
  if (operation.operands[output].name.ends_with("_gradient") && operation.operands[output].extents.size() == 1)
    return;  // is added to, so that its previous values matter
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

Gradient tracking(const Operand &operand) {
  return is_floating(operand.type) && !is_float8(operand.type) ? Gradient::tracked : Gradient::untracked;
}

std::vector<AnyBuffer> tracked(const Operation &operation) {
  std::vector<AnyBuffer> buffers;
  for (const Operand &operand : operation.operands) {
    buffers.emplace_back(device(), operand.type, extents_of(operand), tracking(operand));
    write(buffers.back(), operand.values);
  }
  return buffers;
}

// A direction of the operands changes the results, weighted by the cotangents, by as much as the gradients along it.
double along_tangents(const Operation &operation, const std::vector<std::vector<double>> &directions, double &error) {
  const std::vector<AnyBuffer> buffers = tracked(operation);
  jit::TangentLaunches tangents;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (tracking(operation.operands[i]) == Gradient::tracked && !operation.operands[i].written)
      write(tangents.of(buffers[i]), directions[i]);
  tangents.run([&] { launch_first(operation, buffers); });
  double sum = 0;
  for (const Reversed::Cotangent &cotangent : operation.reversed->cotangents) {
    const std::vector<double> made = read(tangents.of(buffers[cotangent.operand]));
    for (std::size_t k = 0; k < made.size(); ++k) {
      sum += made[k] * cotangent.values[k];
      error += std::abs(made[k] * cotangent.values[k]) * epsilon_of(operation.operands[cotangent.operand].type);
    }
  }
  return sum;
}

// The most that a gradient may lose on a GPU, where additions by red.f32 flush a subnormal addend or sum (PTX ISA,
// red): each loses less than the least normal number, and there are no more additions than addends. Gradients of 16
// bits are summed in 32.
double flushed(ScalarType type, std::int64_t addends) {
  return type == ScalarType::Float64 ? 0 : static_cast<double>(addends) * std::numeric_limits<float>::min();
}

void check_derivatives(const Operation &operation, std::uint32_t seed) {
  const std::vector<AnyBuffer> buffers = tracked(operation);
  Tape tape;
  tape.record([&] { launch_first(operation, buffers); });
  std::vector<Tape::Cotangent> cotangents;
  for (const Reversed::Cotangent &cotangent : operation.reversed->cotangents) {
    const Operand &operand = operation.operands[cotangent.operand];
    AnyBuffer values(device(), operand.type, extents_of(operand));
    write(values, cotangent.values);
    cotangents.push_back({buffers[cotangent.operand], values});
  }
  tape.backward(cotangents);
  for (Expected gradient : operation.reversed->gradients) {
    const ScalarType type = operation.operands[gradient.operand].type;
    if (device().kind() != DeviceKind::cpu)
      for (double &tolerance : gradient.tolerances) tolerance += flushed(type, gradient.addends);
    EXPECT_EQ(difference(operation.operands[gradient.operand], gradient, read(buffers[gradient.operand].gradient())),
              "")
        << "the gradient on a tape";
  }

  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<std::vector<double>> directions;
  for (const Operand &operand : operation.operands) {
    directions.emplace_back();
    for (std::int64_t k = 0; k < operand.count(); ++k) directions.back().push_back(held(operand.type, unit(random)));
  }
  // Operands without expected gradients, such as the bias of attention, are left out.
  for (std::size_t i = 0; i < directions.size(); ++i)
    if (std::ranges::none_of(operation.reversed->gradients,
                             [&](const Expected &gradient) { return gradient.operand == i; }))
      std::ranges::fill(directions[i], 0);
  double sum = 0, error = 1e-30;
  for (const Expected &gradient : operation.reversed->gradients)
    for (std::size_t k = 0; k < gradient.values.size(); ++k) {
      sum += gradient.values[k] * directions[gradient.operand][k];
      error += 4 * gradient.tolerances[k] * std::abs(directions[gradient.operand][k]);
    }
  const double made = along_tangents(operation, directions, error);
  EXPECT_NEAR(made, sum, error) << "along the tangents";
}

// Gradients and tangents of operations against those in double.
TEST(RandomOperations, HaveTheirDerivatives) {
  const long count = from_environment("SAMITE_TEST_RANDOM_OPERATIONS", 40);
  const auto first = static_cast<std::uint32_t>(from_environment("SAMITE_TEST_RANDOM_SEED", 1));
  int differentiated = 0, refused = 0;
  for (std::uint32_t seed = first; seed < first + static_cast<std::uint32_t>(count); ++seed) {
    const Operation operation = random_operation(seed, 300);
    if (!operation.reversed) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + operation.text);
    try {
      check_derivatives(operation, seed);
      ++differentiated;
    } catch (const UserError &error) {
      // A GPU's block may lack the memory for the derived adjoint of attention.
      if (device().kind() == DeviceKind::cpu) throw;
      EXPECT_THAT(error.what(), HasSubstr("of a block's shared memory"));
      ++refused;
    }
  }
  EXPECT_LE(refused, differentiated / 4);
  if (count >= 40) EXPECT_GT(differentiated, count / 5);
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
