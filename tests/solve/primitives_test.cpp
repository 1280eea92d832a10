// Scans, reductions, sorts and groups of whole vectors, against loops of the host.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace samite::test {
namespace {

using solvers::argsort;
using solvers::Combine;
using solvers::compact;
using solvers::histogram;
using solvers::reduce;
using solvers::runs_of;
using solvers::scan;
using solvers::sort;
using solvers::sum_by_key;
using solvers::unique;
using testing::ElementsAre;
using testing::HasSubstr;

// Around the length of a chunk, of a chunk of chunks, and of three levels.
constexpr std::size_t every_length[] = {0, 1, 2, 63, 64, 65, 4096, 4097, 262144 + 65};

template <class T>
std::vector<T> numbers_of(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      numbers.push_back(static_cast<T>(static_cast<int>(random() % 33) - 16));  // sums are exact
    else
      numbers.push_back(static_cast<T>(random()));
  }
  return numbers;
}

template <class T>
Buffer<T> vector_of(const std::vector<T> &values) {
  return Buffer<T>(device(), {values.size()}, values);
}

template <class T>
std::vector<T> scanned(const std::vector<T> &x, const solvers::ScanOptions &options,
                       const std::vector<std::int32_t> &keys = {}) {
  std::vector<T> y(x.size());
  T total = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const std::size_t i = options.backwards ? x.size() - 1 - n : n;
    const std::size_t before = options.backwards ? i + 1 : i - 1;
    if (n > 0 && !keys.empty() && keys[i] != keys[before]) total = 0;
    if (options.exclusive) y[i] = total;
    if constexpr (std::is_integral_v<T>)  // wraps round
      total = static_cast<T>(static_cast<std::make_unsigned_t<T>>(total) + static_cast<std::make_unsigned_t<T>>(x[i]));
    else
      total += x[i];
    if (!options.exclusive) y[i] = total;
  }
  return y;
}

template <class T>
void expect_scans() {
  for (const std::size_t count : every_length)
    for (const bool exclusive : {false, true})
      for (const bool backwards : {false, true})
        for (const bool segmented : {false, true}) {
          SCOPED_TRACE(testing::Message() << count << exclusive << backwards << segmented);
          std::vector<std::int32_t> keys;
          if (segmented)
            for (std::size_t i = 0; i < count; ++i) keys.push_back(static_cast<std::int32_t>(i * i / 5000 % 3));
          solvers::ScanOptions options{.exclusive = exclusive, .backwards = backwards};
          if (segmented) options.keys = vector_of(keys);
          const std::vector<T> x = numbers_of<T>(count, 1);
          const Buffer<T> y(device(), {count});
          scan(vector_of(x), y, options);
          ASSERT_EQ(y.to_vector(), scanned(x, options, keys));
        }
}

TEST(Scan, OfIntegers) { expect_scans<std::int64_t>(); }
TEST(Scan, OfFloats) { expect_scans<float>(); }

TEST(Scan, OtherCombinations) {
  const std::vector<double> x{2, -3, std::numeric_limits<double>::quiet_NaN(), 5, -4};
  const auto of = [&](Combine combine, bool exclusive) {
    const Buffer<double> y(device(), {5});
    scan(vector_of(x), y, {.combine = combine, .exclusive = exclusive});
    return y.to_vector();
  };
  EXPECT_THAT(of(Combine::max, false), ElementsAre(2, 2, 2, 5, 5));
  EXPECT_THAT(of(Combine::min, true), ElementsAre(std::numeric_limits<double>::infinity(), 2, -3, -3, -3));
  const Buffer<std::uint32_t> products(device(), {4});
  scan(vector_of<std::uint32_t>({3, 5, 0x80000001u, 2}), products, {.combine = Combine::product});
  EXPECT_THAT(products.to_vector(), ElementsAre(3, 15, 0x8000000fu, 30));
}

