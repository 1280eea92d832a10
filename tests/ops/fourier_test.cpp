// Fourier transforms of rows of any length, and their gradients, against sums in double.
#include "samite/ops/fourier.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

#include <complex>
#include <numbers>

namespace samite::test {
namespace {

using testing::HasSubstr;
using Complex = std::complex<double>;

// Element j of the transform of a row, with the exponent's sign, without a factor.
Complex transform(const std::vector<double> &x, std::int64_t row, std::int64_t n, std::int64_t j, double sign) {
  Complex sum = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(2 * (row * n + k));
    const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
    sum += Complex(x[at], x[at + 1]) * Complex(std::cos(angle), std::sin(angle));
  }
  return sum;
}

template <class T>
void expect_elements(const Buffer<T> &actual, const std::vector<double> &of, std::int64_t n, double sign, double factor,
                     double added, double tolerance) {
  const std::vector<T> values = actual.to_vector();
  const std::int64_t rows = actual.extents()[0], step = std::max<std::int64_t>(1, n / 37);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t j = 0; j < n; j += step) {
      const Complex expected = transform(of, row, n, j, sign) * factor;
      const auto at = static_cast<std::size_t>(2 * (row * n + j));
      ASSERT_NEAR(values[at], expected.real() + added, tolerance) << row << ' ' << j;
      ASSERT_NEAR(values[at + 1], expected.imag() + added, tolerance) << row << ' ' << j;
    }
}

template <class T>
void check_fft(std::int64_t rows, std::int64_t n, double tolerance) {
  SCOPED_TRACE(n);
  const std::vector<double> values = numbers(rows * n * 2, 1), cotangents = numbers(rows * n * 2, 2);
  for (const bool inverse : {false, true}) {
    const double sign = inverse ? 1 : -1, factor = inverse ? 1 / static_cast<double>(n) : 1;
    const auto x = buffer<T>({rows, n, 2}, values, Gradient::tracked);
    const auto y = poisoned<T>({rows, n, 2}, Gradient::tracked);
    x.gradient().fill(T(1));  // is added to
    Tape tape;
    tape.record([&] { ops::fft(x, y, {.inverse = inverse}); });
    EXPECT_THAT(tape.to_string(), HasSubstr("0: fft"));
    expect_elements(y, values, n, sign, factor, 0, tolerance);
    tape.backward({{y, buffer<T>({rows, n, 2}, cotangents)}});
    expect_elements(x.gradient(), cotangents, n, -sign, factor, 1, tolerance);
  }
}

TEST(Fourier, OfRowsOfAnyLength) {
  for (const std::int64_t n : {1, 2, 60, 97}) check_fft<double>(5, n, 1e-11);
  check_fft<double>(1, 1024, 1e-10);
  check_fft<float>(3, 64, 1e-4);
}

TEST(Fourier, OfLongRowsInTwoSteps) {
  check_fft<double>(2, 5000, 1e-9);
  check_fft<float>(1, 8192, 1e-2);
}

TEST(Fourier, OfColumnsInPlace) {
  const std::vector<double> values = numbers(6 * 5 * 2, 1);
  const auto image = buffer<double>({6, 5, 2}, values);
  const auto columns = image.permute({1, 0, 2});
  const std::vector<double> as_rows = columns.clone().to_vector();
  ops::fft(columns, columns);
  expect_elements(columns.clone(), as_rows, 6, -1, 1, 0, 1e-12);
  ops::fft(columns, columns, {.inverse = true});
  expect_near(image, values, 1e-13);
}

TEST(Fourier, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {2, 8, 2}), real(device(), {2, 8, 1}), shorter(device(), {2, 7, 2});
  const Buffer<half> narrow(device(), {2, 8, 2});
  const auto run = [&](const AnyBuffer &from, const AnyBuffer &to) {
    return message_of<UserError>([&] { ops::fft(from, to); });
  };
  EXPECT_THAT(run(real, real), HasSubstr("expected two arrays of (rows, n, 2)"));
  EXPECT_THAT(run(x, shorter), HasSubstr("expected two arrays of (rows, n, 2)"));
  EXPECT_THAT(run(narrow, narrow), HasSubstr("expected float or double"));
  const Buffer<float> prime(device(), {1, 10007, 2});
  EXPECT_THAT(run(prime, prime), HasSubstr("expected a length up to 4096, or with two factors up to that; 10007"));
}

}  // namespace
}  // namespace samite::test
