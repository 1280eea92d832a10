// Stencils with clamped indices run without clamps inside the image (passes/threads/clamped_edges.h): for images of
// every width, also narrower than the stencil, and for boxes of a launch that begin anywhere.
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/threads/clamped_edges.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace samite::test {
namespace {

struct Image {
  int rows, columns;
  std::vector<float> values;

  float at(int row, int column) const {
    return values[static_cast<std::size_t>(std::clamp(row, 0, rows - 1) * columns +
                                           std::clamp(column, 0, columns - 1))];
  }
};

Image image(int rows, int columns) {
  Image made{rows, columns, {}};
  for (int i = 0; i < rows * columns; ++i) made.values.push_back(static_cast<float>(i * i % 101 - 50));
  return made;
}

const std::vector<int> widths{1, 2, 3, 4, 5, 8, 15, 16, 17, 18, 31, 33, 64, 100};

TEST(ClampedStencil, InsideNothingIsClamped) {
  SAMITE_ON_THE_CPU();
  const ir::Kernel lowered = passes::lower_threads(
      ir::parse_kernel("kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @n: i32) threads 1 {"
                       "  %0: i32 = thread_index 0  %1: i32 = sub %0, 1  %2: i32 = max %1, 0  %3: i32 = sub @n, 1"
                       "  %4: i32 = min %2, %3  %5: f32 = load @x[%4]  store @y[%0] = %5 }"));
  const ir::Kernel split = passes::clamped_edges(lowered);
  ir::verify(split, ir::Form::lowered, "clamped_edges");
  std::vector<int> clamps;  // of each thread loop
  ir::for_each_statement(split.body, [&](const ir::Stmt &stmt) {
    const ir::For *loop = stmt.as<ir::For>();
    if (!loop || loop->kind != ir::LoopKind::Thread) return;
    clamps.push_back(0);
    ir::for_each_statement(loop->body, [&](const ir::Stmt &of) {
      const ir::Let *let = of.as<ir::Let>();
      clamps.back() += let && (let->value.op == ir::Op::Max || let->value.op == ir::Op::Min);
    });
  });
  EXPECT_EQ(clamps, (std::vector{0, 2}));
}

// Each instance of a launch runs once: in the interior, which begins and ends between two vectors, or at an edge.
TEST(ClampedStencil, TheInteriorIsWholeVectors) {
  SAMITE_ON_THE_CPU();
  Kernel counted{"counted", {"n", "x"}, [](Array<int, 1> n, Array<const float, 1> x) {
                   Int i = thread_index();
                   n(i) += cast<Int>(x(clamp(i - 3, 7, 90)) - x(min(i + 5, 70))) + 1;
                 }};
  Buffer<float> x(Device::cpu(), {120}, std::vector<float>(120, 2.f));
  for (int count = 1; count <= 110; ++count) {
    Buffer<int> n(Device::cpu(), {count});
    counted.launch({count}, n, x);
    ASSERT_EQ(n.to_vector(), std::vector<int>(static_cast<std::size_t>(count), 1)) << count;
  }
}

TEST(ClampedStencil, OfNeighboursInBothDimensions) {
  SAMITE_ON_THE_CPU();
  Kernel stencil{"stencil", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                   auto [i, j] = thread_index<2>();
                   Int h = x.extent(0), w = x.extent(1);
                   y(i, j) = x(max(i - 1, 0), j) + x(min(i + 1, h - 1), j) * 2 + x(i, max(j - 1, 0)) * 3 +
                             x(i, min(j + 1, w - 1)) * 4 + x(i, clamp(j - 3, 0, w - 1)) * 5;
                 }};
  for (const int width : widths) {
    const Image in = image(5, width);
    Buffer<float> x(Device::cpu(), {5, width}, in.values, Gradient::tracked),
        y(Device::cpu(), {5, width}, Gradient::tracked);
    stencil.launch({5, width}, y, x);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < width; ++j)
        ASSERT_EQ(y.at(i, j), in.at(i - 1, j) + in.at(i + 1, j) * 2 + in.at(i, j - 1) * 3 + in.at(i, j + 1) * 4 +
                                  in.at(i, j - 3) * 5)
            << width << ": " << i << ", " << j;

    // The adjoint adds to the gradients of the inputs.
    y.gradient().fill(1);
    stencil.launch({5, width}, {.direction = Direction::adjoint}, y, x);
    std::vector<float> expected(in.values.size(), 0.f);
    const auto add = [&](int i, int j, float value) {
      expected[static_cast<std::size_t>(std::clamp(i, 0, 4) * width + std::clamp(j, 0, width - 1))] += value;
    };
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < width; ++j) {
        add(i - 1, j, 1), add(i + 1, j, 2), add(i, j - 1, 3), add(i, j + 1, 4), add(i, j - 3, 5);
      }
    EXPECT_EQ(x.gradient().to_vector(), expected) << width;
  }
}