TEST(Scan, Gradients) {
  Buffer<double> x(device(), {70}, systems::random_numbers(70, 2), Gradient::tracked);
  Buffer<double> y(device(), {70}, Gradient::tracked);
  std::vector<std::int32_t> keys;
  for (std::int32_t i = 0; i < 70; ++i) keys.push_back(i / 9);
  for (const bool exclusive : {false, true})
    for (const bool backwards : {false, true})
      for (const bool segmented : {false, true}) {
        solvers::ScanOptions options{.exclusive = exclusive, .backwards = backwards};
        if (segmented) options.keys = vector_of(keys);
        const GradientReport report = gradcheck([&] { scan(x, y, options); }, {x}, {y});
        EXPECT_TRUE(report.passed) << report;
      }
  Tape tape;
  tape.record([&] { scan(x, y, {.combine = Combine::max}); });
  const auto backward = [&] { tape.backward({{y, Buffer<double>(device(), {70})}}); };
  EXPECT_THAT(message_of<UserError>(backward), HasSubstr("scan has a gradient where it adds up"));
}

TEST(Reduce, EveryLength) {
  for (const std::size_t count : every_length) {
    SCOPED_TRACE(count);
    const auto x = numbers_of<float>(count, 3);
    const auto integers = numbers_of<std::int64_t>(count, 4);
    const Buffer<float> sum(device(), {1}), least(device(), {1});
    const Buffer<std::int64_t> total(device(), {1});
    reduce(vector_of(x), sum);
    reduce(vector_of(x), least, Combine::min);
    reduce(vector_of(integers), total);
    EXPECT_EQ(sum.at(0), std::accumulate(x.begin(), x.end(), 0.0));
    EXPECT_EQ(least.at(0), count == 0 ? std::numeric_limits<float>::infinity() : *std::ranges::min_element(x));
    std::uint64_t expected = 0;
    for (const std::int64_t number : integers) expected += static_cast<std::uint64_t>(number);
    EXPECT_EQ(total.at(0), static_cast<std::int64_t>(expected));
  }
}

TEST(Reduce, Gradient) {
  Buffer<double> x(device(), {300}, systems::random_numbers(300, 5), Gradient::tracked),
      sum(device(), {1}, Gradient::tracked);
  const GradientReport report = gradcheck([&] { reduce(x, sum); }, {x}, {sum});
  EXPECT_TRUE(report.passed) << report;
}

// NaN is last; -0 and 0 are equal.
template <class T>
bool comes_before(T a, T b, bool descending) {
  if (a != a || b != b) return a == a;
  return descending ? b < a : a < b;
}

template <class T>
void expect_sorts(std::vector<T> special) {
  for (const std::size_t count : every_length)
    for (const bool descending : {false, true}) {
      SCOPED_TRACE(testing::Message() << count << descending);
      std::vector<T> keys = numbers_of<T>(count, 6);
      for (std::size_t i = 0; i < std::min(count, special.size()); ++i) keys[i * 7 % count] = special[i];
      std::vector<std::int32_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::stable_sort(expected, [&](std::int32_t a, std::int32_t b) {
        return comes_before(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)], descending);
      });
      const Buffer<std::int32_t> order(device(), {count});
      argsort(vector_of(keys), order, {.descending = descending});
      ASSERT_EQ(order.to_vector(), expected);
    }
}

TEST(Sort, Floats) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  expect_sorts<float>({nan, -0.0f, 0.0f, -infinity, -nan, infinity, 0.0f, -0.0f, 1e-40f, -1e-40f});
}
TEST(Sort, Doubles) { expect_sorts<double>({-std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0, 1e300, -1e300}); }
TEST(Sort, SignedIntegers) {
  expect_sorts<std::int32_t>(
      {0, -1, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()});
}
TEST(Sort, UnsignedIntegers) { expect_sorts<std::uint64_t>({0, ~std::uint64_t{0}, 1}); }

TEST(Sort, KeysOfFewBits) {
  const std::vector<std::int64_t> keys{5, 3, 31, 0, 3};
  const Buffer<std::int32_t> order(device(), {5});
  argsort(vector_of(keys), order, {.bits = 5});
  EXPECT_THAT(order.to_vector(), ElementsAre(3, 1, 4, 0, 2));
}

