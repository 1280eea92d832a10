// Fourier transforms against the sums that define them, and their gradients.
#include "tests/tiles/tile_function.h"

#include <complex>
#include <numbers>

namespace samite::test {
namespace {

using testing::HasSubstr;

std::vector<double> signal(std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(std::sin(static_cast<double>(i * i + 1)));
  return x;
}

// The transform of rows of n complex numbers.
std::vector<double> transformed(const std::vector<double> &x, std::int64_t n, bool inverse) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(2 * n))
    for (std::int64_t j = 0; j < n; ++j) {
      std::complex<double> sum = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
        const std::size_t at = row + static_cast<std::size_t>(2 * k);
        sum += std::complex(x[at], x[at + 1]) * std::polar(1.0, inverse ? angle : -angle);
      }
      if (inverse) sum /= static_cast<double>(n);
      y.push_back(sum.real()), y.push_back(sum.imag());
    }
  return y;
}

auto transform(std::int64_t rows, std::int64_t n, bool inverse) {
  return [=](auto x) {
    auto z = tile::reshape(x, {rows, n, 2});
    return inverse ? tile::ifft(z) : tile::fft(z);
  };
}

TEST(TileFourier, LengthsOfAllKinds) {
  // Powers of two, mixed radices, and primes that are summed up.
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 30, 64, 77, 101, 210, 256, 360, 1024})
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << ' ' << inverse);
      const std::vector<double> x = signal(2 * 2 * n), y = transformed(x, n, inverse);
      expect_values(transform(2, n, inverse), x, y, 1e-12 * static_cast<double>(n));
      expect_values<float>(transform(2, n, inverse), x, y, 1e-6 * static_cast<double>(4 + n));
    }
}

TEST(TileFourier, Derivatives) {
  for (const std::int64_t n : {1, 4, 6, 11})
    for (const bool inverse : {false, true}) expect_derivatives(transform(2, n, inverse), signal(4 * n), 4 * n);
}

TEST(TileFourier, InverseGivesBack) {
  const std::vector<double> x = signal(2 * 60);
  expect_values([](auto t) { return tile::ifft(tile::fft(tile::reshape(t, {60, 2}))); }, x, x, 1e-14);
}

TEST(TileFourier, ConvolvesRows) {
  constexpr std::int64_t n = 12;
  const std::vector<double> x = signal(2 * n);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k)
      sum += x[static_cast<std::size_t>(k)] * x[static_cast<std::size_t>(n + (i - k + n) % n)];
    expected.push_back(sum);
  }
  const auto convolve = [](Tile<double> both) {
    auto spectrum = [&](std::int64_t begin) {
      auto part = tile::slice(both, {begin}, {n});
      return tile::fft(tile::complex(part, 0 * part));
    };
    return tile::real(tile::ifft(tile::multiply_complex(spectrum(0), spectrum(n))));
  };
  expect_function(convolve, x, expected, 1e-12);
}

TEST(TileFourierErrors, NoComplexNumbers) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<float, 2> x) { tile::fft(tile::load(x, {0, 0}, {4, 8})); }}; });
  EXPECT_THAT(message, HasSubstr("fft of a tile of extents 4x8"));
  EXPECT_THAT(message, HasSubstr("tile::complex"));
  EXPECT_THAT(message, HasSubstr("fourier_test.cpp"));
}

TEST(TileFourierErrors, Types) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<half, 2> x) { tile::ifft(tile::load(x, {0, 0}, {4, 2})); }}; });
  EXPECT_THAT(message, HasSubstr("ifft of a tile of f16"));
  EXPECT_THAT(message, HasSubstr("f32 and f64"));
}

TEST(TileFourierErrors, Dimensions) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 1> x) {
                       auto t = tile::reshape(tile::load(x, {0}, {16}), {2, 2, 2, 2});
                       tile::complex(t, t);
                     }};
  });
  EXPECT_THAT(message, HasSubstr("extents 2x2x2x2"));
  EXPECT_THAT(message, HasSubstr("at most four"));
}

}  // namespace
}  // namespace samite::test
