// The kernels of the lessons in Python: the same as in the programs in C++, as a module.
#include <samite/python/module.h>
#include <samite/samite.h>

#include <cmath>

using namespace samite;

namespace {

Kernel swing{
    "swing", {"angle", "time", "damping"}, [](Array<double, 1> angle, Array<const double, 1> time, Double damping) {
      Int i = thread_index();
      angle(i) = exp(-damping * time(i)) * cos(2 * time(i));
    }};

Kernel throws{"throws",
              {"distance", "angle", "speed"},
              [](Array<double, 1> distance, Array<const double, 1> angle, Array<const double, 1> speed) {
                Int i = thread_index();
                distance(i) = speed(i) * speed(i) * sin(2 * angle(i)) / 9.81;
              }};

// Lesson 3 calls it step.
Kernel flight{"flight", {"next", "now"}, [](Array<double, 1> next, Array<const double, 1> now) {
                Double vx = now(2), vy = now(3), speed = hypot(vx, vy), dt = 0.02;
                next(0) = now(0) + dt * vx;
                next(1) = now(1) + dt * vy;
                next(2) = vx - dt * 0.1 * speed * vx;
                next(3) = vy - dt * (0.1 * speed * vy + 9.81);
              }};

Kernel miss{"miss", {"loss", "end"}, [](Array<double, 1> loss, Array<const double, 1> end) {
              loss(0) = (end(0) - 6) * (end(0) - 6) + (end(1) - 1) * (end(1) - 1);
            }};

template <class Field>
Float mean_of(const Field &at, const Int &y, const Int &x) {
  return (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) / 4;
}

Kernel fixed{"fixed", {"next", "now"}, [](Array<float, 2> next, Array<const float, 2> now) {
               auto [y, x] = thread_index<2>();
               if_(interior(now, y, x), [&] { next(y, x) = mean_of(now, y, x); });
             }};

Kernel insulated{"insulated", {"next", "now"}, [](Array<float, 2> next, Array<const float, 2> now) {
                   auto [y, x] = thread_index<2>();
                   auto at = [&](const Int &row, const Int &column) {
                     return now(clamp(row, 0, now.extent(0) - 1), clamp(column, 0, now.extent(1) - 1));
                   };
                   next(y, x) = mean_of(at, y, x);
                 }};

Kernel periodic{"periodic", {"next", "now"}, [](Array<float, 2> next, Array<const float, 2> now) {
                  auto [y, x] = thread_index<2>();
                  Int h = now.extent(0), w = now.extent(1);
                  auto at = [&](const Int &row, const Int &column) { return now((row + h) % h, (column + w) % w); };
                  next(y, x) = mean_of(at, y, x);
                }};

struct Ball {
  Vec3f place, velocity;
};

Vec3f acceleration(const Vec3f &velocity, const Vec3f &wind) {
  Vec3f relative = wind - velocity;
  return Vec3f{0, 0, -9.81} + 0.1 * norm(relative) * relative;
}

Kernel move{"move", {"balls", "dt", "wind"}, [](Array<Ball, 1> balls, Float dt, Vec3f wind) {
              Int i = thread_index();
              Ball ball = balls(i);
              ball.velocity += dt * acceleration(ball.velocity, wind);
              ball.place += dt * ball.velocity;
              if_(ball.place.z() < 0, [&] {
                ball.place.z() = -ball.place.z();
                ball.velocity = 0.8 * reflect(ball.velocity, Vec3f::unit(2));
              });
              balls(i) = ball;
            }};

Kernel histogram{"histogram", {"bins", "x"}, [](Array<std::int32_t, 1> bins, Array<const float, 1> x) {
                   Int i = thread_index();
                   Int bin = clamp(cast<Int>(x(i) * bins.extent(0)), 0, bins.extent(0) - 1);
                   atomic_add(bins(bin), 1);
                 }};

Kernel mean{"mean", {"out", "x"}, [](Array<float, 1> out, Array<const float, 1> x) {
              atomic_add(out(0), x(thread_index()) / x.extent(0));
            }};

Kernel largest{"largest", {"out", "x"}, [](Array<float, 1> out, Array<const float, 1> x) {
                 atomic_max(out(0), x(thread_index()));
               }};

Kernel profit{
    "profit", {"mean", "order", "seed"}, [](Array<double, 1> mean, Array<const double, 1> order, UInt64 seed) {
      Random random{seed, thread_index()};
      Double demand = 100 + 20 * random.normal<double>();
      atomic_add(mean(0), (3 * min(order(0), demand) - order(0)) / 100'000);
    }};

Kernel demand{"demand", {"out", "seed"}, [](Array<double, 1> out, UInt64 seed) {
                Int i = thread_index();
                Random random{seed, i};
                out(i) = 100 + 20 * random.normal<double>();
              }};

Kernel roots{"roots", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
               Int i = thread_index();
               check(in(i) >= 0, "no root of ", in(i));
               if_(i == 1, [&] { print("in(", i, ") is ", in(i)); });
               out(i) = sqrt(in(i));
             }};

Kernel pick{"pick",
            {"out", "in", "which"},
            [](Array<float, 1> out, Array<const float, 1> in, Array<const std::int32_t, 1> which) {
              Int i = thread_index();
              out(i) = in(which(i));
            }};

Kernel count{"count", {"bins", "which"}, [](Array<float, 1> bins, Array<const std::int32_t, 1> which) {
               Int i = thread_index();
               bins(which(i)) += 1;
             }};

// Lesson 9 calls it step.
Kernel wave{
    "wave", {"before", "now", "stiffness"}, [](Array<double, 1> before, Array<const double, 1> now, Double stiffness) {
      Int i = thread_index();
      if_(interior(now, i),
          [&] { before(i) = 2 * now(i) - before(i) + stiffness * (now(i - 1) - 2 * now(i) + now(i + 1)); });
    }};

TileKernel standardise{"standardise", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                         Int row = block_index();
                         Tile<float> values = tile::load(x, {row, 0}, {1, 128});
                         Tile<float> centred = values - tile::sum(values, {1}) / 128;
                         Tile<float> variance = tile::sum(centred * centred, {1}) / 128;
                         tile::store(y, {row, 0}, centred * rsqrt(variance + 1e-6f));
                       }};

