#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

auto axpy_kernel() {
  return Kernel{"axpy", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                  Int i = thread_index();
                  y(i) += a * x(i);
                }};
}

TEST(Launch, RunsTheKernelForEachIndex) {
  Buffer<float> y(device, {4}, {1, 2, 3, 4}), x(device, {4}, {10, 20, 30, 40});
  axpy_kernel().launch({4}, y, x, 0.5f);
  EXPECT_THAT(y.to_vector(), ElementsAre(6, 12, 18, 24));
}

TEST(Launch, LeavesTheRestAlone) {
  Buffer<float> y(device, {4}), x(device, {4}, {1, 2, 3, 4});
  axpy_kernel().launch({3}, y, x, 1.0f);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 2, 3, 0));
}

TEST(Launch, BlocksCoverTheLastPartOfATileToo) {
  EXPECT_EQ(blocks_over({100, 64, 0}, {32, 64, 8}), (Extents{4, 1, 0}));
  const Buffer<float> x(device, {5}, {1, 2, 3, 4, 5});
  const TileKernel kernel{"twice", {"x"}, [](Array<float, 1> x) {
                            tile::store(x, {block_index()}, tile::load(x, {block_index()}, {4}) * 2);
                          }};
  kernel.launch(blocks_over(x.extents(), {4}), x);
  EXPECT_THAT(x.to_vector(), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(message_of<UserError>([] { blocks_over({100, 64}, {32}); }),
              HasSubstr("for each of (100, 64); a tile of (32) given"));
  EXPECT_THAT(message_of<UserError>([] { blocks_over({100}, {0}); }), HasSubstr("an extent of at least 1"));
}

TEST(Launch, OverNothingDoesNothing) {
  Buffer<float> y(device, {2}, {1, 2}), x(device, {2}, {1, 1});
  axpy_kernel().launch({0}, y, x, 1.0f);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 2));
}

TEST(Launch, TakesViewsOfAnyStride) {
  Buffer<float> y(device, {3}), x(device, {6}, {1, 2, 3, 4, 5, 6});
  axpy_kernel().launch({3}, y, x.slice(0, 5, -1, -2), 1.0f);
  EXPECT_THAT(y.to_vector(), ElementsAre(6, 4, 2));
  axpy_kernel().launch({3}, y, x.slice(0, 0, 1).broadcast({3}), 10.0f);
  EXPECT_THAT(y.to_vector(), ElementsAre(16, 14, 12));
}

TEST(Launch, OfManyBlocksCoversEachIndexOnce) {
  Kernel count{"count", [](Array<std::int32_t, 3> hits) {
                 auto [k, j, i] = thread_index<3>();
                 hits(k, j, i) += 1;
               }};
  Buffer<std::int32_t> hits(device, {37, 41, 301});
  count.launch({37, 41, 301}, hits);
  std::vector<std::int32_t> values = hits.to_vector();
  EXPECT_EQ(std::count(values.begin(), values.end(), 1), 37 * 41 * 301);
}

