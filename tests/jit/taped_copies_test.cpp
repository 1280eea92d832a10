// The host's buffer operations while a tape records: copies have adjoints, the host's values are constants.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

const Kernel float_squares{"float_squares", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                             Int i = thread_index();
                             y(i) = x(i) * x(i);
                           }};
const Kernel float_total_of_copies{
    "float_total_of_copies", {"sum", "x"}, [](Array<float, 1> sum, Array<const float, 1> x) {
      Int i = thread_index();
      atomic_add(sum(0), cast<Float>(i + 1) * x(i));
    }};

struct TapedCopies : testing::Test {
  Buffer<float> x{device, {3}, {1, 2, 3}, Gradient::tracked}, y{device, {3}, Gradient::tracked},
      z{device, {3}, Gradient::tracked}, sum{device, {1}, Gradient::tracked};
  Tape tape;

  // d (z₀ + 2 z₁ + 3 z₂) / d x, for the z that `work` computes from x.
  std::vector<float> gradient(const std::function<void()> &work) {
    tape.clear();
    x.zero_gradient();
    tape.record([&] {
      work();
      float_total_of_copies.launch({3}, sum, z);
    });
    tape.backward(sum);
    return x.gradient().to_vector();
  }
};

TEST_F(TapedCopies, HaveGradients) {
  EXPECT_THAT(gradient([&] {
                float_squares.launch({3}, y, x);
                z.copy_from(y);
              }),
              ElementsAre(2, 8, 18));
  EXPECT_EQ(tape.to_string(),
            "Tape of 3 launches\n  0: float_squares over (3)\n  1: copy over (3)\n  2: float_total_of_copies over (3)");
  EXPECT_THAT(gradient([&] { z.copy_from(x); }), ElementsAre(1, 2, 3)) << "of an input";
  EXPECT_THAT(gradient([&] { z = x.clone(Gradient::tracked); }), ElementsAre(1, 2, 3));
  EXPECT_THAT(gradient([&] { z = x.to(device, Gradient::tracked); }), ElementsAre(1, 2, 3));
}

TEST_F(TapedCopies, OfViewsHaveGradients) {
  EXPECT_THAT(gradient([&] { z.copy_from(x.slice(0, 2, -1, -1)); }), ElementsAre(3, 2, 1)) << "reversed";
  EXPECT_THAT(gradient([&] { z.copy_from(x.slice(0, 1, 2).broadcast({3})); }), ElementsAre(0, 6, 0)) << "repeated";
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.slice(0, 1, 3).copy_from(z.slice(0, 0, 2));  // z is x₀ x₀ x₁
              }),
              ElementsAre(3, 3, 0))
      << "elements that overlap";
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.copy_from(z);
              }),
              ElementsAre(1, 2, 3))
      << "onto itself";
}

TEST_F(TapedCopies, OfTypesThatHaveGradients) {
  const auto check = [&]<class T>(T) {
    Buffer<T> from(device, {2, 2}, Gradient::tracked), to(device, {2, 2}, Gradient::tracked);
    Tape typed;
    typed.record([&] { to.copy_from(from.transpose()); });
    typed.backward({{to, Buffer<T>(device, {2, 2}, {T(1), T(2), T(3), T(4)})}});
    std::vector<double> got;
    for (const T value : from.gradient().to_vector()) got.push_back(static_cast<double>(value));
    EXPECT_THAT(got, ElementsAre(1, 3, 2, 4)) << name(scalar_type_of<T>);
  };
  check(double());
  check(float());
  check(half());
  check(bfloat16());
}

TEST_F(TapedCopies, ThatAreOverwrittenHaveNone) {
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.slice(0, 0, 1).fill(7);
                z.set({1}, 7);
              }),
              ElementsAre(0, 0, 3));
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.copy_from({7, 8, 9});
              }),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.copy_from(Buffer<float>(device, {3}, {7, 8, 9}));
              }),
              ElementsAre(0, 0, 0));
}

TEST_F(TapedCopies, OfPinnedMemoryAreConstants) {
  const PinnedArray<float> pinned(device, {3});
  EXPECT_THAT(gradient([&] {
                z.copy_from(x);
                z.copy_from(pinned, Stream::standard(device));
              }),
              ElementsAre(0, 0, 0));
}

// The square's adjoint needs x, and the fill comes between.
TEST_F(TapedCopies, KeepWhatTheyOverwrite) {
  EXPECT_THAT(gradient([&] {
                y.copy_from(x);
                float_squares.launch({3}, z, y);
                y.fill(100);
              }),
              ElementsAre(2, 8, 18));
  EXPECT_EQ(tape.kept_bytes(), 12);
  Buffer<int> index(device, {3}, {2, 1, 0});
  const Kernel gather{
      "gather", {"y", "x", "index"}, [](Array<float, 1> y, Array<const float, 1> x, Array<const int, 1> index) {
        Int i = thread_index();
        y(i) = x(index(i)) * x(index(i));
      }};
  EXPECT_THAT(gradient([&] {
                gather.launch({3}, z, x, index);
                index.fill(0);
              }),
              ElementsAre(6, 8, 6));
}

TEST_F(TapedCopies, ThroughWhatTracksNothingAreRefused) {
  Buffer<float> plain(device, {3});
  plain.set_name("plain");
  const auto message = [&](const std::function<void()> &work) {
    return message_of<UserError>([&] { gradient(work); });
  };
  int line = 0;
  std::string text = message([&] {
    plain.copy_from(x);
    line = __LINE__ + 1;
    z.copy_from(plain);
  });
  EXPECT_THAT(text, HasSubstr("a gradient would be lost in the source, 'plain', of copy 1 ("));
  EXPECT_THAT(text, HasSubstr("taped_copies_test.cpp:" + std::to_string(line)));
  text = message([&] {
    line = __LINE__ + 1;
    const Buffer<float> clone = x.clone();
    float_squares.launch({3}, z, clone);
  });
  EXPECT_THAT(text, HasSubstr("copy 0 (" + std::string(__FILE__) + ":" + std::to_string(line)));
  EXPECT_THAT(gradient([&] {
                plain.copy_from(x);
                plain.fill(2);
                float_squares.launch({3}, z, plain);
              }),
              ElementsAre(0, 0, 0))
      << "nothing is lost that was overwritten";
}

TEST_F(TapedCopies, HaveTangents) {
  Buffer<double> in(device, {2}, {2, 3}, Gradient::tracked), between(device, {2}, Gradient::tracked),
      objective(device, {1}, Gradient::tracked);
  const Kernel cubes{"sum_of_cubes", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                       Int i = thread_index();
                       atomic_add(sum(0), x(i) * x(i) * x(i));
                     }};
  const auto work = [&] {
    objective.fill(0);
    between.copy_from(in.slice(0, 1, -1, -1));
    Buffer<double> copy = between.clone(Gradient::tracked);
    copy.set({0}, 5);
    cubes.launch({2}, objective, copy);
  };
  const HessianVectorProduct h = hessian_vector_product(work, {in}, {{1, 10}}, objective);
  EXPECT_EQ(h.slope, 12) << "of x₀³ at 2";
  EXPECT_THAT(h.product[0], ElementsAre(12, 0));
  EXPECT_TRUE(gradcheck(work, {in}, {objective}).passed);
}

}  // namespace
}  // namespace samite::test
