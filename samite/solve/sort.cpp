#include "samite/solve/sort.h"

#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/lang/control.h"
#include "samite/lang/local_array.h"
#include "samite/lang/math.h"
#include "samite/ops/kernels.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scan.h"

namespace samite::solvers {
namespace {

using detail::with_number_type;

constexpr int digit_bits = 4, digits = 1 << digit_bits;
constexpr std::int64_t chunk = 128;  // of an instance, which counts its digits and moves its elements in order

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

// And the elements' numbers.
template <class K, class I>
const auto &beginning() {
  static const Kernel kernel{
      "sortable_keys",
      {"bits", "order", "keys", "descending", "count"},
      [](Array<Bits<K>, 1> bits, Array<I, 1> order, Array<const K, 1> keys, Bool descending, const Int64 &count) {
        const Int64 i = detail::element_index();
        if_(i < count, [&] {
          bits(i) = sortable<K>(keys(i), descending);
          order(i) = cast<Traced<I>>(i);
        });
      }};
  return kernel;
}

template <class U>
Int digit_of(const Traced<U> &bits, const Int &shift) {
  return cast<Int>((bits >> cast<Traced<U>>(shift)) & U(digits - 1));
}

// How many elements of each chunk have each digit: digit by digit, so that a scan gives the places.
template <class U>
const auto &counting() {
  static const Kernel kernel{"count_digits",
                             {"counts", "bits", "shift", "count"},
                             [](Array<std::int64_t, 2> counts, Array<const U, 1> bits, Int shift, const Int64 &count) {
                               const Int part = thread_index();
                               LocalArray<std::int64_t, digits> own;
                               for (Int k : range(static_cast<int>(chunk))) {
                                 const Int64 i = Int64(part) * chunk + k;
                                 if_(i < count, [&] { own(digit_of<U>(bits(i), shift)) += 1; });
                               }
                               for (Int d : range(digits)) counts(d, part) = own(d);
                             }};
  return kernel;
}

template <class U, class I>
const auto &moving() {
  using Places = Array<const std::int64_t, 2>;
  static const Kernel kernel{"move_by_digits",
                             {"bits_to", "order_to", "bits", "order", "places", "shift", "count"},
                             [](Array<U, 1> bits_to, Array<I, 1> order_to, Array<const U, 1> bits,
                                Array<const I, 1> order, Places places, Int shift, const Int64 &count) {
                               const Int part = thread_index();
                               LocalArray<std::int64_t, digits> next;
                               for (Int d : range(digits)) next(d) = places(d, part);
                               for (Int k : range(static_cast<int>(chunk))) {
                                 const Int64 i = Int64(part) * chunk + k;
                                 if_(i < count, [&] {
                                   const Traced<U> value = bits(i);
                                   const Int digit = digit_of<U>(value, shift);
                                   const Int64 to = next(digit);
                                   bits_to(to) = value;
                                   order_to(to) = order(i);
                                   next(digit) = to + 1;
                                 });
                               }
                             }};
  return kernel;
}

template <class K, class I>
void order_of(const Buffer<K> &keys, const Buffer<I> &order, const SortOptions &options) {
  using U = Bits<K>;
  const std::int64_t count = keys.count();
  if (count == 0) return;
  const Device device = keys.device();
  Buffer<U> bits(device, {count}), other_bits(device, {count});
  Buffer<I> now(device, {count}), other(device, {count});
  beginning<K, I>().launch(detail::each_element(count), bits, now, keys, options.descending, count);
  const std::int64_t parts = (count + chunk - 1) / chunk;
  const Buffer<std::int64_t> counts(device, {digits, parts}), places(device, {digits, parts});
  const int most = options.bits > 0 ? options.bits : static_cast<int>(8 * sizeof(K));
  for (int shift = 0; shift < most; shift += digit_bits) {
    counting<U>().launch({parts}, counts, bits, shift, count);
    scan(counts.reshape({digits * parts}), places.reshape({digits * parts}), {.exclusive = true});
    moving<U, I>().launch({parts}, other_bits, other, bits, now, places, shift, count);
    std::swap(bits, other_bits), std::swap(now, other);
  }
  Buffer<I>(order).copy_from(now);
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
  const AnyBuffer order = new_order(keys);
  argsort(keys, order, options, where);
  gather(keys, order, sorted_keys, where);
  gather(values, order, sorted_values, where);
}

}  // namespace samite::solvers
