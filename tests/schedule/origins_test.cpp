// Arrays that begin at other indices than zeros: their computed and read elements, and the messages if these do not
// exist.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace samite::test::origins {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};

Buffer<std::int32_t> ints(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(static_cast<std::int32_t>(i * i % 101));
  return Buffer<std::int32_t>{Device::cpu(), {rows, columns}, values};
}

// A window of 4 x 6 elements is that part of the whole result, wherever it begins.
TEST(Origins, AWindowOfTheResult) {
  for (const bool scheduled : {false, true}) {
    const Pipeline p{"p",
                     {"out", "in", "y0", "x0"},
                     [&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in, Int y0, Int x0) {
                       begins_at(out, y0, x0);
                       Func<std::int32_t> image = repeat_edge(in), rows{"rows"}, result{"result", out};
                       rows(y, x) = image(y, x - 1) + 2 * image(y, x) + image(y, x + 1);
                       result(y, x) = rows(y - 1, x) + rows(y + 1, x) + 1000 * y + x;
                       if (!scheduled) return;
                       schedule_cpu([&] {
                         result.split(x, xo, xi, 4, Tail::shift_inwards).parallel(y).vectorize(xi);
                         rows.compute_at(result, xo).vectorize(x, 4);
                       });
                     }};
    const Buffer<std::int32_t> in = ints(9, 11), all{Device::cpu(), {20, 30}}, window{Device::cpu(), {4, 6}};
    p.launch(all, in, -5, -7);
    const std::vector<std::int32_t> whole = all.to_vector();
    for (const auto &[y0, x0] : {std::pair{-5, -7}, {0, 0}, {3, -2}, {8, 15}}) {
      p.launch(window, in, y0, x0);
      const std::vector<std::int32_t> found = window.to_vector();
      for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 6; ++column)
          EXPECT_EQ(found[static_cast<std::size_t>(row * 6 + column)],
                    whole[static_cast<std::size_t>((row + y0 + 5) * 30 + column + x0 + 7)])
              << y0 << ' ' << x0 << ' ' << row << ' ' << column;
    }
  }
}

// An input is read from its first index on, and beyond its edges by a boundary condition.
TEST(Origins, OfInputs) {
  const Pipeline p{
      "p", {"out", "in", "first"}, [&](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in, Int first) {
        begins_at(in, 2 * first / 3);
        begins_at(out, -4);
        Func<std::int32_t> edge = repeat_edge(in), zero = constant_exterior(in, -1), again = repeat(in), f{"f", out};
        f(x) = edge(x) + 1000 * zero(x) + 1000'000 * again(x);
        f(x) += in(clamp(x, 2 * first / 3, 2 * first / 3 + 2));
      }};
  const std::vector<std::int32_t> values{5, 7, 11};
  const Buffer<std::int32_t> in{Device::cpu(), {3}, values}, out{Device::cpu(), {14}};
  for (const int first : {0, 4, -6}) {
    p.launch(out, in, first);
    const int begin = 2 * first / 3;
    for (int i = -4; i < 10; ++i) {
      const int at = i - begin, near = std::min(std::max(at, 0), 2);
      const auto of = [&](int n) { return values[static_cast<std::size_t>(n)]; };
      const int right = of(near) + 1000 * (at == near ? of(at) : -1) + 1000'000 * of((at % 3 + 3) % 3) + of(near);
      EXPECT_EQ(out.at(i + 4), right) << first << ' ' << i;
    }
  }
}

// An update runs over the existing elements, and two values fill arrays that begin at the same indices.
TEST(Origins, OfUpdatesAndOfSeveralValues) {
  const Pipeline p{"p", {"squares", "cubes"}, [&](Array<std::int32_t, 1> squares, Array<std::int32_t, 1> cubes) {
                     begins_at(squares, 3);
                     Reduction k{"k", 5, 2};
                     Func<std::int32_t, std::int32_t> f{"f", squares, cubes};
                     f(x) = values(x * x, x * x * x);
                     const auto [square, cube] = f(k);
                     f(k) = values(square + 1000, cube - 1000);
                     schedule_cpu([&] { f.bound(x, 3, 6); });
                   }};
  const Buffer<std::int32_t> squares{Device::cpu(), {6}}, cubes{Device::cpu(), {6}};
  p.launch(squares, cubes);
  EXPECT_THAT(squares.to_vector(), testing::ElementsAre(9, 16, 1025, 1036, 49, 64));
  EXPECT_THAT(cubes.to_vector(), testing::ElementsAre(27, 64, -875, -784, 343, 512));
}

// Messages count as the pipeline does.
TEST(Origins, MessagesHaveTheirIndices) {
  const Pipeline p{"p", {"out", "in", "first"}, [&](Array<float, 1> out, Array<const float, 1> in, Int first) {
                     begins_at(out, first);
                     begins_at(in, 10);
                     Func f{"f", out};
                     f(x) = in(x) + in(x + 1);
                   }};
  const auto floats = [](std::int64_t count) { return Buffer<float>(Device::cpu(), {count}); };
  p.launch(floats(4), floats(5), 10);
  p.launch(floats(2), floats(5), 12);
  EXPECT_THAT(message_of<UserError>([&] { p.launch(floats(4), floats(5), 9); }),
              HasSubstr("'f' reads 'in' at indices from 9 to 13 along its dimension 0, which begins at 10 and has 5 "
                        "elements; give a larger array"));
  EXPECT_THAT(message_of<UserError>([&] { p.launch(floats(4), floats(5), 2147483645); }),
              HasSubstr("array 'out' begins at 2147483645 along its dimension 0 and has 4 elements, more than indices "
                        "of 32 bits reach"));
}