TEST(Launch, AddsAtomicallyFromAllThreads) {
  Kernel sum{"sum", [](Array<std::int64_t, 1> total, Array<const std::int32_t, 1> x) {
               Int i = thread_index();
               atomic_add(total(0), x(i));
             }};
  Buffer<std::int64_t> total(device, {1});
  std::vector<std::int32_t> values(1'000'000);
  std::iota(values.begin(), values.end(), 0);
  Buffer<std::int32_t> x(device, {1'000'000}, values);
  sum.launch({1'000'000}, total, x);
  EXPECT_EQ(total.at(0), 499'999'500'000);
}

TEST(Launch, OfEveryScalarType) {
  Kernel kernel{
      "scalars",
      {"out", "b", "i8", "u8", "i16", "u16", "i64", "u64", "d"},
      [](Array<double, 1> out, Bool b, Int8 i8, UInt8 u8, Int16 i16, UInt16 u16, Int64 i64, UInt64 u64, Double d) {
        out(0) = select(b, 1.0, Double(2));
        out(1) = i8, out(2) = u8, out(3) = i16, out(4) = u16, out(5) = i64, out(6) = u64, out(7) = d;
      }};
  Buffer<double> out(device, {8});
  Launch launch = kernel.record({1}, out, true, -8, 200, -300, 60000, std::int64_t{-5'000'000'000},
                                std::uint64_t{10'000'000'000}, 0.25);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(1, -8, 200, -300, 60000, -5e9, 1e10, 0.25));
  launch.set("b", false);
  launch.set("i8", 7);
  launch.set("d", 3);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(2, 7, 200, -300, 60000, -5e9, 1e10, 3));
}

TEST(RecordedLaunch, DoesWhatAnOrdinaryOneDoes) {
  Buffer<float> y(device, {2}), x(device, {2}, {1, 2});
  Launch launch = axpy_kernel().record({2}, y, x, 2.0f);
  EXPECT_THAT(y.to_vector(), ElementsAre(0, 0)) << "recording launches nothing";
  launch.launch();
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(4, 8));
}

TEST(RecordedLaunch, IsEditedByNameOrIndex) {
  Buffer<float> y(device, {2}), x(device, {2}, {1, 2}), z(device, {2}, {5, 6});
  Launch launch = axpy_kernel().record({2}, y, x, 1.0f);
  launch.set("a", 3);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(3, 6));
  launch.set(1, z);
  launch.set(2, 0.5);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(5.5, 9));
  launch.set_dim({1});
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(8, 9));
  launch.set_dim(0, 2);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(10.5, 12));
}

TEST(RecordedLaunch, TakesABufferOfAnotherLayout) {
  Buffer<float> y(device, {2}), x(device, {2}, {1, 2}), wide(device, {4}, {1, 10, 2, 20});
  Launch launch = axpy_kernel().record({2}, y, x, 1.0f);
  launch.set("x", wide.slice(0, 1, 4, 2));
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(10, 20));
}

TEST(RecordedLaunch, KeepsItsBuffersAlive) {
  Buffer<float> y(device, {2});
  Launch launch = axpy_kernel().record({2}, y, Buffer<float>(device, {2}, {7, 8}), 1.0f);
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(7, 8));
}

TEST(RecordedLaunch, OfTheAdjointAddsToGradients) {
  Buffer<float> y(device, {2}, Gradient::tracked), x(device, {2}, {1, 2}, Gradient::tracked);
  Launch adjoint = axpy_kernel().record({2}, {.direction = Direction::adjoint}, y, x, 3.0f);
  EXPECT_EQ(adjoint.direction(), Direction::adjoint);
  y.gradient().copy_from({1, 10});
  adjoint.launch();
  adjoint.launch();
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(6, 60));
  EXPECT_THAT(y.gradient().to_vector(), ElementsAre(1, 10)) << "y += a x passes y's gradient on";
}

TEST(RecordedLaunch, CopiesAreIndependent) {
  Buffer<float> y(device, {1}), x(device, {1}, {1});
  Launch one = axpy_kernel().record({1}, y, x, 1.0f);
  Launch other = one;
  other.set("a", 100);
  one.launch();
  EXPECT_EQ(y.at(0), 1);
}

TEST(RecordedLaunch, RunsOnAStreamOfItsDevice) {
  Buffer<float> y(device, {1}), x(device, {1}, {1});
  Stream stream(device);
  Launch launch = axpy_kernel().record({1}, {.stream = stream}, y, x, 1.0f);
  launch.launch(stream);
  stream.synchronize();
  EXPECT_EQ(y.at(0), 1);
}

TEST(Launch, MarksWhatItWroteAsChanged) {
  Buffer<float> y(device, {1}), x(device, {1});
  auto before_y = y.version(), before_x = x.version();
  axpy_kernel().launch({1}, y, x, 1.0f);
  EXPECT_GT(y.version(), before_y);
  EXPECT_EQ(x.version(), before_x);
}

TEST(Launch, IsReadable) {
  Buffer<float> y(device, {2}), x(device, {2});
  std::ostringstream text;
  text << axpy_kernel().record({2}, y, x, 1.0f);
  EXPECT_EQ(text.str(), "Launch of 'axpy' (forward) over (2) on " + device.to_string());
}

// Bad input: each message says what is wrong, and nothing is changed.