TileKernel transpose_tiles{"transpose", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                             auto [i, j] = block_index<2>();
                             tile::store(y, {j, i}, tile::transpose(tile::load(x, {i, j}, {32, 32})));
                           }};

Kernel cooling{"cooling",
               {"end", "begin", "rate"},
               [](Array<double, 1> end, Array<const double, 1> begin, Array<const double, 1> rate) {
                 Int i = thread_index();
                 end(i) = 20 + (begin(i) - 20) * exp(-rate(i));
               }};

// A pendulum in a wind, pushed at each step.
Kernel pendulum{"pendulum",
                {"after", "before", "push"},
                [](Array<double, 1> after, Array<const double, 1> before, Array<const double, 1> push) {
                  Int i = thread_index();
                  Int n = push.extent(0);
                  Double angle = before(i), speed = before(n + i), dt = 0.05;
                  speed += dt * (push(i) - sin(angle) - 0.1 * speed);
                  after(i) = angle + dt * speed;
                  after(n + i) = speed;
                }};

constexpr int rows = 192, size = 32, block = 64;

// Each block has 64 rows of q, and goes through k and v with a running maximum and a running sum (online softmax).
TileKernel attention{
    "attention",
    {"out", "q", "k", "v"},
    [](Array<float, 2> out, Array<const float, 2> q, Array<const float, 2> k, Array<const float, 2> v) {
      Int i = block_index();
      Tile<float> mine = tile::load(q, {i, 0}, {block, size}) / std::sqrt(static_cast<float>(size));
      Tile<float> most = tile::full<float>({block, 1}, -1e30f), sum = tile::zeros<float>({block, 1});
      Tile<float> weighted = tile::zeros<float>({block, size});
      for (Int j : range(rows / block)) {
        Tile<float> scores = tile::matmul(mine, tile::transpose(tile::load(k, {j, 0}, {block, size})));
        Tile<float> larger = max(most, tile::max(scores, {1}));
        Tile<float> weights = exp(scores - larger), rescale = exp(most - larger);
        sum = sum * rescale + tile::sum(weights, {1});
        weighted = weighted * rescale + tile::matmul(weights, tile::load(v, {j, 0}, {block, size}));
        most = larger;
      }
      tile::store(out, {i, 0}, weighted / sum);
    }};