// Integer keys are made from their sorted bits, and values move with them.
template <class K, class V>
void expect_pairs(bool descending, std::size_t count) {
  SCOPED_TRACE(testing::Message() << count << descending);
  const std::vector<K> keys = numbers_of<K>(count, 8);
  const std::vector<V> values = numbers_of<V>(count, 9);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
  std::vector<K> expected_keys;
  std::vector<V> expected_values;
  for (const std::size_t i : order) expected_keys.push_back(keys[i]), expected_values.push_back(values[i]);
  const Buffer<K> given = vector_of(keys), sorted(device(), {count});
  const Buffer<V> given_values = vector_of(values), moved(device(), {count});
  sort(given, given_values, sorted, moved, {.descending = descending});
  EXPECT_EQ(sorted.to_vector(), expected_keys);
  EXPECT_EQ(moved.to_vector(), expected_values);
  EXPECT_EQ(given.to_vector(), keys);
  EXPECT_EQ(given_values.to_vector(), values);
}

TEST(Sort, PairsOfEveryWidth) {
  for (const bool descending : {false, true})
    for (const std::size_t count : {0, 1, 4095, 4096, 8193}) {
      expect_pairs<std::int32_t, float>(descending, count), expect_pairs<std::uint32_t, double>(descending, count);
      expect_pairs<std::int64_t, std::int32_t>(descending, count);
      expect_pairs<std::uint64_t, std::uint64_t>(descending, count);
    }
}

TEST(Sort, RefusesPairsThatShareElements) {
  const Buffer<std::int32_t> keys(device(), {5}, {3, 1, 2, 1, 5}), sorted(device(), {5}), moved(device(), {5});
  const auto refused = [&](const auto &k, const auto &v, const auto &to, const auto &moved_to) {
    return message_of<UserError>([&] { sort(k, v, to, moved_to); });
  };
  EXPECT_THAT(refused(keys, keys, keys, moved), HasSubstr("sorted keys is expected to be an array of its own"));
  EXPECT_THAT(refused(keys, moved, sorted, keys), HasSubstr("sorted values is expected to be an array of its own"));
  EXPECT_THAT(refused(keys, keys, sorted, sorted), HasSubstr("share elements"));
}

// On a GPU with room for them.
TEST(Vectors, OfMoreThan32Bits) {
  if (device().kind() == DeviceKind::cpu) GTEST_SKIP() << "takes 80 GB";
  const std::int64_t count = (std::int64_t{1} << 31) + 4099, every = 1000;
  const Buffer<std::int32_t> keys(device(), {count});
  const Kernel fill{"fill", [](Array<std::int32_t, 2> keys, Int64 every) {
                      auto [i, j] = thread_index<2>();
                      keys(i, j) = cast<Int>((Int64(i) * 4099 + j) % every);
                    }};
  const std::int64_t columns = 4099, rows = count / columns, left = count - rows * columns;
  fill.launch({rows, columns}, keys.slice(0, 0, rows * columns).reshape({rows, columns}), every);
  if (left > 0)
    keys.slice(0, rows * columns, count)
        .copy_from(keys.slice(0, rows * columns % every, rows * columns % every + left));
  const Buffer<std::int64_t> order(device(), {count});
  argsort(keys, order, {.bits = 10});
  EXPECT_EQ(order.at(0), 0);
  EXPECT_EQ(order.at(1), every);
  EXPECT_EQ(order.at(count - 1), (count - every) / every * every + every - 1);
  const Buffer<std::int32_t> sums(device(), {count}), total(device(), {1});
  scan(keys, sums);
  reduce(keys, total);
  EXPECT_EQ(sums.at(count - 1), total.at(0));
  const std::int64_t whole = count / every, rest = count % every;
  const auto expected = static_cast<std::uint32_t>(whole * (every * (every - 1) / 2) + rest * (rest - 1) / 2);
  EXPECT_EQ(static_cast<std::uint32_t>(total.at(0)), expected);
}

TEST(Sort, PairsAndTheirGradients) {
  Buffer<double> keys(device(), {5}, {3, 1, 2, 1, 5}, Gradient::tracked),
      values(device(), {5}, {1, 2, 3, 4, 5}, Gradient::tracked);
  Buffer<double> sorted(device(), {5}, Gradient::tracked), moved(device(), {5}, Gradient::tracked);
  Tape tape;
  tape.record([&] { sort(keys, values, sorted, moved); });
  EXPECT_THAT(sorted.to_vector(), ElementsAre(1, 1, 2, 3, 5));
  EXPECT_THAT(moved.to_vector(), ElementsAre(2, 4, 3, 1, 5));
  tape.backward({{sorted, Buffer<double>(device(), {5}, {1, 2, 3, 4, 5})},
                 {moved, Buffer<double>(device(), {5}, {10, 20, 30, 40, 50})}});
  EXPECT_THAT(keys.gradient().to_vector(), ElementsAre(4, 1, 3, 2, 5));
  EXPECT_THAT(values.gradient().to_vector(), ElementsAre(40, 10, 30, 20, 50));
}

