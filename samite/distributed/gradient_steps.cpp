#include "samite/distributed/gradient_steps.h"

#include "samite/distributed/gradient_type.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"

namespace samite::distributed {
namespace {

LaunchOptions in(const Stream &stream) { return {.stream = stream}; }

AnyBuffer flat(const AnyBuffer &buffer) { return buffer.reshape({buffer.count()}); }

template <class T>
void add_flat(const AnyBuffer &sum, const AnyBuffer &values, const Stream &stream) {
  static const Kernel add{"add_gradients", {"sum", "values"}, [](Array<T, 1> sum, Array<const T, 1> values) {
                            Int i = thread_index();
                            sum(i) += values(i);
                          }};
  add.launch({sum.count()}, in(stream), Buffer<T>(sum), Buffer<T>(values));
}

}  // namespace

void add_to(const AnyBuffer &sum, const AnyBuffer &values, const Stream &stream) {
  const AnyBuffer added = values.is_contiguous() ? values : values.clone();
  AnyBuffer target = sum.is_contiguous() ? sum : sum.clone();
  with_gradient_type(sum.type(), [&]<class T>(T) { add_flat<T>(flat(target), flat(added), stream); });
  if (!sum.is_contiguous()) AnyBuffer(sum).copy_from(target);
}

void scale(const AnyBuffer &values, double factor, const Stream &stream) {
  with_gradient_type(values.type(), [&]<class T>(T) {
    static const Kernel kernel{"scale", {"values", "factor"}, [](Array<T, 1> values, const Double &factor) {
                                 Int i = thread_index();
                                 values(i) = cast<Traced<T>>(cast<Double>(values(i)) * factor);
                               }};
    kernel.launch({values.count()}, in(stream), Buffer<T>(flat(values)), factor);
  });
}

void claim(const AnyBuffer &owner, const AnyBuffer &values, const AnyBuffer &result, int rank, int none,
           const Stream &stream) {
  with_gradient_type(values.type(), [&]<class T>(T) {
    static const Kernel kernel{"claim",
                               {"owner", "values", "result", "rank", "none"},
                               [](Array<std::int32_t, 1> owner, Array<const T, 1> values, Array<const T, 1> result,
                                  const Int &rank, const Int &none) {
                                 Int i = thread_index();
                                 owner(i) = select(values(i) == result(i), rank, none);
                               }};
    kernel.launch({owner.count()}, in(stream), Buffer<std::int32_t>(owner), Buffer<T>(values), Buffer<T>(result), rank,
                  none);
  });
}

void keep_owned(const AnyBuffer &masked, const AnyBuffer &values, const AnyBuffer &owner, int rank,
                const Stream &stream) {
  with_gradient_type(values.type(), [&]<class T>(T) {
    static const Kernel kernel{
        "keep_owned",
        {"masked", "values", "owner", "rank"},
        [](Array<T, 1> masked, Array<const T, 1> values, Array<const std::int32_t, 1> owner, const Int &rank) {
          Int i = thread_index();
          masked(i) = select(owner(i) == rank, values(i), 0);
        }};
    kernel.launch({owner.count()}, in(stream), Buffer<T>(masked), Buffer<T>(values), Buffer<std::int32_t>(owner), rank);
  });
}

void multiply_by_others(const AnyBuffer &values, const AnyBuffer &all, int rank, const Stream &stream) {
  with_gradient_type(values.type(), [&]<class T>(T) {
    static const Kernel kernel{"multiply_by_others",
                               {"values", "all", "rank"},
                               [](Array<T, 1> values, Array<const T, 2> all, const Int &rank) {
                                 Int i = thread_index();
                                 for (Int other : range(all.extent(0)))
                                   if_(other != rank, [&] { values(i) *= all(other, i); });
                               }};
    kernel.launch({values.count()}, in(stream), Buffer<T>(values), Buffer<T>(all), rank);
  });
}

}  // namespace samite::distributed