template <class Action>
std::string error(Action action) {
  return message_of<UserError>(action);
}

TEST(LaunchRefuses, ALaunchOfAnotherRank) {
  Buffer<float> y(device, {2}), x(device, {2});
  std::string message = error([&] { axpy_kernel().launch({2, 1}, y, x, 1.0f); });
  EXPECT_THAT(message, HasSubstr("launch_test.cpp:"));
  EXPECT_THAT(message, HasSubstr("kernel 'axpy': a launch of rank 1 is expected"));
  EXPECT_THAT(message, HasSubstr("(2, 1) is given"));
}

TEST(LaunchRefuses, ABufferOfAnotherRank) {
  Buffer<float> y(device, {2}), x(device, {2, 2});
  EXPECT_THAT(error([&] { axpy_kernel().launch({2}, y, x, 1.0f); }),
              HasSubstr("argument 1 ('x') expects a buffer of f32 with rank 1; Buffer<f32>(2, 2) on " +
                        device.to_string() + " is given"));
}

TEST(LaunchRefuses, AnEmptyBuffer) {
  Buffer<float> y(device, {2}), x;
  EXPECT_THAT(error([&] { axpy_kernel().launch({2}, y, x, 1.0f); }), HasSubstr("argument 1 ('x')"));
  EXPECT_THAT(error([&] { axpy_kernel().launch({2}, y, x, 1.0f); }), HasSubstr("an empty buffer is given"));
}

TEST(LaunchRefuses, ToWriteToABroadcastView) {
  Buffer<float> y(device, {1}), x(device, {4});
  EXPECT_THAT(error([&] { axpy_kernel().launch({4}, y.broadcast({4}), x, 1.0f); }), HasSubstr("clone() it first"));
}

TEST(LaunchRefuses, AnExtentBeyondItsIndexType) {
  Kernel nothing{"nothing", [](Array<float, 1> y) { y(thread_index()) = 0; }};
  Buffer<float> y(device, {1});
  EXPECT_THAT(error([&] { nothing.launch({std::int64_t{1} << 31}, y); }),
              HasSubstr("extent 2147483648 of launch dimension 0 is beyond 2147418112"));
}

TEST(LaunchRefuses, AScalarThatDoesNotFit) {
  Kernel kernel{"scalars", {"y", "a", "n"}, [](Array<float, 1> y, Float a, Int n) { y(thread_index()) = a + n; }};
  Buffer<float> y(device, {1});
  const std::string line = "launch_test.cpp:" + std::to_string(__LINE__ + 1);
  const std::string large = error([&] { kernel.launch({1}, y, 1e300, 1); });
  EXPECT_THAT(large, HasSubstr(line + ": a scalar argument of type float is expected; 1e+300 is given, which does not "
                                      "fit: the largest number is 3.4028"));
  EXPECT_THAT(error([&] { kernel.launch({1}, y, 1.0f, std::int64_t{1} << 32); }),
              HasSubstr("of type int32_t is expected; 4294967296 is given, which does not fit"));
  EXPECT_THAT(error([&] { kernel.launch({1}, y, 1.0f, 3000000000u); }), HasSubstr("3000000000 is given"));
  Launch launch = kernel.record({1}, y, 1e-300, 1);  // rounds to zero
  EXPECT_THAT(error([&] { launch.set("a", -1e39); }), HasSubstr("-1e+39 is given, which does not fit"));
  launch.launch();
  EXPECT_EQ(y.to_vector()[0], 1);
}

TEST(LaunchRefuses, ANegativeExtent) {
  Buffer<float> y(device, {1}), x(device, {1});
  EXPECT_THAT(error([&] { axpy_kernel().launch({-1}, y, x, 1.0f); }), HasSubstr("-1"));
}

TEST(SetRefuses, ANameItDoesNotKnow) {
  Buffer<float> y(device, {1}), x(device, {1});
  Launch launch = axpy_kernel().record({1}, y, x, 1.0f);
  EXPECT_THAT(error([&] { launch.set("alpha", 2); }),
              HasSubstr("kernel 'axpy' has no parameter named 'alpha'; its parameters are y, x, a"));
  EXPECT_THAT(error([&] { launch.set(3, 2); }), HasSubstr("there is none of index 3"));
}

