// Kernels whose types do not show their parameters.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using on_device::device;
using testing::ElementsAre;
using testing::HasSubstr;

AnyKernel scale() {
  return {"scale", {"y", "x", "factor", "n"}, [](Array<float, 1> y, Array<const float, 1> x, Float factor, Int n) {
            Int i = thread_index();
            y(i) = factor * x(i) + cast<Float>(n);
          }};
}

TEST(AnyKernel, IsAssignedToAndLaunchesInEveryDirection) {
  AnyKernel kernel;
  EXPECT_TRUE(kernel.empty());
  kernel = scale();
  EXPECT_TRUE(static_cast<bool>(kernel));
  EXPECT_EQ(kernel.name(), "scale");
  Buffer<float> y{device, {2}, Gradient::tracked}, x{device, {2}, {1, 2}, Gradient::tracked};
  kernel.launch({2}, y, x, 3, 4);
  EXPECT_THAT(y.to_vector(), ElementsAre(7, 10));
  auto [forward, adjoint] = kernel.record_with_adjoint({2}, y, x, 5.0f, 0);
  forward.launch();
  y.gradient().fill(1);
  adjoint.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(5, 10));
  EXPECT_THAT(Buffer<float>(x.gradient()).to_vector(), ElementsAre(5, 5));
}

TEST(AnyKernel, HoldsTileKernelsAndSharesTheirVariants) {
  TileKernel add{
      "add", [](Array<float, 1> a) { tile::store(a, {block_index()}, tile::load(a, {block_index()}, {4}) + 1.0f); }};
  const AnyKernel kernel = add;
  Buffer<float> a{device, {4}};
  kernel.launch({1}, a);
  add.launch({1}, a);
  EXPECT_THAT(a.to_vector(), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(kernel.variants().size(), add.variants().size());
}

TEST(AnyKernel, GivesTheTypedKernelBack) {
  const AnyKernel kernel = scale();
  const auto typed = kernel.as<void(Array<float, 1>, Array<const float, 1>, Float, Int)>();
  Buffer<float> y{device, {1}}, x{device, {1}, {2}};
  typed.launch({1}, y, x, 1.0f, 1);
  EXPECT_THAT(y.to_vector(), ElementsAre(3));
  const std::string message = message_of<UserError>([&] { kernel.as<void(Array<float, 1>, Float)>(); });
  EXPECT_THAT(message, HasSubstr("kernel 'scale' has the parameters (Array<float, 1>, Array<const float, 1>, float, "));
  EXPECT_THAT(message, HasSubstr("not (Array<float, 1>, float)"));
  EXPECT_THAT(message, HasSubstr("any_kernel_test.cpp:"));
}

TEST(AnyKernel, RefusesArgumentsThatDoNotFit) {
  const AnyKernel kernel = scale();
  Buffer<float> y{device, {2}}, x{device, {2}};
  Buffer<double> wide{device, {2}};
  const auto refused = [&](const auto &...arguments) {
    return message_of<UserError>([&] { kernel.launch({2}, arguments...); });
  };
  EXPECT_THAT(refused(y, x, 1.0f), HasSubstr("has 4 parameters"));
  EXPECT_THAT(refused(y, x, 1.0f), HasSubstr("3 arguments are given"));
  EXPECT_THAT(refused(y, x, x, 1), HasSubstr("argument 2 ('factor') expects a scalar of type float"));
  EXPECT_THAT(refused(y, 1.0f, 1.0f, 1), HasSubstr("argument 1 ('x') expects a buffer of f32"));
  EXPECT_THAT(refused(y, x, 1e300, 1), HasSubstr("argument 2 ('factor')"));
  EXPECT_THAT(refused(y, x, 1.0f, 1.5), HasSubstr("round it to an integer first"));
  EXPECT_THAT(refused(y, wide, 1.0f, 1), HasSubstr("argument 1 ('x')"));
  EXPECT_THAT(refused(y, x, 1.0f), HasSubstr("launched at "));
}

TEST(AnyKernel, OfNothingIsRefusedInEveryUse) {
  const AnyKernel kernel;
  Buffer<float> a{device, {1}};
  const std::vector<std::function<void()>> uses{
      [&] { kernel.launch({1}, a); },
      [&] { kernel.record({1}, a); },
      [&] { kernel.record_with_adjoint({1}, a); },
      [&] { kernel.as<void(Array<float, 1>)>(); },
      [&] { EXPECT_EQ(kernel.name(), ""); },
      [&] { EXPECT_TRUE(kernel.variants().empty()); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i)
    EXPECT_THAT(message_of<UserError>(uses[i]), HasSubstr("this AnyKernel was moved from, or constructed of nothing"))
        << i;
  EXPECT_THAT(message_of<UserError>(uses[0]), HasSubstr("any_kernel_test.cpp:"));
}

}  // namespace
}  // namespace samite::test