// A launch of fewer instances than the image has columns, and of more than clamps allow for.
TEST(ClampedStencil, OfAnyLaunch) {
  SAMITE_ON_THE_CPU();
  Kernel shifted{
      "shifted", {"y", "x", "low", "high"}, [](Array<float, 1> y, Array<const float, 1> x, Int low, Int high) {
        Int i = thread_index();
        y(i) = x(max(min(i + 2, high), low)) * 2 + x(clamp(i - 5, low, high));
      }};
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const int extent = 1 + static_cast<int>(random() % 90), n = 1 + static_cast<int>(random() % 90);
    const int low = static_cast<int>(random() % static_cast<unsigned>(extent)),
              high = low + static_cast<int>(random() % static_cast<unsigned>(extent - low));
    const Image in = image(1, extent);
    Buffer<float> x(Device::cpu(), {extent}, in.values), y(Device::cpu(), {n});
    shifted.launch({n}, y, x, low, high);
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(y.at(i), in.at(0, std::clamp(i + 2, low, high)) * 2 + in.at(0, std::clamp(i - 5, low, high)))
          << extent << ' ' << n << ' ' << low << ' ' << high << ": " << i;
  }
}

// The limits may cross: the outer one counts.
TEST(ClampedStencil, OfLimitsThatCross) {
  SAMITE_ON_THE_CPU();
  Kernel crossed{
      "crossed", {"y", "x", "low", "high"}, [](Array<float, 1> y, Array<const float, 1> x, Int low, Int high) {
        Int i = thread_index();
        y(i) = x(max(min(i + 2, high), low)) * 2 + x(min(max(i - 5, low), high));
      }};
  const Image in = image(1, 60);
  Buffer<float> x(Device::cpu(), {60}, in.values), y(Device::cpu(), {60});
  for (const auto &[low, high] : {std::pair{20, 10}, {59, 0}, {33, 32}, {16, 15}}) {
    crossed.launch({60}, y, x, low, high);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(y.at(i), in.at(0, low) * 2 + in.at(0, high)) << low << ' ' << high;
  }
}

template <class T>
void expect_clamped_loads() {
  Kernel sums{"sums", {"y", "x"}, [](Array<T, 1> y, Array<const T, 1> x) {
                Int i = thread_index();
                Int n = x.extent(0);
                y(i) = cast<Traced<T>>(x(max(i - 2, 0)) + x(min(i + 1, n - 1)));
              }};
  for (const int width : widths) {
    std::vector<T> values;
    for (int i = 0; i < width; ++i) values.push_back(static_cast<T>(i % 50));
    Buffer<T> x(Device::cpu(), {width}, values), y(Device::cpu(), {width});
    sums.launch({width}, y, x);
    for (int i = 0; i < width; ++i)
      ASSERT_EQ(static_cast<double>(y.at(i)), std::max(i - 2, 0) % 50 + std::min(i + 1, width - 1) % 50)
          << width << ": " << i;
  }
}

TEST(ClampedStencil, OfEachWidthOfElements) {
  SAMITE_ON_THE_CPU();
  expect_clamped_loads<std::uint8_t>();
  expect_clamped_loads<std::int16_t>();
  expect_clamped_loads<half>();
  expect_clamped_loads<double>();
}

// Functions, branches, loops and memory of an instance in the body.
TEST(ClampedStencil, OfMoreThanSums) {
  SAMITE_ON_THE_CPU();
  Kernel longer{"longer", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  Int n = x.extent(0);
                  LocalArray<float, 3> own;
                  for (int k = 0; k < 3; ++k) own(k) = x(clamp(i + k - 1, 0, n - 1));
                  Float sum = 0;
                  for (Int k : range(0, 3)) sum += own(k) * exp(own(k) * 0.01f);
                  if_(x(max(i - 1, 0)) > 0, [&] { sum = -sum; });
                  y(i) = sum;
                }};
  for (const int width : widths) {
    const Image in = image(1, width);
    Buffer<float> x(Device::cpu(), {width}, in.values), y(Device::cpu(), {width});
    longer.launch({width}, y, x);
    for (int i = 0; i < width; ++i) {
      double sum = 0;
      for (int k = -1; k <= 1; ++k) sum += in.at(0, i + k) * std::exp(in.at(0, i + k) * 0.01);
      if (in.at(0, i - 1) > 0) sum = -sum;
      ASSERT_NEAR(y.at(i), sum, 1e-4 * (1 + std::abs(sum))) << width << ": " << i;
    }
  }
}

}  // namespace
}  // namespace samite::test
