// Kernels as members, in containers and as results of functions.
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

using AddKernel = Kernel<void(Array<float, 1>, Float)>;

class Solver {
 public:
  explicit Solver(float start) : start_(start) {
    set_ = Kernel{"set", [start](Array<float, 1> a) { a(thread_index()) = start; }};
  }
  std::vector<float> run(float x) const {
    Buffer<float> a{device, {2}};
    set_.launch({2}, a);
    add_.launch({2}, a, x);
    return a.to_vector();
  }

 private:
  float start_;
  Kernel<void(Array<float, 1>)> set_;
  AddKernel add_{"add", [](Array<float, 1> a, Float x) { a(thread_index()) += x; }};
};

auto multiply_by(float factor) {
  return Kernel{"multiply", [factor](Array<float, 1> a) { a(thread_index()) *= factor; }};
}

TEST(KernelMember, IsConstructedInPlaceOrAssignedTo) {
  Solver solver(3);
  Solver moved = std::move(solver);
  EXPECT_THAT(moved.run(2), ElementsAre(5, 5));
}

TEST(KernelMember, IsKeptInContainers) {
  std::map<std::string, Kernel<void(Array<float, 1>)>> kernels;
  for (float factor : {2.0f, 3.0f}) kernels[std::to_string(static_cast<int>(factor))] = multiply_by(factor);
  Buffer<float> a{device, {1}, {1}};
  for (const auto &[name, kernel] : kernels) kernel.launch({1}, a);
  EXPECT_THAT(a.to_vector(), ElementsAre(6));
}

TEST(KernelMember, OfNothingIsRefusedInEveryUse) {
  const Kernel<void(Array<float, 1>)> kernel;
  const TileKernel<void(Array<float, 1>)> tile_kernel;
  const Pipeline<void(Array<float, 1>)> pipeline;
  Buffer<float> a{device, {1}};
  const std::string message = "was moved from, or constructed of nothing, and holds nothing";
  const std::vector<std::function<void()>> uses{
      [&] { kernel.launch({1}, a); },
      [&] { kernel.record({1}, a); },
      [&] { kernel.record_with_adjoint({1}, a); },
      [&] { kernel.adjoint(); },
      [&] { kernel.tangent(); },
      [&] { kernel.adjoint_report(); },
      [&] { EXPECT_EQ(kernel.name(), ""); },
      [&] { EXPECT_TRUE(kernel.variants().empty()); },
      [&] { EXPECT_TRUE(kernel.ir().parameters.empty()); },
      [&] { EXPECT_TRUE(report(kernel).variants.empty()); },
      [&] { tile_kernel.launch({1}, a); },
      [&] { pipeline.launch(a); },
      [&] { pipeline.record(a); },
      [&] { pipeline.loop_nest(); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) EXPECT_THAT(message_of<UserError>(uses[i]), HasSubstr(message)) << i;
  EXPECT_THAT(message_of<UserError>(uses[0]), HasSubstr("kernel_member_test.cpp:"));
}

}  // namespace
}  // namespace samite::test
