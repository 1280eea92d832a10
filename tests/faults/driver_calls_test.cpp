// Each call of the driver fails, in programs that use the library as its users do.
#include "tests/faults/setting.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using driver::fake::FakeDriver;
using testing::ElementsAre;

const Device device = Device::cuda(0);

TEST(EachDriverCall, OfALaunchAndItsCopies) {
  sweep_driver_calls({"launch", [](FakeDriver &fake) {
                        start(fake);
                        const auto scale = scale_kernel(fake);
                        Buffer<float> in{device, {3}, {1, 2, 3}}, out{device, {3}};
                        scale.launch({3}, out, in, 2.0f);
                        EXPECT_THAT(out.to_vector(), ElementsAre(2, 4, 6));
                      }});
}

}  // namespace
}  // namespace samite::test