TEST(SetRefuses, AValueOfAnotherType) {
  Buffer<float> y(device, {1}), x(device, {1});
  Buffer<double> d(device, {1});
  Kernel repeat{"repeat", {"y", "n"}, [](Array<float, 1> out, UInt8 n) { out(0) = Float(n); }};
  Launch axpy = axpy_kernel().record({1}, y, x, 1.0f);
  Launch count = repeat.record({1}, y, 3);
  EXPECT_THAT(error([&] { axpy.set("x", d); }), HasSubstr("expects a buffer of f32 with rank 1; Buffer<f64>(1)"));
  EXPECT_THAT(error([&] { axpy.set("x", 1.0); }), HasSubstr("expects a buffer of f32"));
  EXPECT_THAT(error([&] { axpy.set("a", x); }), HasSubstr("expects a scalar of type f32"));
  EXPECT_THAT(error([&] { axpy.set("a", true); }), HasSubstr("a bool is given"));
  EXPECT_THAT(error([&] { count.set("n", 0.5); }), HasSubstr("expects a scalar of type u8; the floating number 0.5"));
  EXPECT_THAT(error([&] { count.set("n", 256); }), HasSubstr("256 is given, which does not fit"));
  EXPECT_THAT(error([&] { count.set("n", -1); }), HasSubstr("-1 is given, which does not fit"));
  count.launch();
  EXPECT_EQ(y.at(0), 3) << "a refused edit changes nothing";
}

TEST(SetDimRefuses, AnotherRankOrADimensionThatIsNotThere) {
  Buffer<float> y(device, {1}), x(device, {1});
  Launch launch = axpy_kernel().record({1}, y, x, 1.0f);
  EXPECT_THAT(error([&] { launch.set_dim({1, 1}); }), HasSubstr("a launch of rank 1"));
  EXPECT_THAT(error([&] { launch.set_dim(1, 4); }), HasSubstr("there is no dimension 1"));
}

TEST(AdjointLaunchRefuses, BuffersThatTrackNothing) {
  Buffer<float> y(device, {1}), x(device, {1}), tracked(device, {1}, Gradient::tracked);
  LaunchOptions adjoint{.direction = Direction::adjoint};
  EXPECT_THAT(error([&] { axpy_kernel().launch({1}, adjoint, y, x, 1.0f); }), HasSubstr("Gradient::tracked"));
  EXPECT_THAT(error([&] { axpy_kernel().launch({1}, adjoint, y, tracked, 1.0f); }),
              HasSubstr("no array that the kernel writes tracks its gradient"));
}