Pipeline sharpen{
    "sharpen", {"out", "in", "amount"}, [](Array<float, 2> out, Array<const float, 2> in, Float amount) {
      Var y{"y"}, x{"x"};
      Func image = repeat_edge(in);  // may be called beyond the edge
      Func rows{"rows"}, blurred{"blurred"}, result{"result", out};
      rows(y, x) =
          (image(y, x - 2) + 4 * image(y, x - 1) + 6 * image(y, x) + 4 * image(y, x + 1) + image(y, x + 2)) / 16;
      blurred(y, x) = (rows(y - 2, x) + 4 * rows(y - 1, x) + 6 * rows(y, x) + 4 * rows(y + 1, x) + rows(y + 2, x)) / 16;
      result(y, x) = clamp(image(y, x) + amount * (image(y, x) - blurred(y, x)), 0, 1);
    }};

Pipeline blur{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
                Func image = repeat_edge(in), rows{"rows"}, result{"result", out};
                rows(y, x) = (image(y, x - 1) + image(y, x) + image(y, x + 1)) / 3;
                result(y, x) = (rows(y - 1, x) + rows(y, x) + rows(y + 1, x)) / 3;

                schedule("inline", [&] { result.serial(y).serial(x); });
                schedule("root", [&] {
                  result.serial(y).serial(x);
                  rows.compute_root().serial(y).serial(x);
                });
                schedule("tiles", [&] {
                  result.tile(x, y, xo, yo, xi, yi, 4, 4);
                  rows.compute_at(result, xo);
                });
                schedule("line buffer", [&] {
                  result.split(y, yo, yi, 32).parallel(yo).vectorize(x, 8);
                  rows.compute_at(result, yi).store_at(result, yo).vectorize(x, 8);
                });
              }};

Kernel chain{"chain", {"energy", "height"}, [](Array<double, 1> energy, Array<const double, 1> height) {
               Int i = thread_index();
               Int last = height.extent(0);
               Double left = select(i == 0, 0, height(max(i - 1, 0)));
               Double right = select(i == last, 0, height(min(i, last - 1)));
               Double stretch = hypot(right - left, 1.0 / 9) - 0.1;
               atomic_add(energy(0), 500 * stretch * stretch + 0.25 * (left + right));
             }};

Kernel in_place{"in_place", {"x"}, [](Array<double, 1> x) {
                  Int i = thread_index();
                  x(i) = x(i) * x(i + 1);
                }};

Kernel apart{"apart", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
               Int i = thread_index();
               y(i) = x(i) * x(i + 1);
             }};

Kernel ordered{"ordered", {"y", "sum", "x"}, [](Array<double, 1> y, Array<double, 1> sum, Array<const double, 1> x) {
                 Int i = thread_index();
                 y(i) = atomic_add(sum(0), x(i));
               }};

Kernel prefix{"prefix", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                Int i = thread_index();
                Double before = 0;
                for (Int k : range(i)) before += x(k);
                y(i) = before;
              }};

}  // namespace

SAMITE_PYTHON_MODULE(lesson_kernels, module) {
  module.def(swing, "A swing that dies down.");
  module.def(throws, "The distance that a ball flies.");
  module.def(flight, "A time step of a ball in air: place and velocity.");
  module.def(miss, "The squared distance from a target.");
  module.def(fixed, "Heat in a plate whose edge keeps its values.");
  module.def(insulated, "Heat in a plate that loses none at its edge.");
  module.def(periodic, "Heat in a plate that begins again beyond its edge.");
  module.def(move, "Balls in the wind: a row is a place and a velocity.");
  module.def(histogram, "Counts of equal bins between 0 and 1.");
  module.def(mean, "The mean of all elements.");
  module.def(largest, "The largest of all elements.");
  module.def(profit, "The mean profit of 100,000 days.");
  module.def(demand, "The demand of each day.");
  module.def(roots, "Roots, of numbers that have one.");
  module.def(pick, "Elements by their indices.");
  module.def(count, "Counts with a race.");
  module.def(wave, "A time step of a string, which replaces the state before.");
  module.def(standardise, "Rows of 128 numbers brought to mean 0 and variance 1.");
  module.def(transpose_tiles, "The transpose, by tiles of 32 by 32.");
  module.def(attention, "Attention of one head, 192 rows of 32 numbers.");
  module.def(sharpen, "A picture less its blurred copy.");
  module.def(blur, "The mean of 3 by 3 pixels, by four schedules.");
  module.def(chain, "The energy of a hanging chain of springs.");
  module.def(cooling, "Temperatures after a while in a room of 20 degrees.");
  module.def(pendulum, "A time step of pendulums that are pushed.");
  module.def(in_place, "A product with a neighbour that may be written already.");
  module.def(apart, "The same, written to another array.");
  module.def(ordered, "Sums in the order of the instances.");
  module.def(prefix, "Sums in the order of the elements.");
}