// Indices unknown at launch are checked by debug mode, in plain and recorded launches alike.
TEST(Origins, DebugModeCountsFromThere) {
  const Pipeline p{"p",
                   {"out", "in", "at", "first"},
                   [](Array<float, 1> out, Array<const float, 2> in, Array<const std::int32_t, 1> at, Int first) {
                     begins_at(in, first / 2, 10);
                     Func f{"f", out};
                     f(x) = in(3, at(x));
                   }};
  const auto ints = [](const std::vector<std::int32_t> &values) {
    return Buffer<std::int32_t>(Device::cpu(), {static_cast<std::int64_t>(values.size())}, values);
  };
  const Buffer<float> out{Device::cpu(), {3}}, in{Device::cpu(), {4, 5}};
  p.launch({.debug = true}, out, in, ints({10, 14, 12}), 4);
  const Buffer<std::int32_t> at = ints({10, 15, 12}), before = ints({10, 14, 9});
  const auto outside = [](const std::string &index) {
    return HasSubstr("index " + index +
                     " is outside of dimension 1 of array 'in', which begins at 10 and has 5 elements");
  };
  EXPECT_THAT(message_of<UserError>([&] { p.launch({.debug = true}, out, in, at, 4); }), outside("15"));
  auto recorded = p.record({.debug = true}, out, in, before, 5);
  EXPECT_THAT(message_of<UserError>([&] { recorded.launch(); }), AllOf(outside("9"), HasSubstr("launched at")));
}

// The last index of an array of structs is that of a scalar, which begins at 0.
TEST(Origins, OfArraysOfStructs) {
  const Pipeline p{"p", {"out", "in", "first"}, [](Array<float, 2> out, Array<const Vec3f, 2> in, Int first) {
                     begins_at(in, first, -2);
                     begins_at(out, 5, -2);
                     Func f{"f", out};
                     const Vec3f v = in(y, x);
                     f(y, x) = v.x() + 10 * v.y() + 100 * v.z() + in(y, x).z();
                   }};
  const std::int64_t rows = 3, columns = 4;
  std::vector<float> values;
  for (int i = 0; i < 36; ++i) values.push_back(static_cast<float>(i % 7));
  const Buffer<float> in{Device::cpu(), {rows, columns, 3}, values}, out{Device::cpu(), {rows - 1, columns}};
  p.launch(out, in, 4);
  const std::vector<float> found = out.to_vector();
  for (std::int64_t row = 0; row < rows - 1; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto leaf = [&](std::int64_t k) {
        return values[static_cast<std::size_t>(((row + 1) * columns + column) * 3 + k)];
      };
      EXPECT_EQ(found[static_cast<std::size_t>(row * columns + column)], leaf(0) + 10 * leaf(1) + 101 * leaf(2));
    }
}

TEST(Origins, BoundsThatBeginElsewhere) {
  const Pipeline p{"p", {"out", "first"}, [&](Array<float, 1> out, Int first) {
                     begins_at(out, first);
                     Func f{"f", out};
                     f(x) = cast<Float>(x);
                     schedule_cpu([&] { f.bound(x, 5, 4); });
                   }};
  const Buffer<float> out(Device::cpu(), {4});
  p.launch(out, 5);
  EXPECT_THAT(out.to_vector(), testing::ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(message_of<UserError>([&] { p.launch(out, 4); }),
              HasSubstr("the schedule of 'f' says that 'x' goes from 5 on; array 'out' begins at 4 there"));
  EXPECT_THAT(message_of<UserError>([&] { p.launch(Buffer<float>(Device::cpu(), {3}), 5); }),
              HasSubstr("the schedule of 'f' says that 'x' goes from 5 on for 4 elements; array 'out' has 3 there"));
}

class WrongOrigins : public testing::Test {
 protected:
  template <class F>
  static std::string refused(const F &function) {
    return message_of<UserError>([&] {
      const Pipeline<void(Array<float, 1>, Array<const float, 1>)> p{"p", {"out", "in"}, function};
      p.program();
    });
  }
};

TEST_F(WrongOrigins, AreRefused) {
  EXPECT_THAT(refused([](Array<float, 1> out, Array<const float, 1> in) {
                const Func image = repeat_edge(in);
                begins_at(in, 3);
                Func f{"f", out};
                f(x) = image(x);
              }),
              AllOf(HasSubstr("begins_at of the array 'in' is called after a boundary condition of it ("),
                    HasSubstr("call it before")));
  EXPECT_THAT(refused([](Array<float, 1> out, Array<const float, 1>) {
                begins_at(out, 3);
                begins_at(out, 4);
              }),
              HasSubstr("begins_at of the array 'out' is called twice, before at "));
  EXPECT_THAT(
      refused([](Array<float, 1> out, Array<const float, 1>) { begins_at(out, x + 1); }),
      HasSubstr("the place where the array 'out' begins depends on the variable 'x', but has to be known before "
                "anything is computed"));
  EXPECT_THAT(refused([](Array<float, 1> out, Array<const float, 1> in) { begins_at(out, cast<Int>(in(0))); }),
              HasSubstr("begins depends on elements of 'in'"));
  EXPECT_THAT(message_of<UserError>([] {
                const Pipeline p{"p", {"a", "b"}, [](Array<float, 1> a, Array<float, 1> b) {
                                   begins_at(b, 1);
                                   Func<float, float> f{"f", a, b};
                                   f(x) = values(1.0f, 2.0f);
                                 }};
              }),
              HasSubstr("the array 'b' of the Func 'f' begins elsewhere than 'a', the array of its first value"));
}

}  // namespace
}  // namespace samite::test::origins
