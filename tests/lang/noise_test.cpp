#include "samite/lang/noise.h"

#include "tests/lang/algebra_check.h"

namespace samite {
namespace {

using test::check_function;
using test::Numbers;
using test::Vec;

std::uint32_t hash_of(const std::vector<std::int32_t> &point, std::uint32_t seed) {
  const std::uint32_t odd[] = {0x8DA6B343u, 0xD8163841u, 0xCB1AB31Fu, 0x165667B1u};
  std::uint32_t h = seed;
  for (std::size_t k = 0; k < point.size(); ++k) h ^= static_cast<std::uint32_t>(point[k]) * odd[k];
  h = (h ^ (h >> 16)) * 0x7FEB352Du;
  h = (h ^ (h >> 15)) * 0x846CA68Bu;
  return h ^ (h >> 16);
}

// Perlin's published grad() of 2002 for three dimensions; the same idea for the others.
double slope_of(std::uint32_t hash, const Numbers &d) {
  if (d.size() == 3) {
    std::uint32_t h = hash & 15;
    double u = h < 8 ? d[0] : d[1], v = h < 4 ? d[1] : h == 12 || h == 14 ? d[0] : d[2];
    return ((h & 1) == 0 ? u : -u) + ((h & 2) == 0 ? v : -v);
  }
  double first = hash & 1 ? -1 : 1, second = hash & 2 ? -1 : 1, third = hash & 4 ? -1 : 1;
  if (d.size() == 1) return (hash % 16 * 2 / 15.0 - 1) * d[0];
  if (d.size() == 2) return hash & 4 ? 2 * second * d[0] + first * d[1] : first * d[0] + 2 * second * d[1];
  double sum = 0, signs[] = {first, second, third};
  for (std::size_t k = 0, at = 0; k < 4; ++k)
    if (k != hash / 8 % 4) sum += signs[at++] * d[k];
  return sum;
}

// The blend of the slopes at all corners, each with the product of its weights.
double noise_of(const Numbers &p, std::uint32_t seed) {
  const double scale[] = {2, 0.66, 0.96, 0.8};
  double sum = 0;
  for (int corner = 0; corner < 1 << p.size(); ++corner) {
    double weight = 1;
    Numbers offset;
    std::vector<std::int32_t> point;
    for (std::size_t k = 0; k < p.size(); ++k) {
      int bit = corner >> k & 1;
      double t = p[k] - std::floor(p[k]), fade = t * t * t * (t * (t * 6 - 15) + 10);
      weight *= bit ? fade : 1 - fade;
      offset.push_back(t - bit);
      point.push_back(static_cast<std::int32_t>(std::floor(p[k])) + bit);
    }
    sum += weight * slope_of(hash_of(point, seed), offset);
  }
  return sum * scale[p.size() - 1];
}

Numbers gradient_of(const Numbers &p, std::uint32_t seed) {
  Numbers gradient;
  for (std::size_t k = 0; k < p.size(); ++k) {
    Numbers above = p, below = p;
    above[k] += 1e-5, below[k] -= 1e-5;
    gradient.push_back((noise_of(above, seed) - noise_of(below, seed)) / 2e-5);
  }
  return gradient;
}

template <int N>
void check_noise(std::size_t operations) {
  std::size_t computed =
      check_function<Vec<N>>([](auto p) { return perlin(p, 17); },
                             [](const Numbers &in) { return Numbers{noise_of(in, 17)}; }, {.low = -9, .high = 9});
  EXPECT_LE(computed, operations);
  check_function<Vec<N>>([](auto p) { return perlin_with_gradient(p, 3).gradient; },
                         [](const Numbers &in) { return gradient_of(in, 3); },
                         {.low = -9, .high = 9, .tolerance = 1e-7, .gradient_tolerance = 1e-5});
  check_function<Vec<N>>([](auto p) { return perlin_with_gradient(p).value - perlin(p); },
                         [](const Numbers &) { return Numbers{0}; }, {.low = -9, .high = 9, .tolerance = 1e-15});
}
TEST(Noise, IsPerlinsInOneDimension) { check_noise<1>(50); }
TEST(Noise, IsPerlinsInTwoDimensions) { check_noise<2>(130); }
TEST(Noise, IsPerlinsInThreeDimensions) { check_noise<3>(320); }
TEST(Noise, IsPerlinsInFourDimensions) { check_noise<4>(710); }

TEST(Noise, OfAScalar) {
  check_function<double>([](auto x) { return perlin(x); }, [](const Numbers &in) { return Numbers{noise_of(in, 0)}; },
                         {.low = -9, .high = 9});
}

TEST(Noise, IsZeroOnTheLatticeAndWithinOne) {
  EXPECT_EQ(perlin(Vec<3>{1, -5, 1000}), 0);
  EXPECT_EQ(perlin(Vec<2>{-1, 3}), 0);
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> distribution(-1000, 1000);
  auto extremes = [&]<int N>(Vec<N> *) {
    double smallest = 0, largest = 0;
    for (int i = 0; i < 20000; ++i) {
      double value = perlin(Vec<N>::generate([&](int) { return distribution(generator); }));
      smallest = std::min(smallest, value), largest = std::max(largest, value);
    }
    EXPECT_GE(smallest, -1);
    EXPECT_LE(largest, 1);
    EXPECT_LE(smallest, -0.6);
    EXPECT_GE(largest, 0.6);
  };
  extremes(static_cast<Vec<1> *>(nullptr));
  extremes(static_cast<Vec<2> *>(nullptr));
  extremes(static_cast<Vec<3> *>(nullptr));
  extremes(static_cast<Vec<4> *>(nullptr));
}

TEST(Noise, Fractal) {
  check_function<Vec<3>>([](auto p) { return fractal_noise(p, 4, {.lacunarity = 1.9, .gain = 0.6}, 8); },
                         [](const Numbers &in) {
                           double sum = 0;
                           for (int k = 0; k < 4; ++k) {
                             double f = std::pow(1.9, k);
                             sum += std::pow(0.6, k) * noise_of({f * in[0], f * in[1], f * in[2]}, 8 + k);
                           }
                           return Numbers{sum};
                         },
                         {.low = -4, .high = 4, .gradient_tolerance = 1e-5});
}

TEST(Noise, CurlsAreThoseOfTheirPotentials) {
  check_function<Vec<2>>([](auto p) { return curl_noise(p, 4); },
                         [](const Numbers &in) {
                           Numbers g = gradient_of(in, 4);
                           return Numbers{g[1], -g[0]};
                         },
                         {.low = -4, .high = 4, .tolerance = 1e-7, .gradient_tolerance = 1e-5});
  check_function<Vec<3>>([](auto p) { return curl_noise(p, 4); },
                         [](const Numbers &in) {
                           Numbers a = gradient_of(in, 4), b = gradient_of(in, 5), c = gradient_of(in, 6);
                           return Numbers{c[1] - b[2], a[2] - c[0], b[0] - a[1]};
                         },
                         {.low = -4, .high = 4, .tolerance = 1e-7, .gradient_tolerance = 1e-5});
}

TEST(Noise, CurlsHaveNoDivergence) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<double> distribution(-5, 5);
  for (int i = 0; i < 100; ++i) {
    auto p = Vec<3>::generate([&](int) { return distribution(generator); });
    double divergence = 0;
    for (int k = 0; k < 3; ++k)
      divergence += (curl_noise(p + Vec<3>::unit(k) * 1e-5)[k] - curl_noise(p - Vec<3>::unit(k) * 1e-5)[k]) / 2e-5;
    EXPECT_NEAR(divergence, 0, 1e-7);
  }
}

}  // namespace
}  // namespace samite
