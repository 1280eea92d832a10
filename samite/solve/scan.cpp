#include "samite/solve/scan.h"

#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/jit/tile_kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/lang/traced_once.h"
#include "samite/ops/kernels.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"

#include <algorithm>
#include <limits>

namespace samite::solvers {
namespace {

using detail::with_number_type;
using ops::detail::Kernels;

// An instance combines this many elements, one after another. A constant, so that the order is the same everywhere.
constexpr std::int64_t chunk = 64;

SAMITE_TRACED_ONCE_BEGIN

template <class T>
T neutral(Combine combine) {
  using Limits = std::numeric_limits<T>;
  switch (combine) {
    case Combine::sum: return T(0);
    case Combine::product: return T(1);
    case Combine::min: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Combine::max: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  return T(0);
}

// Combines two numbers, or two tiles.
template <class V>
V combined(Combine combine, const V &a, const V &b) {
  switch (combine) {
    case Combine::sum: return a + b;
    case Combine::product: return a * b;
    case Combine::min: return min(a, b);
    case Combine::max: return max(a, b);
  }
  return a;
}

// All elements of a tile.
template <class T>
Traced<T> reduced(Combine combine, const Tile<T> &x) {
  switch (combine) {
    case Combine::sum: return tile::sum(x);
    case Combine::product: return tile::product(x);
    case Combine::min: return tile::min(x);
    case Combine::max: return tile::max(x);
  }
  return tile::sum(x);
}

// The result of a scan at an element: all before it and itself, all before it in its segment, or all before it since
// the last head, of this segment or the one before.
enum class Leaves : std::uint8_t { inclusive, exclusive, carry };

struct ScanKey {
  Combine combine;
  Leaves leaves;
  bool backwards;

  friend bool operator==(const ScanKey &, const ScanKey &) = default;
};

using Heads = Array<const std::uint8_t, 1>;

template <class T>
using Summary = Kernel<void(Array<T, 1>, Array<std::uint8_t, 1>, Array<const T, 1>, Heads, Int64)>;

// The combined elements of each chunk since the last head, and whether there is one.
template <class T>
Summary<T> make_summary(const ScanKey &key) {
  return {
      "scan_summary",
      {"totals", "any_head", "x", "heads", "count"},
      [=](Array<T, 1> totals, Array<std::uint8_t, 1> any_head, Array<const T, 1> x, Heads heads, const Int64 &count) {
        const Int64 part = thread_index();
        Traced<T> total = neutral<T>(key.combine);
        Bool any = false;
        for (Int k : range(static_cast<int>(chunk))) {
          const Int64 i = part * chunk + k;
          if_(i < count, [&] {
            const Int64 at = key.backwards ? count - 1 - i : i;
            const Bool head = heads(at) != 0;
            total = select(head, Traced<T>(neutral<T>(key.combine)), total);
            any = any || head;
            total = combined(key.combine, total, Traced<T>(x(at)));
          });
        }
        totals(part) = total;
        any_head(part) = cast<UInt8>(any);
      }};
}

template <class T>
using Finish = Kernel<void(Array<T, 1>, Array<const T, 1>, Heads, Array<const T, 1>, Int64)>;

template <class T>
Finish<T> make_finish(const ScanKey &key) {
  return {"scan",
          {"y", "x", "heads", "carries", "count"},
          [=](Array<T, 1> y, Array<const T, 1> x, Heads heads, Array<const T, 1> carries, const Int64 &count) {
            const Int64 part = thread_index();
            Traced<T> total = neutral<T>(key.combine);
            if_(part < carries.extent(0), [&] { total = carries(part); });
            for (Int k : range(static_cast<int>(chunk))) {
              const Int64 i = part * chunk + k;
              if_(i < count, [&] {
                const Int64 at = key.backwards ? count - 1 - i : i;
                if (key.leaves == Leaves::carry) y(at) = total;
                total = select(heads(at) != 0, Traced<T>(neutral<T>(key.combine)), total);
                if (key.leaves == Leaves::exclusive) y(at) = total;
                total = combined(key.combine, total, Traced<T>(x(at)));
                if (key.leaves == Leaves::inclusive) y(at) = total;
              });
            }
          }};
}

// Marks the start of each segment, or the end if the scan goes backwards.
const auto &heads_of_keys() {
  static const Kernel kernel{
      "segment_heads",
      {"heads", "keys", "step", "count"},
      [](Array<std::uint8_t, 1> heads, Array<const std::int32_t, 1> keys, const Int64 &step, Int64 count) {
        const Int64 i = detail::element_index(), before = i + step;
        if_(i < count, [&] {
          UInt8 head = 1;
          if_(before >= 0 && before < count, [&] { head = cast<UInt8>(keys(i) != keys(before)); });
          heads(i) = head;
        });
      }};
  return kernel;
}

template <class T>
const auto &addition() {
  static const Kernel kernel{"add_to", {"y", "x", "count"}, [](Array<T, 1> y, Array<const T, 1> x, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { y(i) += x(i); });
                             }};
  return kernel;
}

SAMITE_TRACED_ONCE_END

// In levels: the chunks' totals are scanned in the same way, which gives each chunk the total before it.
template <class T>
void scan_segments(const ScanKey &key, const Buffer<T> &x, const Buffer<std::uint8_t> &heads, const Buffer<T> &y) {
  static Kernels<ScanKey, Summary<T>> summaries(make_summary<T>);
  static Kernels<ScanKey, Finish<T>> finishes(make_finish<T>);
  const Device device = x.device();
  const std::int64_t count = x.count(), parts = (count + chunk - 1) / chunk;
  Buffer<T> carries(device, {parts > 1 ? parts : 0});
  if (parts > 1) {
    const Buffer<T> totals(device, {parts});
    const Buffer<std::uint8_t> any_head(device, {parts});
    ScanKey above = key;
    above.leaves = Leaves::inclusive;  // all summaries have the same form
    summaries.at(above).launch({parts}, totals, any_head, x, heads, count);
    above.leaves = Leaves::carry, above.backwards = false;
    scan_segments(above, totals, any_head, carries);
  }
  finishes.at(key).launch({parts}, y, x, heads, carries, count);
}

// A block's part of a vector without segments.
template <class T>
constexpr int elements_of_tile = 16384 / static_cast<int>(sizeof(T));

struct TileScanKey {
  Combine combine;
  bool exclusive, backwards;

