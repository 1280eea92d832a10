// Convolves signals with a filter by Fourier transforms of tiles, and compares with the defining sums of a convolution.
// Prints the largest error, and checks the gradient with respect to signals and filter against differences.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace samite;

namespace {

// Room for the filter's end, so that nothing wraps around: 60 = 4 * 3 * 5.
constexpr int signal = 48, filter = 13, room = 60;

const TileKernel convolve{"convolve", [](Array<double, 2> y, Array<const double, 2> x, Array<const double, 1> h) {
                            Int row = block_index();
                            // Elements beyond a tile are zero.
                            const auto spectrum = [](const Tile<double> &values) {
                              Tile<double> padded = tile::slice(values, {0}, {room});
                              return tile::fft(tile::complex(padded, tile::zeros<double>({room})));
                            };
                            Tile<double> of_signal = spectrum(tile::load(x, {row, 0}, {signal}));
                            Tile<double> of_filter = spectrum(tile::load(h, {0}, {filter}));
                            Tile<double> product = tile::multiply_complex(of_signal, of_filter);
                            tile::store(y, {row, 0}, tile::real(tile::ifft(product)));
                          }};

}  // namespace

int main() {
  const Device device = Device::preferred();
  const int rows = 4;
  std::vector<double> x, h, expected;
  for (int i = 0; i < rows * signal; ++i) x.push_back(std::sin(0.3 * i) + 0.2 * std::cos(i * i));
  for (int k = 0; k < filter; ++k) h.push_back(std::exp(-0.1 * (k - 6) * (k - 6)));
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < room; ++i) {
      double sum = 0;
      for (int k = 0; k < filter; ++k)
        if (i - k >= 0 && i - k < signal)
          sum += h[static_cast<std::size_t>(k)] * x[static_cast<std::size_t>(r * signal + i - k)];
      expected.push_back(sum);
    }
  Buffer<double> signals{device, {rows, signal}, x, Gradient::tracked};
  Buffer<double> weights{device, {filter}, h, Gradient::tracked};
  Buffer<double> y{device, {rows, room}, Gradient::tracked};
  convolve.launch({rows}, y, signals, weights);

  double error = 0;
  const std::vector<double> convolved = y.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) error = std::max(error, std::abs(convolved[i] - expected[i]));
  const GradientReport report = gradcheck(convolve, {rows}, y, signals, weights);
  std::printf("%d signals of %d samples: largest error %.1e, gradient %s\n", rows, signal, error,
              report.passed ? "as differences" : "WRONG");
  return error < 1e-12 && report.passed ? 0 : 1;
}