TEST(AdjointLaunchRefuses, ValuesThatTheForwardLaunchOverwroteThroughAnotherArgument) {
  Kernel square{"square", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<float> x(device, {2}, Gradient::tracked);
  std::string message = error([&] { square.launch({2}, {.direction = Direction::adjoint}, x, x); });
  EXPECT_THAT(message, HasSubstr("needs the values of argument 1 ('x')"));
  EXPECT_THAT(message, HasSubstr("argument 0 ('y'), which the forward launch overwrites"));
}

// Sums in private copies of each thread (jit/private_sums.h), by every kind of index, compared with exact results.
TEST(Launch, SumsIntoElementsThatManyInstancesShare) {
  Kernel histogram{"histogram", [](Array<std::int32_t, 1> bins, Array<std::int32_t, 1> shifted, Array<double, 1> total,
                                   Array<const std::int32_t, 1> x) {
                     Int i = thread_index();
                     atomic_add(bins(x(i)), 1);
                     atomic_add(shifted(i), x(i));
                     atomic_add(shifted(i + 1), 1);
                     atomic_add(total(0), Double(x(i)));
                   }};
  const std::int64_t n = 300'000;
  std::vector<std::int32_t> values(n);
  for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<std::int32_t>(i * i % 37);
  Buffer<std::int32_t> bins(device, {37}), shifted(device, {n + 1}), x(device, {n}, values);
  Buffer<double> total(device, {1}, {0.5});
  Launch launch = histogram.record({n}, bins, shifted, total, x);
  EXPECT_EQ(launch.variant().summed.size(), device == Device::cpu() ? 3u : 0u);
  launch.launch();
  launch.launch();
  std::vector<std::int32_t> expected(37);
  double sum = 0.5;
  for (std::int32_t value : values) expected[value] += 2, sum += 2.0 * value;
  EXPECT_EQ(bins.to_vector(), expected);
  EXPECT_EQ(total.at(0), sum);
  for (std::int64_t i : {std::int64_t{1}, n / 2, n - 1}) EXPECT_EQ(shifted.at(i), 2 * values[i] + 2);
}

// All instances add to element j of a loop: loops of every length around a vector's, up and down, with gaps.
TEST(Launch, SumsIntoTheElementsOfALoop) {
  Kernel owe{"owe", [](Array<std::int32_t, 1> plain, Array<std::int32_t, 2> rows, Array<const std::int32_t, 1> x, Int n,
                       Bool inside) {
               Int i = thread_index();
               for (Int j : range(n)) {
                 atomic_add(plain(j + 2), x(i) + j);
                 atomic_add(rows(j, 1), x(i));
                 if_(inside, [&] { atomic_add(plain(1), x(i)); });
               }
               for (Int j : range(n, 0, -1)) atomic_add(plain(j), x(i));
               for (Int j : range(1, n, 3)) atomic_add(rows(n - j, 0), x(i) * j);
             }};
  const std::int64_t count = 1000;
  std::vector<std::int32_t> values(count);
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] = static_cast<std::int32_t>(i % 29);
  Buffer<std::int32_t> x(device, {count}, values);
  for (int n : {0, 1, 2, 15, 16, 17, 31, 32, 33, 100}) {
    Buffer<std::int32_t> plain(device, {n + 3}), rows(device, {n + 1, 2});
    owe.launch({count}, plain, rows, x, n, true);
    std::vector<std::int32_t> expected(n + 3), expected_rows(2 * (n + 1));
    for (int j = 0; j < n; ++j) {
      expected[j + 2] += sum + static_cast<int>(count) * j;
      expected_rows[2 * j + 1] += sum;
      expected[1] += sum;
    }
    for (int j = n; j > 0; --j) expected[j] += sum;
    for (int j = 1; j < n; j += 3) expected_rows[2 * (n - j)] += sum * j;
    EXPECT_EQ(plain.to_vector(), expected) << n;
    EXPECT_EQ(rows.to_vector(), expected_rows) << n;
  }
}

TEST(Launch, SumsAtomicallyWhereTheArrayIsAnArgumentTwice) {
  Kernel both{"both", [](Array<std::int32_t, 1> a, Array<std::int32_t, 1> b) {
                atomic_add(a(0), 1);
                atomic_add(b(0), 2);
              }};
  Buffer<std::int32_t> sum(device, {1});
  Launch launch = both.record({100'000}, sum, sum);
  EXPECT_TRUE(launch.variant().summed.empty());
  launch.launch();
  EXPECT_EQ(sum.at(0), 300'000);
}

TEST(AdjointLaunch, OfAliasedGradientsAddsBoth) {
  Kernel add{"add", [](Array<float, 1> z, Array<const float, 1> x, Array<const float, 1> y) {
               Int i = thread_index();
               z(i) = 2 * x(i) + 3 * y(i);
             }};
  Buffer<float> z(device, {100}, Gradient::tracked), x(device, {100}, Gradient::tracked);
  z.gradient().fill(1);
  add.launch({100}, {.direction = Direction::adjoint}, z, x, x);
  EXPECT_EQ(x.gradient().to_vector(), std::vector<float>(100, 5));
}

TEST(AdjointLaunch, OfABroadcastInputSumsOverIt) {
  Buffer<float> y(device, {100}, Gradient::tracked), x(device, {1}, {1}, Gradient::tracked);
  y.gradient().fill(1);
  axpy_kernel().launch({100}, {.direction = Direction::adjoint}, y, x.broadcast({100}), 2.0f);
  EXPECT_EQ(x.gradient().at(0), 200);
}

}  // namespace
}  // namespace samite::test
