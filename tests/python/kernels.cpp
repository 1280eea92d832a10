// The kernels that the tests of the package call: a module as users write them.
#include <samite/python/module.h>
#include <samite/samite.h>

#include <stdexcept>

using namespace samite;

namespace {

Kernel diffuse{"diffuse", {"next", "now", "rate"}, [](Array<float, 2> next, Array<const float, 2> now, Float rate) {
                 auto [y, x] = thread_index<2>();
                 if_(y > 0 && x > 0 && y < now.extent(0) - 1 && x < now.extent(1) - 1, [&] {
                   next(y, x) = now(y, x) + rate * (now(y - 1, x) + now(y + 1, x) + now(y, x - 1) + now(y, x + 1) -
                                                    4.0f * now(y, x));
                 });
               }};

Kernel axpy{"axpy", {"y", "x", "a"}, [](Array<double, 1> y, Array<const double, 1> x, Double a) {
              Int i = thread_index();
              y(i) = y(i) + a * x(i);
            }};

// A product, because its second derivative is not zero.
Kernel multiply{
    "multiply", {"z", "x", "y"}, [](Array<double, 1> z, Array<const double, 1> x, Array<const double, 1> y) {
      Int i = thread_index();
      z(i) = x(i) * sin(y(i)) * x(i);
    }};

Kernel total{"total", {"sum", "values"}, [](Array<double, 1> sum, Array<const double, 1> values) {
               atomic_add(sum(0), values(thread_index()) * values(thread_index()));
             }};

Kernel count_up{"count_up",
                {"values", "first", "step", "reversed"},
                [](Array<std::int32_t, 1> values, Int first, Int64 step, Bool reversed) {
                  Int i = thread_index();
                  values(i) = first + cast<Int>(step) * select(reversed, -i, i);
                }};

Kernel move{"move", {"positions", "by"}, [](Array<Vec3f, 1> positions, Vec3f by) {
              Int i = thread_index();
              positions(i) = positions(i) + by;
            }};

// Sums in each lane of the machine for a while.
Kernel spin{"spin", {"values", "rounds"}, [](Array<double, 1> values, Int64 rounds) {
              Int i = thread_index();
              Double value = values(i);
              for (Int64 round : range(rounds)) value = value * 0.999 + cast<Double>(round);
              values(i) = value;
            }};

Kernel gather{"gather",
              {"out", "in", "rows"},
              [](Array<double, 1> out, Array<const double, 1> in, Array<const std::int64_t, 1> rows) {
                Int i = thread_index();
                out(i) = in(rows(i));
              }};

TileKernel exponential_rows{"exponential_rows", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                              Int row = block_index();
                              Tile<float> values = tile::load(in, {row, 0}, {1, 64});
                              Tile<float> powers = exp(values);
                              tile::store(out, {row, 0}, powers);
                            }};

Kernel tell{"tell", {"values"}, [](Array<const float, 1> values) {
              Int i = thread_index();
              print("values(", i, ") = ", values(i));
            }};

// Halves the value, and says whether it is still above the limit.
Kernel halve{
    "halve", {"value", "going", "limit"}, [](Array<double, 1> value, Array<std::int32_t, 1> going, Double limit) {
      value(0) = value(0) * 0.5;
      going(0) = cast<Int>(value(0) > limit);
    }};

// The mean of three neighbours in a row, times a factor.
Pipeline blur{"blur", {"out", "image", "factor"}, [](Array<float, 2> out, Array<const float, 2> image, Float factor) {
                Var y{"y"}, x{"x"};
                Func rows = repeat_edge(image), sums{"sums"}, result{"result", out};
                sums(y, x) = rows(y, x - 1) + rows(y, x) + rows(y, x + 1);
                result(y, x) = factor * sums(y, x) / 3;
                schedule("at once", [&] { sums.compute_root(); });
              }};

template <class T>
Kernel<void(Array<T, 2>, Array<const T, 2>)> copy(const char *name) {
  return Kernel{name, {"to", "from"}, [](Array<T, 2> to, Array<const T, 2> from) {
                  auto [i, j] = thread_index<2>();
                  to(i, j) = from(i, j);
                }};
}

}  // namespace

SAMITE_PYTHON_MODULE(samite_test_kernels, module) {
  module.def(diffuse, "One step of the heat equation.");
  module.def(axpy);
  module.def(multiply);
  module.def(total);
  module.def(count_up);
  module.def(move);
  module.def(spin);
  module.def(gather);
  module.def(exponential_rows);
  module.def(tell);
  module.def(halve);
  module.def(blur, "The mean of three neighbours in a row, times a factor.");
  module.def("copy_bool", copy<bool>("copy_bool"));
  module.def("copy_int8", copy<std::int8_t>("copy_int8"));
  module.def("copy_int16", copy<std::int16_t>("copy_int16"));
  module.def("copy_int32", copy<std::int32_t>("copy_int32"));
  module.def("copy_int64", copy<std::int64_t>("copy_int64"));
  module.def("copy_uint8", copy<std::uint8_t>("copy_uint8"));
  module.def("copy_uint16", copy<std::uint16_t>("copy_uint16"));
  module.def("copy_uint32", copy<std::uint32_t>("copy_uint32"));
  module.def("copy_uint64", copy<std::uint64_t>("copy_uint64"));
  module.def("copy_float8_e4m3fn", copy<f8e4m3>("copy_float8_e4m3fn"));
  module.def("copy_float8_e5m2", copy<f8e5m2>("copy_float8_e5m2"));
  module.def("copy_float16", copy<half>("copy_float16"));
  module.def("copy_bfloat16", copy<bfloat16>("copy_bfloat16"));
  module.def("copy_float32", copy<float>("copy_float32"));
  module.def("copy_float64", copy<double>("copy_float64"));
}
