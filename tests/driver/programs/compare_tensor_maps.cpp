// Compares Samite's verdict on random tensor maps with the driver's own. Usage: compare_tensor_maps [count] [seed]
//
// Needs a GPU of compute capability 9.0 or newer. The encoders only compute bits, so that no memory is allocated. Most
// arguments are valid, and a few are at and around the rules' limits, so that each rule alone decides often enough.
// Prints each disagreement, and fails if there is one; the last line counts verdicts.
#include "samite/driver/tensor_map.h"
#include "samite/driver/tensor_map_rules.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>

namespace samite::driver {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  // Whether an argument is one that most rules allow, so that few of a description's break one.
  bool usual() { return chance(0.96); }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }
  std::uint64_t upto(std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(engine_); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[upto(values.size() - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32, two_to_40 = std::uint64_t{1} << 40;

std::uint64_t random_extent(Random &random) {
  return random.usual() ? 128 * (1 + random.upto(8))
                        : random.one_of<std::uint64_t>({0, 1, 2, 3, 64, 130, two_to_32, two_to_32 + 1});
}

std::uint64_t random_stride(Random &random) {
  return random.usual()
             ? 32 * (1 + random.upto(4096))
             : random.one_of<std::uint64_t>({0, 8, 16, 48, two_to_40 - 32, two_to_40 - 16, two_to_40, two_to_40 + 16});
}

void randomise(Random &random, TensorLayout &t, int types, int swizzles) {
  t.type = static_cast<TensorType>(random.upto(static_cast<std::uint64_t>(types - 1)));
  t.rank = random.usual() ? 1 + static_cast<unsigned>(random.upto(4)) : random.one_of({0u, 6u});
  t.address = 0x7f0000000000 + (random.usual() ? 128 * random.upto(64) : random.one_of<CUdeviceptr>({1, 8, 16, 48}));
  for (auto &extent : t.extents) extent = random_extent(random);
  for (auto &stride : t.strides) stride = random_stride(random);
  for (auto &step : t.element_strides) step = random.usual() ? 1 : random.one_of<std::uint32_t>({0, 2, 8, 9});
  t.interleave = random.chance(0.7) ? Interleave::none : random.one_of({Interleave::bytes_16, Interleave::bytes_32});
  t.swizzle = t.interleave == Interleave::bytes_32 && random.chance(0.7)
                  ? Swizzle::bytes_32
                  : static_cast<Swizzle>(random.upto(static_cast<std::uint64_t>(swizzles - 1)));
  t.promotion = static_cast<L2Promotion>(random.upto(3));
  t.out_of_bounds = random.usual() ? OutOfBounds::zero : OutOfBounds::nan;
}

std::uint32_t random_inner(Random &random) {
  return random.usual() ? random.one_of<std::uint32_t>({8, 16, 32, 64, 128})
                        : random.one_of<std::uint32_t>({0, 1, 4, 20, 48, 256, 257});
}

int random_corner(Random &random) {
  return random.usual() ? static_cast<int>(random.upto(6)) - 3
                        : random.one_of({-32769, -32768, -129, -128, -17, -16, 15, 16, 127, 128, 32767, 32768});
}

std::uint32_t random_pixels(Random &random) {
  return random.usual() ? 1 + static_cast<std::uint32_t>(random.upto(256))
                        : random.one_of<std::uint32_t>({0, 1024, 1025});
}

TiledTensor random_tiled(Random &random, int types, int swizzles) {
  TiledTensor t;
  randomise(random, t, types, swizzles);
  for (auto &extent : t.box)
    extent = random.usual() ? 1 + static_cast<std::uint32_t>(random.upto(63))
                            : random.one_of<std::uint32_t>({0, 255, 256, 257});
  t.box[0] = random_inner(random);
  return t;
}

Im2colTensor random_im2col(Random &random, int types, int swizzles) {
  Im2colTensor t;
  randomise(random, t, types, swizzles);
  if (random.usual()) t.rank = 3 + static_cast<unsigned>(random.upto(2));
  for (int &corner : t.lower_corner) corner = random_corner(random);
  for (int &corner : t.upper_corner) corner = random_corner(random);
  t.channels = random_inner(random);
  t.pixels = random_pixels(random);
  return t;
}

std::string text_of(const TensorLayout &t) {
  return fmt::format(
      "type {} rank {} address {:#x} extents {} {} {} {} {} strides {} {} {} {} steps {} {} {} {} {} "
      "interleave {} swizzle {} fill {}",
      name_of(t.type), t.rank, t.address, t.extents[0], t.extents[1], t.extents[2], t.extents[3], t.extents[4],
      t.strides[0], t.strides[1], t.strides[2], t.strides[3], t.element_strides[0], t.element_strides[1],
      t.element_strides[2], t.element_strides[3], t.element_strides[4], static_cast<int>(t.interleave),
      static_cast<int>(t.swizzle), static_cast<int>(t.out_of_bounds));
}

std::string text_of(const TiledTensor &t) {
  return text_of(static_cast<const TensorLayout &>(t)) +
         fmt::format(" box {} {} {} {} {}", t.box[0], t.box[1], t.box[2], t.box[3], t.box[4]);
}

std::string text_of(const Im2colTensor &t) {
  return text_of(static_cast<const TensorLayout &>(t)) +
         fmt::format(" lower {} {} {} upper {} {} {} channels {} pixels {}", t.lower_corner[0], t.lower_corner[1],
                     t.lower_corner[2], t.upper_corner[0], t.upper_corner[1], t.upper_corner[2], t.channels, t.pixels);
}

Result ask(const Context &context, const TiledTensor &t) {
  TensorMapBits map{};
  return context.try_call<Entry::TensorMapEncodeTiled>(
      &map, t.type, std::uint32_t{t.rank}, reinterpret_cast<void *>(t.address), t.extents.data(), t.strides.data(),
      t.box.data(), t.element_strides.data(), t.interleave, t.swizzle, t.promotion, t.out_of_bounds);
}

Result ask(const Context &context, const Im2colTensor &t) {
  TensorMapBits map{};
  return context.try_call<Entry::TensorMapEncodeIm2col>(
      &map, t.type, std::uint32_t{t.rank}, reinterpret_cast<void *>(t.address), t.extents.data(), t.strides.data(),
      t.lower_corner.data(), t.upper_corner.data(), t.channels, t.pixels, t.element_strides.data(), t.interleave,
      t.swizzle, t.promotion, t.out_of_bounds);
}

struct Counts {
  int accepted = 0, refused = 0, stricter = 0, disagreed = 0;
};

template <class Tensor>
void compare(const Context &context, const Tensor &tensor, Counts &counts) {
  const std::string ours = broken_rule(tensor);
  const Result theirs = ask(context, tensor);
  ++(ours.empty() ? counts.accepted : counts.refused);
  if (ours.empty() == (theirs == Result::success)) return;
  // Rules that are documented but not enforced by the driver; and boxes so large that they overflow its 32 bits.
  if (ours.find("with interleave bytes_32 it must be") != ours.npos ||
      ours.starts_with("the bounding box is too large")) {
    ++counts.stricter;
    return;
  }
  // The first hundred suffice to identify a wrong rule.
  if (++counts.disagreed > 100) return;
  fmt::print("Samite: {}\n  driver: {}\n  {}\n", ours.empty() ? "good" : ours,
             theirs == Result::success ? "good" : context.driver().describe(theirs), text_of(tensor));
}

int run(int count, unsigned seed) {
  const Context context = Context::primary(Driver::system(), 0);
  // Features that an older driver or device lacks are refused only for that reason.
  const bool newer = context.driver().version() >= 12080 && context.limits().compute_capability >= 100;
  const int types = newer ? 16 : 13, swizzles = newer ? 7 : 4;
  Random random(seed);
  Counts tiled, im2col;
  for (int i = 0; i < count; ++i) {
    compare(context, random_tiled(random, types, swizzles), tiled);
    compare(context, random_im2col(random, types, swizzles), im2col);
  }
  fmt::print(
      "driver {}, tiled: {} accepted, {} refused, {} by rules that the driver lets pass, {} disagreements; "
      "im2col: {}, {}, {}, {}\n",
      version_text(context.driver().version()), tiled.accepted, tiled.refused, tiled.stricter, tiled.disagreed,
      im2col.accepted, im2col.refused, im2col.stricter, im2col.disagreed);
  return tiled.disagreed + im2col.disagreed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace samite::driver

int main(int argc, char **argv) {
  try {
    return samite::driver::run(argc > 1 ? std::atoi(argv[1]) : 100000,
                               argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
  } catch (const samite::Error &error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
