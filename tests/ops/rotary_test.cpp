// Rotary embedding in both orders of pairs, in place, and its gradient, against double.
#include "samite/ops/rotary.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using ops::RotaryPairs;
using testing::HasSubstr;

struct Angles {
  std::vector<double> cosines, sines;

  Angles(std::int64_t rows, std::int64_t pairs) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t d = 0; d < pairs; ++d) {
        const double angle =
            static_cast<double>(i) * std::pow(10000.0, -static_cast<double>(d) / static_cast<double>(pairs));
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
      }
  }
};

std::vector<double> rotated(const std::vector<double> &x, const Angles &angles, std::int64_t rows, std::int64_t size,
                            RotaryPairs order, double sign = 1) {
  std::vector<double> y = x;
  const std::int64_t pairs = size / 2, all = static_cast<std::int64_t>(x.size()) / size;
  for (std::int64_t i = 0; i < all; ++i)
    for (std::int64_t d = 0; d < pairs; ++d) {
      const bool halves = order == RotaryPairs::halves;
      const auto a = static_cast<std::size_t>(i * size + (halves ? d : 2 * d)),
                 b = static_cast<std::size_t>(i * size + (halves ? d + pairs : 2 * d + 1)),
                 at = static_cast<std::size_t>(i % rows * pairs + d);
      const double c = angles.cosines[at], s = sign * angles.sines[at];
      y[a] = x[a] * c - x[b] * s;
      y[b] = x[b] * c + x[a] * s;
    }
  return y;
}

template <class T, class S>
void check_rotary(const Extents &extents, RotaryPairs order, double tolerance) {
  SCOPED_TRACE(extents.to_string());
  const std::int64_t rows = extents[2], size = extents[3];
  const Angles angles(rows, size / 2);
  const std::vector<double> values = numbers(extents.count(), 1), cotangents = numbers(extents.count(), 2);
  const auto x = buffer<T>(extents, values, Gradient::tracked);
  const auto y = poisoned<T>(extents, Gradient::tracked);
  const auto cosines = buffer<S>({rows, size / 2}, angles.cosines), sines = buffer<S>({rows, size / 2}, angles.sines);
  x.gradient().fill(T(1));  // it is added to
  Tape tape;
  tape.record([&] { ops::rotary(x, cosines, sines, y, {.pairs = order}); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: rotary"));
  expect_near(y, rotated(values, angles, rows, size, order), tolerance);
  tape.backward({{y, buffer<T>(extents, cotangents)}});
  std::vector<double> gradient = rotated(cotangents, angles, rows, size, order, -1);
  for (double &element : gradient) element += 1;
  expect_near(x.gradient(), gradient, tolerance);
  ops::rotary(x, cosines, sines, x, {.pairs = order});
  expect_near(x, rotated(values, angles, rows, size, order), tolerance);
}

TEST(Rotary, OfHeadsOfAnySize) {
  for (const RotaryPairs order : {RotaryPairs::halves, RotaryPairs::interleaved})
    for (const std::int64_t size : {2, 6, 64, 130}) check_rotary<double, double>({2, 3, 37, size}, order, 1e-14);
}

TEST(Rotary, Types) {
  check_rotary<float, float>({1, 2, 5, 16}, RotaryPairs::halves, 1e-6);
  check_rotary<half, float>({1, 2, 5, 16}, RotaryPairs::interleaved, 2e-3);
  check_rotary<bfloat16, float>({1, 2, 5, 16}, RotaryPairs::halves, 2e-2);
}

// In place on a tape, which derives the adjoint, for a part of each row, in adjacent heads.
TEST(Rotary, OfAPartOfEachRowInPlaceOnATape) {
  const Angles angles(7, 2);
  const auto x = buffer<double>({1, 7, 2, 10}, numbers(140), Gradient::tracked);
  const auto cosines = buffer<double>({7, 2}, angles.cosines), sines = buffer<double>({7, 2}, angles.sines);
  const std::vector<double> before = x.to_vector(), cotangents = numbers(140, 5);
  const auto part = x.permute({0, 2, 1, 3}).slice(3, 2, 6);
  Tape tape;
  tape.record([&] { ops::rotary(part, cosines, sines, part, {.pairs = RotaryPairs::interleaved}); });
  tape.backward({{x, buffer<double>({1, 7, 2, 10}, cotangents)}});
  for (std::int64_t row = 0; row < 7; ++row)
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t d = 0; d < 10; ++d) {
        const auto index = [&](std::int64_t e) { return static_cast<std::size_t>((row * 2 + head) * 10 + e); };
        double expected = before[index(d)], gradient = cotangents[index(d)];
        if (d >= 2 && d < 6) {
          const auto pair = static_cast<std::size_t>(row * 2 + (d - 2) / 2);
          const double c = angles.cosines[pair], s = (d % 2 == 0 ? -1 : 1) * angles.sines[pair];
          const std::int64_t other = d % 2 == 0 ? d + 1 : d - 1;
          expected = before[index(d)] * c + before[index(other)] * s;
          gradient = cotangents[index(d)] * c - cotangents[index(other)] * s;
        }
        ASSERT_NEAR(x.at(0, row, head, d), expected, 1e-14) << row << head << d;
        ASSERT_NEAR(x.gradient().at(0, row, head, d), gradient, 1e-14) << row << head << d;
      }
}

TEST(Rotary, TablesThatTrackHaveGradients) {
  const auto x = buffer<double>({1, 1, 1, 2}, {3, 5});
  const auto y = poisoned<double>({1, 1, 1, 2}, Gradient::tracked);
  const auto cosines = buffer<double>({1, 1}, {0.5}, Gradient::tracked), sines = buffer<double>({1, 1}, {0.25});
  Tape tape;
  tape.record([&] { ops::rotary(x, cosines, sines, y); });
  tape.backward({{y, buffer<double>({1, 1, 1, 2}, {1, 10})}});
  expect_near(cosines.gradient(), {53}, 1e-14);
}

TEST(Rotary, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {1, 2, 3, 4}), odd(device(), {1, 2, 3, 5}), table(device(), {3, 2});
  const Buffer<double> wide(device(), {3, 2});
  EXPECT_THAT(message_of<UserError>([&] { ops::rotary(x, table, table, odd); }),
              HasSubstr("rotary: expected two arrays of (batches, heads, rows, size) of one type"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rotary(odd, table, table, odd); }), HasSubstr("expected rows of pairs"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rotary(x, wide, table, x); }),
              HasSubstr("expected cosines of float with extents (3, 2)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rotary(x, table, wide, x); }), HasSubstr("expected sines of float"));
  const Buffer<float> all(device(), {1, 2, 3, 5});
  EXPECT_THAT(message_of<UserError>([&] { ops::rotary(all.slice(3, 0, 4), table, table, all.slice(3, 1, 5)); }),
              HasSubstr("shares memory with"));
}

}  // namespace
}  // namespace samite::test
