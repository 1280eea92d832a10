// Structs with arrays as parameters of kernels.

#include "samite/ir/kernel.h"
#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

namespace samite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Device struct_device = test::device();

struct Cloth {
  Array<double, 1> places;
  Array<const Vec2d, 1> forces;
  Vec2d gravity;
  Double stiffness;

  Double pull(const Int &i) const { return stiffness * dot(forces(i), gravity); }
};
struct HostCloth {
  Buffer<double> places, forces;
  Vector<double, 2> gravity;
  double stiffness;
};
struct Scene {
  Cloth cloth;
  Distinct<double, 1> out;
};
struct HostScene {
  HostCloth cloth;
  Buffer<double> out;
};

const auto step = [](const Cloth &cloth, Array<double, 1> out) {
  Int i = thread_index();
  out(i) = cloth.places(i) * cloth.places(i) + cloth.pull(i);
};

class ParameterStruct : public testing::Test {
 protected:
  Buffer<double> places{struct_device, {2}, {3, 4}, Gradient::tracked};
  Buffer<double> forces{struct_device, {2, 2}, {1, 2, 3, 4}, Gradient::tracked};
  Buffer<double> out{struct_device, {2}, Gradient::tracked};
  HostCloth cloth{places, forces, {10, 100}, 2};
};

TEST_F(ParameterStruct, IsGivenAStructOfTheHost) {
  Kernel kernel{"step", {"cloth", "out"}, step};
  EXPECT_EQ(kernel.ir().parameters.size(), 6u);
  kernel.launch({2}, cloth, out);
  EXPECT_THAT(out.to_vector(), ElementsAre(9 + 420, 16 + 860));
}

TEST_F(ParameterStruct, MayHoldStructsAndDistinctArrays) {
  Kernel kernel{"scene", [](const Scene &scene) {
                  Int i = thread_index();
                  scene.out(i) = scene.cloth.places(i) + scene.cloth.pull(i);
                }};
  kernel.launch({2}, HostScene{cloth, out});
  EXPECT_THAT(out.to_vector(), ElementsAre(3 + 420, 4 + 860));
  EXPECT_THAT(message_of<UserError>([&] { kernel.launch({2}, HostScene{cloth, places}); }),
              HasSubstr("shares no memory with another argument; argument 0 ('p0_0') shares it"));
}

TEST_F(ParameterStruct, CountsAsOneParameterForEachFieldInALaunch) {
  Kernel kernel{"step", {"cloth", "out"}, step};
  Launch launch = kernel.record({2}, cloth, out);
  launch.set("cloth_0", Buffer<double>{struct_device, {2}, {1, 2}, Gradient::tracked});
  launch.set("cloth_4", 0.0);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(1, 4));
}

TEST_F(ParameterStruct, HasGradients) {
  Kernel kernel{"step", step};
  GradientReport report = gradcheck(kernel, {2}, cloth, out);
  EXPECT_TRUE(report.passed) << report;

  Tape tape;
  tape.record([&] { kernel.launch({2}, cloth, out); });
  places.zero_gradient();
  forces.zero_gradient();
  tape.backward({{out, Buffer<double>{struct_device, {2}, {1, 10}}}});
  EXPECT_THAT(places.gradient().to_vector(), ElementsAre(6, 80));
  EXPECT_THAT(forces.gradient().to_vector(), ElementsAre(20, 200, 200, 2000));

  places.gradient().fill(1);
  forces.gradient().fill(0);
  kernel.launch({2}, {.direction = Direction::tangent}, cloth, out);
  EXPECT_THAT(out.gradient().to_vector(), ElementsAre(6, 8));
}

// The derivative with respect to the struct takes a gradient for each floating array in it.
TEST_F(ParameterStruct, DerivativeKernelsTakeAnArrayForEachOfItsArrays) {
  Kernel kernel{"step", step};
  Buffer<double> places_bar{struct_device, {2}}, forces_bar{struct_device, {2, 2}},
      out_bar{struct_device, {2}, {1, 10}};
  kernel.adjoint<0, 1>().launch({2}, cloth, out, places_bar, forces_bar, out_bar);
  EXPECT_THAT(places_bar.to_vector(), ElementsAre(6, 80));
  EXPECT_THAT(forces_bar.to_vector(), ElementsAre(20, 200, 200, 2000));
}

TEST_F(ParameterStruct, WorksForTileKernels) {
  TileKernel kernel{"tiles", [](const Cloth &cloth, Array<double, 1> to) {
                      tile::store(to, {0}, tile::load(cloth.places, {0}, {2}) * cloth.stiffness);
                    }};
  kernel.launch({1}, cloth, out);
  EXPECT_THAT(out.to_vector(), ElementsAre(6, 8));
}

}  // namespace
}  // namespace samite
