#include "samite/distributed/reduction.h"

#include "samite/base/error.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace samite {

std::string_view name(ReduceOp reduction) {
  constexpr std::string_view names[] = {"sum", "product", "min", "max", "average"};
  return names[static_cast<std::size_t>(reduction)];
}

namespace distributed {
namespace {

// The type to reduce in: unsigned, so that signed integers wrap around.
template <class T>
struct Accumulator {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct Accumulator<T> {
  using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};
template <>
struct Accumulator<bool> {
  using type = std::uint32_t;
};
template <class T>
  requires(FloatingScalar<T> && sizeof(T) < 4)
struct Accumulator<T> {
  using type = float;
};

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
  return std::min(a, b);
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
  return std::max(a, b);
}

// Values of a chunk are accumulated in registers or the first-level cache, one rank after another.
constexpr std::size_t chunk = 1024;

template <class T, class Widened, class Step>
void reduce_chunks(std::size_t count, std::span<const void *const> from, void *to, const Step &step, Widened divisor) {
  Widened sums[chunk];
  for (std::size_t begin = 0; begin < count; begin += chunk) {
    const std::size_t length = std::min(chunk, count - begin);
    const auto *first = static_cast<const T *>(from[0]) + begin;
    for (std::size_t i = 0; i < length; ++i) sums[i] = static_cast<Widened>(first[i]);
    for (const void *other : from.subspan(1)) {
      const auto *values = static_cast<const T *>(other) + begin;
      for (std::size_t i = 0; i < length; ++i) sums[i] = step(sums[i], static_cast<Widened>(values[i]));
    }
    if constexpr (std::is_floating_point_v<Widened>)
      if (divisor != 1)
        for (std::size_t i = 0; i < length; ++i) sums[i] /= divisor;
    auto *results = static_cast<T *>(to) + begin;
    for (std::size_t i = 0; i < length; ++i) results[i] = static_cast<T>(sums[i]);
  }
}

template <class T>
void reduce_typed(ReduceOp reduction, std::size_t count, std::span<const void *const> from, void *to) {
  using Sum = typename Accumulator<T>::type;
  // Comparisons keep the sign.
  using Compared = std::conditional_t<std::is_integral_v<T>, T, Sum>;
  switch (reduction) {
    case ReduceOp::sum: return reduce_chunks<T, Sum>(count, from, to, [](Sum a, Sum b) { return a + b; }, Sum{1});
    case ReduceOp::product: return reduce_chunks<T, Sum>(count, from, to, [](Sum a, Sum b) { return a * b; }, Sum{1});
    case ReduceOp::min: return reduce_chunks<T, Compared>(count, from, to, smaller<Compared>, Compared{1});
    case ReduceOp::max: return reduce_chunks<T, Compared>(count, from, to, larger<Compared>, Compared{1});
    case ReduceOp::average:
      return reduce_chunks<T, Sum>(count, from, to, [](Sum a, Sum b) { return a + b; }, static_cast<Sum>(from.size()));
  }
}

}  // namespace

bool has_reduction(ScalarType type, ReduceOp reduction) {
  if (type == ScalarType::Bool) return reduction == ReduceOp::min || reduction == ReduceOp::max;
  return reduction != ReduceOp::average || is_floating(type);
}

void reduce_values(ScalarType type, ReduceOp reduction, std::size_t count, std::span<const void *const> from,
                   void *to) {
  internal_check(has_reduction(type, reduction), "the type has no such reduction");
  switch (type) {
#define SAMITE_REDUCE(name, text, host, bytes, kind) \
  case ScalarType::name: return reduce_typed<host>(reduction, count, from, to);
    SAMITE_SCALAR_TYPES(SAMITE_REDUCE)
#undef SAMITE_REDUCE
  }
}

}  // namespace distributed
}  // namespace samite