TEST(Groups, RunsAndSums) {
  const Buffer<std::int32_t> keys = vector_of<std::int32_t>({4, 4, 1, 7, 7, 7, 4});
  const solvers::Runs runs = runs_of(keys);
  EXPECT_EQ(runs.count, 4);
  EXPECT_THAT(runs.starts.to_vector(), ElementsAre(0, 2, 3, 6, 7));
  EXPECT_THAT(Buffer<std::int32_t>(unique(keys)).to_vector(), ElementsAre(4, 1, 7, 4));
  Buffer<double> values(device(), {7}, {1, 2, 3, 4, 5, 6, 7}, Gradient::tracked), sums;
  Tape tape;
  tape.record([&] { sums = Buffer<double>(sum_by_key(keys, values).sums); });
  EXPECT_THAT(sums.to_vector(), ElementsAre(3, 3, 15, 7));
  tape.backward({{sums, Buffer<double>(device(), {4}, {1, 2, 3, 4})}});
  EXPECT_THAT(values.gradient().to_vector(), ElementsAre(1, 1, 2, 3, 3, 3, 4));
  const Buffer<float> empty(device(), {0});
  EXPECT_EQ(runs_of(empty).count, 0);
  EXPECT_EQ(unique(empty).count(), 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(runs_of(vector_of<float>({nan, nan, 0.0f, -0.0f})).count, 3);
}

TEST(Groups, CompactAndHistogram) {
  Buffer<float> x(device(), {5}, {1, 2, 3, 4, 5}, Gradient::tracked), kept;
  bool keep[] = {true, false, false, true, true};
  const Buffer<bool> mask(device(), {5}, std::span<const bool>(keep));
  Tape tape;
  tape.record([&] { kept = Buffer<float>(compact(x, mask)); });
  EXPECT_THAT(kept.to_vector(), ElementsAre(1, 4, 5));
  tape.backward({{kept, Buffer<float>(device(), {3}, {1, 2, 3})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(1, 0, 0, 2, 3));
  EXPECT_EQ(compact(x, Buffer<bool>(device(), {5})).count(), 0);

  const Buffer<std::int64_t> counts(device(), {3});
  histogram(vector_of<std::int32_t>({2, 0, 2, 2}), counts);
  EXPECT_THAT(counts.to_vector(), ElementsAre(1, 0, 3));
  EXPECT_THAT(message_of<UserError>([&] { histogram(vector_of<std::int32_t>({2, 3, 0}), counts); }),
              HasSubstr("bin 3 is outside"));
}

TEST(Primitives, RefuseWhatDoesNotFit) {
  const Buffer<float> x(device(), {4}), y(device(), {3});
  const Buffer<double> other(device(), {4});
  EXPECT_THAT(message_of<UserError>([&] { scan(x, y); }), HasSubstr("the result is a vector of 4"));
  EXPECT_THAT(message_of<UserError>([&] { scan(x, other); }), HasSubstr("have one type"));
  EXPECT_THAT(message_of<UserError>([&] { scan(x, x); }), HasSubstr("apart from x"));
  EXPECT_THAT(message_of<UserError>([&] { scan(Buffer<half>(device(), {4}), Buffer<half>(device(), {4})); }),
              HasSubstr("f16 is given"));
  EXPECT_THAT(message_of<UserError>([&] { reduce(x, y); }), HasSubstr("a vector of 1"));
  EXPECT_THAT(message_of<UserError>([&] { sort(x, y); }), HasSubstr("gather: y is a vector of 4"));
  EXPECT_THAT(message_of<UserError>([&] { argsort(x, x); }), HasSubstr("the order"));
  EXPECT_THAT(message_of<UserError>([&] { argsort(x, Buffer<std::int32_t>(device(), {4}), {.bits = 3}); }),
              HasSubstr("bits are for integers"));
  EXPECT_THAT(message_of<UserError>([&] { sort(Buffer<float>(), y); }), HasSubstr("empty buffer"));
}

}  // namespace
}  // namespace samite::test
