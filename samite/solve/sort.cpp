#include "samite/solve/sort.h"

#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/jit/tile_kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/lang/traced_once.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scan.h"

#include <array>

namespace samite::solvers {
namespace {

using detail::with_number_type;

constexpr int digit_bits = 8, digits = 1 << digit_bits;

SAMITE_TRACED_ONCE_BEGIN

// Unsigned integers that sort as the keys do; all NaNs are the largest.
template <class K>
using Bits = std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>;

template <class K>
Traced<Bits<K>> sortable(const Traced<K> &key, const Bool &descending) {
  using U = Bits<K>;
  constexpr U top = U(1) << (8 * sizeof(K) - 1), all = ~U(0);
  if constexpr (FloatingScalar<K>) {
    const Traced<U> bits = bit_cast<Traced<U>>(select(key == K(0), Traced<K>(K(0)), key));
    const Traced<U> ordered = bits ^ select((bits & top) != U(0), Traced<U>(all), Traced<U>(top));
    return select(isnan(key), Traced<U>(all), select(descending, ~ordered, ordered));
  } else {
    Traced<U> bits = cast<Traced<U>>(key);
    if constexpr (std::is_signed_v<K>) bits = bits ^ top;
    return select(descending, ~bits, bits);
  }
}

template <class K>
const auto &sortable_keys() {
  static const Kernel kernel{"sortable_keys",
                             {"bits", "keys", "descending", "count"},
                             [](Array<Bits<K>, 1> bits, Array<const K, 1> keys, Bool descending, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { bits(i) = sortable<K>(keys(i), descending); });
                             }};
  return kernel;
}

// The integers that have these bits.
template <class K>
const auto &keys_of_bits() {
  static const Kernel kernel{"keys_of_bits",
                             {"keys", "bits", "descending", "count"},
                             [](Array<K, 1> keys, Array<const Bits<K>, 1> bits, Bool descending, const Int64 &count) {
                               using U = Bits<K>;
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] {
                                 Traced<U> key = select(descending, ~bits(i), Traced<U>(bits(i)));
                                 if constexpr (std::is_signed_v<K>) key = key ^ (U(1) << (8 * sizeof(K) - 1));
                                 keys(i) = cast<Traced<K>>(key);
                               });
                             }};
  return kernel;
}

template <class I>
const auto &element_numbers() {
  static const Kernel kernel{"element_numbers", {"numbers", "count"}, [](Array<I, 1> numbers, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { numbers(i) = cast<Traced<I>>(i); });
                             }};
  return kernel;
}

// A block's part of the elements, with keys of type U and values of type P.
template <class U, class P>
constexpr int elements_of_tile = sizeof(U) + sizeof(P) > 8 ? 2048 : 4096;

template <class U>
Tile<std::int32_t> digits_of(const Tile<U> &bits, const Int &shift) {
  return tile::cast<std::int32_t>((bits >> cast<Traced<U>>(shift)) & U(digits - 1));
}

// The number of elements of each tile with each digit, digit by digit, so that a scan gives the places.
template <class U, class I, int extent>
const auto &counting() {
  static const TileKernel kernel{
      "count_digits",
      {"counts", "bits", "shift", "count"},
      [](Array<I, 2> counts, Array<const U, 1> bits, const Int &shift, const Int64 &count) {
        const Tile<std::int32_t> own = digits_of<U>(tile::load(bits, {block_index()}, {extent}), shift);
        const Tile<bool> inside = detail::inside_vector(block_index(), extent, count);
        const Tile<std::int32_t> sums = tile::histogram(select(inside, own, -1), digits);
        tile::store(counts, {0, block_index()}, tile::reshape(tile::cast<I>(sums), {digits, 1}));
      }};
  return kernel;
}

// Each tile is sorted by its digits, so that elements with the same digit, which go to neighbouring places, are stored
// together.
template <class U, class P, class I>
const auto &moving() {
  static const TileKernel kernel{
      "move_by_digits",
      {"bits_to", "values_to", "bits", "values", "counts", "places", "shift", "count"},
      [](Array<U, 1> bits_to, Array<P, 1> values_to, Array<const U, 1> bits, Array<const P, 1> values,
         Array<const I, 2> counts, Array<const I, 2> places, const Int &shift, const Int64 &count) {
        constexpr int extent = elements_of_tile<U, P>;
        const Int b = block_index();
        const Tile<bool> inside = detail::inside_vector(b, extent, count);
        // Elements beyond the end have the last digit, and come last.
        const Tile<U> keys = select(inside, tile::load(bits, {b}, {extent}), ~U(0));
        const Tile<P> moved = tile::load(values, {b}, {extent});
        const Tile<std::int32_t> own = digits_of<U>(keys, shift);
        const Tile<std::int32_t> order = tile::argsort(own, {.bits = digit_bits});
        const auto column = [&](const Array<const I, 2> &of) {
          return tile::reshape(tile::load(of, {0, b}, {digits, 1}), {digits});
        };
        const Tile<I> offsets = column(places) - tile::exclusive_scan(column(counts), 0);
        const Tile<std::int32_t> number = tile::coordinate({extent}, 0);
        const Tile<I> to = tile::take(offsets, tile::take(own, order)) + tile::cast<I>(number);
        tile::scatter(bits_to, {to}, tile::take(keys, order), inside);
        tile::scatter(values_to, {to}, tile::take(moved, order), inside);
      }};
  return kernel;
}

