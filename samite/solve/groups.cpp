#include "samite/solve/groups.h"

#include "samite/jit/graph_capture.h"
#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/lang/atomic.h"
#include "samite/lang/control.h"
#include "samite/lang/print.h"
#include "samite/solve/element_index.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scan.h"
#include "samite/solve/sort.h"

namespace samite::solvers {
namespace {

using detail::with_number_type;
using Places = Buffer<std::int64_t>;

template <class K>
const auto &beginnings() {
  static const Kernel kernel{"run_beginnings",
                             {"begins", "keys", "count"},
                             [](Array<std::int64_t, 1> begins, Array<const K, 1> keys, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] {
                                 begins(i) = 1;
                                 if_(i > 0, [&] { begins(i) = cast<Int64>(keys(i) != keys(i - 1)); });
                               });
                             }};
  return kernel;
}

const auto &kept() {
  static const Kernel kernel{"kept",
                             {"wanted", "keep", "count"},
                             [](Array<std::int64_t, 1> wanted, Array<const bool, 1> keep, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { wanted(i) = cast<Int64>(keep(i)); });
                             }};
  return kernel;
}

const auto &compaction() {
  using Numbers = Array<const std::int64_t, 1>;
  static const Kernel kernel{"compact",
                             {"places", "wanted", "before", "count"},
                             [](Array<std::int64_t, 1> places, Numbers wanted, Numbers before, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] { if_(wanted(i) != 0, [&] { places(before(i)) = i; }); });
                             }};
  return kernel;
}

// The indices of the nonzero elements, and room for `more` after them.
Places places_that_are_wanted(const Places &wanted, std::int64_t more) {
  const std::int64_t count = wanted.count();
  if (count == 0) return Places(wanted.device(), {more});
  const Places before(wanted.device(), {count});
  scan(wanted, before, {.exclusive = true});
  const std::int64_t found = before.at(count - 1) + wanted.at(count - 1);
  Places places(wanted.device(), {found + more});
  compaction().launch(detail::each_element(count), places, wanted, before, count);
  return places;
}

template <class T>
const auto &sums_of_runs() {
  using Starts = Array<const std::int64_t, 1>;
  static const Kernel kernel{
      "sum_runs", {"sums", "values", "starts"}, [](Array<T, 1> sums, Array<const T, 1> values, Starts starts) {
        const Int i = thread_index();
        Traced<T> sum = 0;
        for (Int64 k : range(starts(i), starts(i + 1))) sum += values(k);
        sums(i) = sum;
      }};
  return kernel;
}

void check_keys(const char *name, const AnyBuffer &keys, SourceLocation where) {
  if (!keys.valid()) throw UserError(where, std::string(name) + ": the keys are an empty buffer");
  detail::expect_vector(keys, -1, keys.device(), std::string(name) + ": the array of keys", where);
}

}  // namespace

Runs runs_of(const AnyBuffer &keys, SourceLocation where) {
  check_keys("runs_of", keys, where);
  Runs runs;
  without_gradients([&] {
    const std::int64_t count = keys.count();
    const Places begins(keys.device(), {count});
    with_number_type(keys.type(), "keys", where, [&]<class K>(K) {
      beginnings<K>().launch(detail::each_element(count), begins, Buffer<K>(keys), count);
    });
    runs.starts = places_that_are_wanted(begins, 1);
    runs.count = runs.starts.count() - 1;
    runs.starts.set({runs.count}, count);
  });
  return runs;
}

AnyBuffer unique(const AnyBuffer &keys, SourceLocation where) {
  const Runs runs = runs_of(keys, where);
  const AnyBuffer result(keys.device(), keys.type(), {runs.count},
                         keys.tracks_gradient() ? Gradient::tracked : Gradient::untracked, where);
  gather(keys, runs.starts.slice(0, 0, runs.count), result, where);
  return result;
}

SumsByKey sum_by_key(const AnyBuffer &keys, const AnyBuffer &values, SourceLocation where) {
  check_keys("sum_by_key", keys, where);
  detail::expect_vector(values, keys.count(), keys.device(), "sum_by_key: the array of values", where);
  const Runs runs = runs_of(keys, where);
  const auto like = [&](const AnyBuffer &buffer) {
    return AnyBuffer(buffer.device(), buffer.type(), {runs.count},
                     buffer.tracks_gradient() ? Gradient::tracked : Gradient::untracked, where);
  };
  const SumsByKey result{like(keys), like(values)};
  gather(keys, runs.starts.slice(0, 0, runs.count), result.keys, where);
  with_number_type(values.type(), "values", where, [&]<class T>(T) {
    sums_of_runs<T>().launch(LaunchExtents({runs.count}, where), Buffer<T>(result.sums), Buffer<T>(values),
                             runs.starts);
  });
  return result;
}

Buffer<std::int64_t> places_of(const Buffer<bool> &keep, SourceLocation where) {
  check_keys("places_of", keep, where);
  Places places;
  without_gradients([&] {
    const Places wanted(keep.device(), {keep.count()});
    kept().launch(detail::each_element(keep.count()), wanted, keep, keep.count());
    places = places_that_are_wanted(wanted, 0);
  });
  return places;
}

AnyBuffer compact(const AnyBuffer &x, const Buffer<bool> &keep, SourceLocation where) {
  check_keys("compact", x, where);
  detail::expect_vector(keep, x.count(), x.device(), "compact: what to keep", where);
  const Places places = places_of(keep, where);
  const AnyBuffer result(x.device(), x.type(), {places.count()},
                         x.tracks_gradient() ? Gradient::tracked : Gradient::untracked, where);
  gather(x, places, result, where);
  return result;
}

void histogram(const Buffer<std::int32_t> &bins, const Buffer<std::int64_t> &counts, SourceLocation where) {
  check_keys("histogram", bins, where);
  detail::expect_vector(counts, -1, bins.device(), "histogram: the array of counts", where);
  static const Kernel kernel{"histogram",
                             {"counts", "bins", "count"},
                             [](Array<std::int64_t, 1> counts, Array<const std::int32_t, 1> bins, const Int64 &count) {
                               const Int64 i = detail::element_index();
                               if_(i < count, [&] {
                                 const Int bin = bins(i);
                                 const Bool inside = bin >= 0 && bin < counts.extent(0);
                                 check(inside, "histogram: bin ", bin, " is outside of the counts");
                                 if_(inside, [&] { atomic_add(counts(bin), 1); });
                               });
                             }};
  without_gradients([&] {
    Buffer<std::int64_t>(counts).fill(0, where);
    kernel.launch(LaunchExtents(detail::each_element(bins.count()), where), counts, bins, bins.count());
    // Reports a bin outside of the counts here, rather than at the next wait for the device.
    if (!jit::GraphCapture::current()) Stream::standard(bins.device()).synchronize();
  });
}

}  // namespace samite::solvers
