#include "samite/runtime/buffer.h"

#include "tests/runtime/cpu.h"
#include "tests/runtime/message_of.h"

#include <type_traits>

namespace samite {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using test::cpu;

// Integers have no gradient, and a program that requests one does not compile.
static_assert(std::is_constructible_v<Buffer<float>, Device, Extents, Gradient>);
static_assert(!std::is_constructible_v<Buffer<int>, Device, Extents, Gradient>);
template <class B>
concept HasGradient = requires(B buffer) { buffer.gradient(); };
static_assert(HasGradient<Buffer<double>> && !HasGradient<Buffer<bool>>);

TEST(BufferGradient, StartsAsZerosOfTheSameLayout) {
  Buffer<float> a{cpu, {2, 3}, Gradient::tracked};
  Buffer<float> gradient = a.transpose().gradient();

  EXPECT_EQ(gradient.extents(), (Extents{3, 2}));
  EXPECT_EQ(gradient.stride(0), 1);
  EXPECT_THAT(gradient.to_vector(), Each(0.0f));
  EXPECT_FALSE(gradient.overlaps(a));
  EXPECT_FALSE(gradient.tracks_gradient());
}

TEST(BufferGradient, IsSharedByViews) {
  Buffer<float> a{cpu, {4}, Gradient::tracked};
  Buffer<float> view = a.slice(0, 3, 0, -2);

  view.gradient().copy_from({30, 10});

  EXPECT_THAT(a.gradient().to_vector(), ElementsAre(0, 10, 0, 30));
  EXPECT_EQ(view.gradient_data(), a.gradient().data() + 3);
}

TEST(BufferGradient, IsSharedByHandlesThatWereThereBefore) {
  Buffer<float> a{cpu, {4}};
  Buffer<float> earlier = a, view = a.slice(0, 2, 4);

  a.track_gradient();
  earlier.track_gradient();
  view.gradient().fill(1);

  EXPECT_THAT(earlier.gradient().to_vector(), ElementsAre(0, 0, 1, 1));
}

TEST(BufferGradient, IsZeroedForTheViewAlone) {
  Buffer<float> a{cpu, {4}, Gradient::tracked};
  a.gradient().fill(1);

  a.slice(0, 0, 2).zero_gradient();
  EXPECT_THAT(a.gradient().to_vector(), ElementsAre(0, 0, 1, 1));

  a.slice(0, 2, 3).broadcast({5}).zero_gradient();
  EXPECT_THAT(a.gradient().to_vector(), ElementsAre(0, 0, 0, 1));
}

TEST(BufferGradient, HasAVersionOfItsOwn) {
  Buffer<float> a{cpu, {4}, Gradient::tracked};
  std::uint64_t values = a.version(), gradient = a.gradient().version();

  a.zero_gradient();

  EXPECT_EQ(a.version(), values);
  EXPECT_EQ(a.gradient().version(), gradient + 1);
}

TEST(BufferGradient, OutlivesItsBuffer) {
  Buffer<float> gradient = Buffer<float>{cpu, {2}, Gradient::tracked}.gradient();
  gradient.fill(3);
  EXPECT_THAT(gradient.to_vector(), ElementsAre(3, 3));
}

TEST(BufferGradient, IsNotClonedUnlessAskedFor) {
  Buffer<float> a{cpu, {2}, {1, 2}, Gradient::tracked};
  a.gradient().fill(1);

  EXPECT_FALSE(a.clone().tracks_gradient());
  Buffer<float> copy = a.clone(Gradient::tracked);
  EXPECT_THAT(copy.to_vector(), ElementsAre(1, 2));
  EXPECT_THAT(copy.gradient().to_vector(), ElementsAre(0, 0));
}

TEST(BufferGradientError, NotTracked) {
  Buffer<float> a{cpu, {2}};

  std::string message = message_of<UserError>([&] { (void)a.gradient(); });
  EXPECT_THAT(message, HasSubstr("Buffer<f32>(2) on cpu tracks no gradient"));
  EXPECT_THAT(message, HasSubstr("construct it with Gradient::tracked"));
  EXPECT_THROW(a.zero_gradient(), UserError);
}

TEST(BufferGradientError, OfIntegers) {
  AnyBuffer integers{cpu, ScalarType::Int32, {2}};

  EXPECT_THAT(message_of<UserError>([&] { integers.track_gradient(); }),
              HasSubstr("a gradient needs floating-point elements, such as f32 or f64; i32 given"));
  EXPECT_THROW((AnyBuffer{cpu, ScalarType::Bool, {2}, Gradient::tracked}), UserError);
}

}  // namespace
}  // namespace samite