SAMITE_TRACED_ONCE_END

// Sorts both by the lowest bits of the first, the values into `result`; returns the bits in order.
template <class I, class U, class P>
Buffer<U> sort_by_bits(Buffer<U> bits, Buffer<P> values, const Buffer<P> &result, int most_bits) {
  const std::int64_t count = bits.count();
  const Device device = bits.device();
  constexpr int extent = elements_of_tile<U, P>;
  const std::int64_t tiles = (count + extent - 1) / extent;
  Buffer<U> other_bits(device, {count});
  std::array<Buffer<P>, 2> between;
  const Buffer<I> counts(device, {digits, tiles}), places(device, {digits, tiles});
  const int passes = (most_bits + digit_bits - 1) / digit_bits;
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * digit_bits;
    Buffer<P> &next = between[static_cast<std::size_t>(pass % 2)];
    if (pass + 1 < passes && !next.valid()) next = Buffer<P>(device, {count});
    const Buffer<P> to = pass + 1 < passes ? next : result;
    counting<U, I, extent>().launch({tiles}, counts, bits, shift, count);
    scan(counts.reshape({digits * tiles}), places.reshape({digits * tiles}), {.exclusive = true});
    moving<U, P, I>().launch({tiles}, other_bits, to, bits, values, counts, places, shift, count);
    std::swap(bits, other_bits), values = to;
  }
  return bits;
}

template <class K>
Buffer<Bits<K>> bits_of(const Buffer<K> &keys, const SortOptions &options) {
  const Buffer<Bits<K>> bits(keys.device(), {keys.count()});
  sortable_keys<K>().launch(detail::each_element(keys.count()), bits, keys, options.descending, keys.count());
  return bits;
}

template <class K>
int bits_to_sort(const SortOptions &options) {
  return options.bits > 0 ? options.bits : static_cast<int>(8 * sizeof(K));
}

template <class K, class I>
void order_of(const Buffer<K> &keys, const Buffer<I> &order, const SortOptions &options) {
  const std::int64_t count = keys.count();
  if (count == 0) return;
  const Buffer<I> numbers(keys.device(), {count});
  element_numbers<I>().launch(detail::each_element(count), numbers, count);
  sort_by_bits<I>(bits_of(keys, options), numbers, order, bits_to_sort<K>(options));
}

// The sorted bits determine the integers, and values that need no gradients can move with them.
template <class K, class V>
void sort_integers(const Buffer<K> &keys, const Buffer<V> &values, const Buffer<K> &sorted_keys,
                   const Buffer<V> &sorted_values, const SortOptions &options) {
  if (keys.count() == 0) return;
  const Buffer<Bits<K>> bits =
      sort_by_bits<std::int32_t>(bits_of(keys, options), values, sorted_values, bits_to_sort<K>(options));
  keys_of_bits<K>().launch(detail::each_element(keys.count()), sorted_keys, bits, options.descending, keys.count());
}

template <class T, class I>
const auto &gathering() {
  static const Kernel kernel{"gather",
                             {"y", "x", "places", "count"},
                             [](Array<T, 1> y, Array<const T, 1> x, Array<const I, 1> places, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { y(i) = x(places(i)); });
                             }};
  return kernel;
}

// Calls `function` with a zero of the type of places: i32 or i64.
template <class F>
void with_place_type(const AnyBuffer &places, const char *what, SourceLocation where, const F &function) {
  if (places.type() == ScalarType::Int32) return function(std::int32_t());
  if (places.type() == ScalarType::Int64) return function(std::int64_t());
  throw UserError(where, std::string(what) + " is a vector of i32 or i64, " + places.to_string() + " is given");
}

void check_sort(const char *name, const AnyBuffer &keys, const SortOptions &options, SourceLocation where) {
  if (!keys.valid()) throw UserError(where, std::string(name) + ": the keys are an empty buffer");
  detail::expect_vector(keys, -1, keys.device(), std::string(name) + ": the array of keys", where);
  with_number_type(keys.type(), "keys", where, [](auto) {});
  const int most = static_cast<int>(8 * size_of(keys.type()));
  if (options.bits < 0 || options.bits > most || (options.bits > 0 && (is_floating(keys.type()) || options.descending)))
    throw UserError(where, std::string(name) + ": 1 to " + std::to_string(most) +
                               " bits are for integers of at least 0 in ascending order; " +
                               std::to_string(options.bits) + " are asked for, of " + keys.to_string() +
                               (options.descending ? ", descending" : ""));
}

