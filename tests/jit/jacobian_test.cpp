#include "samite/jit/jacobian.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

// y[i] = sum of x[j]^2 over j <= i
const Kernel partial_sums{"partial_sums", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                            Int i = thread_index();
                            Double sum = 0;
                            for (Int j : range(i + 1)) sum += x(j) * x(j);
                            y(i) = sum;
                          }};

TEST(Jacobian, HasARowForEachOutput) {
  Buffer<double> x(device, {3}, {1, 2, 3}, Gradient::tracked), y(device, {2}, {9, 9}, Gradient::tracked);
  Jacobian j = jacobian([&] { partial_sums.launch({2}, y, x); }, x, y);
  EXPECT_EQ(j.rows, 2);
  EXPECT_EQ(j.columns, 3);
  EXPECT_THAT(j.values, ElementsAre(2, 0, 0, 2, 4, 0));
  EXPECT_EQ(j.at(1, 1), 4);
  EXPECT_EQ(j.to_string(), "Jacobian of 2 outputs by 3 inputs\n 2 0 0\n 2 4 0");
  EXPECT_THAT(y.to_vector(), ElementsAre(9, 9)) << "contents are put back";
}

TEST(Jacobian, OfAKernelNamesItsParametersByIndex) {
  Buffer<double> x(device, {2}, {1, 2}, Gradient::tracked), y(device, {2}, Gradient::tracked);
  EXPECT_THAT((jacobian<1, 0>(partial_sums, {2}, y, x).values), ElementsAre(2, 0, 2, 4));
}

TEST(Jacobian, OfSeveralLaunchesIsTheProduct) {
  Buffer<double> x(device, {2}, {1, 2}, Gradient::tracked), y(device, {2}, Gradient::tracked),
      z(device, {2}, Gradient::tracked);
  auto work = [&] {
    partial_sums.launch({2}, y, x);
    partial_sums.launch({2}, z, y);
  };
  // y = (1, 5): dz/dy = (2 0, 2 10), dy/dx = (2 0, 2 4)
  EXPECT_THAT(jacobian(work, x, z).values, ElementsAre(4, 0, 24, 40));
}

TEST(JacobianRefuses, ArraysThatTrackNoGradient) {
  Buffer<double> x(device, {1}), y(device, {1}, Gradient::tracked);
  EXPECT_THAT(message_of<UserError>([&] { jacobian([] {}, x, y); }), HasSubstr("jacobian: input 0"));
}

}  // namespace
}  // namespace samite::test