  friend bool operator==(const TileScanKey &, const TileScanKey &) = default;
};

SAMITE_TRACED_ONCE_BEGIN

// Tiles are numbered in the direction of the scan.
Int number_in_order(const Int &block, const Int &blocks, bool backwards) {
  return backwards ? Int(blocks - 1 - block) : block;
}

// Tile `number` of x, and the neutral element beyond the end.
template <class T>
Tile<T> part_of(const Array<const T, 1> &x, const Int &number, int extent, const Int64 &count, Combine combine) {
  Tile<T> part = tile::load(x, {number}, {extent});
  if (combine == Combine::sum) return part;
  return select(detail::inside_vector(number, extent, count), part, neutral<T>(combine));
}

template <class T>
using TileTotals = TileKernel<void(Array<T, 1>, Array<const T, 1>, Int64)>;

template <class T>
TileTotals<T> make_totals(const TileScanKey &key) {
  return {"scan_totals", {"totals", "x", "count"}, [=](Array<T, 1> totals, Array<const T, 1> x, const Int64 &count) {
            const Tile<T> part = part_of<T>(x, block_index(), elements_of_tile<T>, count, key.combine);
            totals(number_in_order(block_index(), totals.extent(0), key.backwards)) = reduced<T>(key.combine, part);
          }};
}

template <class T>
using TileScan = TileKernel<void(Array<T, 1>, Array<const T, 1>, Array<const T, 1>, Int64)>;

template <class T>
TileScan<T> make_tile_scan(const TileScanKey &key) {
  return {"scan",
          {"y", "x", "carries", "count"},
          [=](Array<T, 1> y, Array<const T, 1> x, Array<const T, 1> carries, const Int64 &count) {
            constexpr int extent = elements_of_tile<T>;
            const tile::ScanOptions options{.combine = key.combine, .backwards = key.backwards};
            const Tile<T> part = part_of<T>(x, block_index(), extent, count, key.combine);
            Traced<T> carry = neutral<T>(key.combine);
            if_(carries.extent(0) > 0,
                [&] { carry = carries(number_in_order(block_index(), carries.extent(0), key.backwards)); });
            const Tile<T> scanned =
                key.exclusive ? tile::exclusive_scan(part, 0, options) : tile::inclusive_scan(part, 0, options);
            tile::store(y, {block_index()}, combined(key.combine, tile::full<T>({extent}, carry), scanned));
          }};
}

SAMITE_TRACED_ONCE_END

// The totals of tiles are scanned in the same way, which gives each tile the total before it.
template <class T>
void scan_tiles(const TileScanKey &key, const Buffer<T> &x, const Buffer<T> &y) {
  static Kernels<TileScanKey, TileTotals<T>> totals_of(make_totals<T>);
  static Kernels<TileScanKey, TileScan<T>> scans(make_tile_scan<T>);
  const std::int64_t tiles = (x.count() + elements_of_tile<T> - 1) / elements_of_tile<T>;
  const Buffer<T> carries(x.device(), {tiles > 1 ? tiles : 0});
  if (tiles > 1) {
    const Buffer<T> totals(x.device(), {tiles});
    totals_of.at({key.combine, false, key.backwards}).launch({tiles}, totals, x, x.count());
    scan_tiles({key.combine, /*exclusive=*/true, /*backwards=*/false}, totals, carries);
  }
  scans.at(key).launch({tiles}, y, x, carries, x.count());
}

template <class T>
void scan_now(const Buffer<T> &x, const Buffer<T> &y, const ScanOptions &options) {
  const std::int64_t count = x.count();
  if (count == 0) return;
  if (!options.keys.valid()) return scan_tiles<T>({options.combine, options.exclusive, options.backwards}, x, y);
  const Buffer<std::uint8_t> heads(x.device(), {count});
  heads_of_keys().launch(detail::each_element(count), heads, options.keys, options.backwards ? 1 : -1, count);
  scan_segments({options.combine, options.exclusive ? Leaves::exclusive : Leaves::inclusive, options.backwards}, x,
                heads, y);
}

void check_operands(const char *name, const AnyBuffer &x, const AnyBuffer &y, std::int64_t results,
                    SourceLocation where) {
  if (!x.valid()) throw UserError(where, std::string(name) + ": x is an empty buffer");
  detail::expect_vector(x, -1, x.device(), std::string(name) + ": x", where);
  detail::expect_vector(y, results < 0 ? x.count() : results, x.device(), std::string(name) + ": the result", where);
  if (x.type() != y.type())
    throw UserError(where, std::string(name) + ": x and the result have one type; x is " + x.to_string() +
                               ", the result " + y.to_string());
  if (y.is_broadcast() || share_elements(x, y))
    throw UserError(where, std::string(name) + ": the result is expected in an array of its own, apart from x");
}

// Their tapes hold one entry. The backward function consists of launches, so that it has a derivative itself.
TapeFunction on_tape(const char *name, const AnyBuffer &x, const AnyBuffer &y) {
  TapeFunction function;
  function.outputs = {y}, function.inputs = {x};
  function.options = {.name = name, .reads_inputs = false, .reads_outputs = false, .differentiable_backward = true};
  return function;
}

void refuse_gradient(const char *name, Combine combine, SourceLocation where) {
  if (combine == Combine::sum) return;
  throw UserError(where, std::string("backward: ") + name +
                             " has a gradient where it adds up; for products, least and greatest elements none is "
                             "known");
}

template <class T, class A>
using Reduction = TileKernel<void(Array<A, 1>, Array<const T, 1>, Int, Int64)>;

SAMITE_TRACED_ONCE_BEGIN

// Block b of n combines tiles b, b + n, … element by element, and then all elements.
template <class T, class A>
Reduction<T, A> make_reduction(Combine combine) {
  return {"reduce",
          {"result", "x", "rounds", "count"},
          [=](Array<A, 1> result, Array<const T, 1> x, const Int &rounds, const Int64 &count) {
            constexpr int extent = elements_of_tile<A>;
            const Int blocks = result.extent(0);
            Tile<A> total = tile::full<A>({extent}, neutral<A>(combine));
            for (Int k : range(rounds)) {
              const Tile<T> part = part_of<T>(x, k * blocks + block_index(), extent, count, combine);
              total = combined(combine, total, tile::cast<A>(part));
            }
            result(block_index()) = reduced(combine, total);
          }};
}

template <class T, class A>
using LastReduction = TileKernel<void(Array<T, 1>, Array<const A, 1>)>;

template <class T, class A>
LastReduction<T, A> make_last_reduction(Combine combine) {
  return {"reduce_blocks", {"result", "x"}, [=](Array<T, 1> result, Array<const A, 1> x) {
            const Tile<A> parts = tile::load(x, {block_index()}, {detail::blocks_of_a_sum}, neutral<A>(combine));
            result(0) = cast<Traced<T>>(reduced(combine, parts));
          }};
}

SAMITE_TRACED_ONCE_END

template <class T>
void reduce_now(const Buffer<T> &x, const Buffer<T> &result, Combine combine) {
  using A = std::conditional_t<std::same_as<T, float>, double, T>;
  static Kernels<Combine, Reduction<T, A>> reductions(make_reduction<T, A>);
  static Kernels<Combine, LastReduction<T, A>> last_reductions(make_last_reduction<T, A>);
  const std::int64_t tiles = (x.count() + elements_of_tile<A> - 1) / elements_of_tile<A>;
  const std::int64_t blocks = std::clamp<std::int64_t>(tiles, 1, detail::blocks_of_a_sum);
  const Buffer<A> parts(x.device(), {blocks});
  reductions.at(combine).launch({blocks}, parts, x, (tiles + blocks - 1) / blocks, x.count());
  last_reductions.at(combine).launch({1}, result, parts);
}

}  // namespace

void scan(const AnyBuffer &x, const AnyBuffer &y, const ScanOptions &options, SourceLocation where) {
  check_operands("scan", x, y, -1, where);
  if (options.keys.valid()) detail::expect_vector(options.keys, x.count(), x.device(), "scan: keys", where);
  with_number_type(x.type(), "elements of a scan", where, [&]<class T>(T) {
    TapeFunction function = on_tape("scan", x, y);
    function.forward = [&] { scan_now<T>(Buffer<T>(x), Buffer<T>(y), options); };
    function.backward = [options, where](const FunctionGradients &of) {
      refuse_gradient("scan", options.combine, where);
      if constexpr (FloatingScalar<T>) {
        ScanOptions back = options;
        back.backwards = !options.backwards;
        const Buffer<T> cotangent(of.outputs[0]), sums(cotangent.device(), cotangent.extents());
        scan_now<T>(cotangent, sums, back);
        addition<T>().launch(detail::each_element(sums.count()), Buffer<T>(of.inputs[0]), sums, sums.count());
      }
    };
    run_on_tape(function, where);
  });
}

void reduce(const AnyBuffer &x, const AnyBuffer &result, Combine combine, SourceLocation where) {
  check_operands("reduce", x, result, 1, where);
  with_number_type(x.type(), "elements of a reduction", where, [&]<class T>(T) {
    TapeFunction function = on_tape("reduce", x, result);
    function.forward = [&] { reduce_now<T>(Buffer<T>(x), Buffer<T>(result), combine); };
    function.backward = [combine, where](const FunctionGradients &of) {
      refuse_gradient("reduce", combine, where);
      if constexpr (FloatingScalar<T>) {
        const Buffer<T> cotangent(of.outputs[0]);
        const Buffer<T> gradient(of.inputs[0]);
        addition<T>().launch(detail::each_element(gradient.count()), gradient, cotangent.broadcast(gradient.extents()),
                             gradient.count());
      }
    };
    run_on_tape(function, where);
  });
}

}  // namespace samite::solvers