void check_result(const AnyBuffer &result, const AnyBuffer &of, const AnyBuffer &other, const char *what,
                  SourceLocation where) {
  detail::expect_vector(result, of.count(), of.device(), what, where);
  if (result.type() != of.type())
    throw UserError(where, std::string(what) + " is " + result.to_string() + ", of " + of.to_string());
  if (result.is_broadcast() || share_elements(result, of) || share_elements(result, other))
    throw UserError(where, std::string(what) + " is expected to be an array of its own, apart from keys and values");
}

void sort_with_values(const AnyBuffer &keys, const AnyBuffer &values, const AnyBuffer &sorted_keys,
                      const AnyBuffer &sorted_values, const SortOptions &options, SourceLocation where) {
  check_result(sorted_keys, keys, values, "sort: the array of sorted keys", where);
  check_result(sorted_values, values, keys, "sort: the array of sorted values", where);
  if (share_elements(sorted_keys, sorted_values))
    throw UserError(where, "sort: the sorted keys and the sorted values share elements");
  without_gradients([&] {
    with_number_type(keys.type(), "keys", where, [&]<class K>(K) {
      with_number_type(values.type(), "values", where, [&]<class V>(V) {
        if constexpr (std::integral<K>)
          sort_integers(Buffer<K>(keys), Buffer<V>(values), Buffer<K>(sorted_keys), Buffer<V>(sorted_values), options);
      });
    });
  });
}

AnyBuffer new_order(const AnyBuffer &keys) {
  return AnyBuffer(keys.device(), keys.count() > 2147483647 ? ScalarType::Int64 : ScalarType::Int32, {keys.count()});
}

}  // namespace

void argsort(const AnyBuffer &keys, const AnyBuffer &order, const SortOptions &options, SourceLocation where) {
  check_sort("argsort", keys, options, where);
  detail::expect_vector(order, keys.count(), keys.device(), "argsort: the order", where);
  if (share_elements(keys, order)) throw UserError(where, "argsort: the order shares elements with the keys");
  if (order.type() == ScalarType::Int32 && keys.count() > 2147483647)
    throw UserError(where, "argsort: an order of i64 is expected for " + std::to_string(keys.count()) + " keys");
  without_gradients([&] {
    with_number_type(keys.type(), "keys", where, [&]<class K>(K) {
      with_place_type(order, "an order", where,
                      [&]<class I>(I) { order_of<K, I>(Buffer<K>(keys), Buffer<I>(order), options); });
    });
  });
}

void gather(const AnyBuffer &x, const AnyBuffer &places, const AnyBuffer &y, SourceLocation where) {
  if (!places.valid()) throw UserError(where, "gather: the places are an empty buffer");
  detail::expect_vector(places, -1, places.device(), "gather: the array of places", where);
  detail::expect_vector(x, -1, places.device(), "gather: x", where);
  detail::expect_vector(y, places.count(), places.device(), "gather: y", where);
  if (x.type() != y.type())
    throw UserError(where, "gather: x and y have one type; x is " + x.to_string() + ", y is " + y.to_string());
  if (share_elements(x, y)) throw UserError(where, "gather: y is expected to be an array of its own, apart from x");
  if (places.count() == 0) return;
  with_number_type(x.type(), "elements to gather", where, [&]<class T>(T) {
    with_place_type(places, "the array of places", where, [&]<class I>(I) {
      gathering<T, I>().launch(LaunchExtents(detail::each_element(places.count()), where), Buffer<T>(y), Buffer<T>(x),
                               Buffer<I>(places), places.count());
    });
  });
}

void sort(const AnyBuffer &keys, const AnyBuffer &sorted, const SortOptions &options, SourceLocation where) {
  check_sort("sort", keys, options, where);
  const AnyBuffer order = new_order(keys);
  argsort(keys, order, options, where);
  gather(keys, order, sorted, where);
}

void sort(const AnyBuffer &keys, const AnyBuffer &values, const AnyBuffer &sorted_keys, const AnyBuffer &sorted_values,
          const SortOptions &options, SourceLocation where) {
  check_sort("sort", keys, options, where);
  detail::expect_vector(values, keys.count(), keys.device(), "sort: the array of values", where);
  if (is_integer(keys.type()) && keys.count() <= 2147483647 && !values.tracks_gradient())
    return sort_with_values(keys, values, sorted_keys, sorted_values, options, where);
  const AnyBuffer order = new_order(keys);
  argsort(keys, order, options, where);
  gather(keys, order, sorted_keys, where);
  gather(values, order, sorted_values, where);
}

}  // namespace samite::solvers
