#include "tests/autodiff/random_pipeline.h"

#include "tests/lang/captured_pipeline.h"

#include <random>

namespace samite::test {
namespace pipelines_by_chance {
namespace {

const Var y{"y"}, x{"x"};

class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  void write(Array<double, 2> out, Array<const double, 2> in, Array<const double, 1> row,
             Array<const std::int32_t, 1> map) {
    map_ = &map;
    planes_.push_back(exterior(in));
    lines_.push_back(exterior(row));
    const int stages = between(1, 4);
    for (int i = 0; i < stages; ++i) stage();
    Func<double> result{"result", out};
    result(y, x) = term() + term();
    if (percent(25)) result(y, 0) = result(y, 1) * expression(y, Int(2), 1) + result(y, 0);
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool percent(int of) { return below(100) < of; }

  template <int Rank>
  Func<double> exterior(const Array<const double, Rank> &array) {
    switch (below(5)) {
      case 0: return constant_exterior(array, 0.5);
      case 1: return repeat(array);
      case 2: return mirror_image(array);
      case 3: return mirror_interior(array);
      default: return repeat_edge(array);
    }
  }

  Int mapped(const Int &place) {
    const Int found = (*map_)(place);
    return percent(50) ? promise_clamped(found, 0, 5) : clamp(found, 0, 4);
  }
  Int index(const Int &variable) {
    switch (below(12)) {
      case 0: return percent(30) ? variable * 2 - 1 : variable + 1;
      case 1: return 3 - variable;
      case 2: return variable / 2;
      case 3: return clamp(variable, 1, 3);
      case 4: return Int(below(4));
      case 5: return mapped(clamp(variable, 0, 4));
      case 6: return min(variable + 1, 4);
      case 7: return variable >> 1;
      default: return variable + between(-2, 2);
    }
  }
  Double element(const Int &i, const Int &j) {
    if (percent(30)) {
      const Func<double> &line = lines_[static_cast<std::size_t>(below(static_cast<int>(lines_.size())))];
      return line(index(percent(50) ? i : j));
    }
    const Func<double> &plane = planes_[static_cast<std::size_t>(below(static_cast<int>(planes_.size())))];
    if (percent(15)) return plane(index(j), index(i));
    if (percent(10)) return plane(index(i), index(i));
    return plane(index(i), index(j));
  }
  Double expression(const Int &i, const Int &j, int depth = 2) {
    if (depth == 0) return percent(85) ? element(i, j) : Double(0.25 * between(1, 6));
    const Double a = expression(i, j, depth - 1), b = expression(i, j, depth - 1);
    switch (below(9)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return a / (2 + b * b);
      case 4: return min(a, b);
      case 5: return max(a, b * 0.5);
      case 6: return select(a < b, a * 0.5, b + 1);
      case 7: return sin(a) + b;
      default: return sqrt(1 + a * a) - b;
    }
  }
  Double term() { return expression(y, x, between(1, 2)); }
  Double along(const Var &k) { return expression(percent(50) ? Int(y) + k : Int(k), x + (percent(50) ? 1 : 0), 1); }

  std::string name() { return "f" + std::to_string(planes_.size() + lines_.size()); }

  void stage() {
    Func<double> f{name()};
    switch (below(13)) {
      case 0:
      case 1: f(y, x) = term(); break;
      case 2: {
        Reduction k{"k", between(-1, 1), between(2, 4)};
        if (percent(30)) k.where(k % 2 == 0);
        f(y, x) = term();
        f(y, x) += along(k);
        break;
      }
      case 3: {
        Reduction<2> k{"k", {{0, 3}, {-1, 2}}};
        f(y, x) += expression(y + k[0], x + k[1], 1) * lines_[0](k[0] + k[1]);
        break;
      }
      case 4: {
        Reduction k{"k", 0, 5};
        f(y, x) = expression(x, y, 1);
        f(y, mapped(k)) += expression(y, Int(k), 1);
        break;
      }
      case 5: {
        Reduction k{"k", 1, between(2, 4)};
        f(y, x) = term();
        if (percent(50))
          f(y, k) = f(y, k - 1) * 0.5 * expression(y, Int(k), 1) + expression(y, Int(k), 1);
        else
          f(k, x) = f(k, x) + f(k - 1, x) * 0.75;
        break;
      }
      case 6: {
        Reduction k{"k", 0, 3};
        f(y, x) = 1 + 0.25 * expression(y, x, 1);
        f(y, x) *= 1 + 0.25 * along(k);
        break;
      }
      case 7: {
        Reduction k{"k", -1, 3};
        f(y, x) = percent(50) ? minimum(k, along(k)) : maximum(k, along(k));
        break;
      }
      case 8: {
        Reduction k{"k", 0, 4};
        auto [least, place] = argmin(k, along(k));
        f(y, x) = least + expression(y, clamp(place, 0, 3), 1);
        break;
      }
      case 9: {
        f(y, x) = term();
        f(y, 1) = f(y, 2) * expression(y, Int(0), 1);
        f(2, x) = f(0, x) + f(2, x) * 2;
        f(y, x) = f(y, x) * term();
        break;
      }
      case 10: {
        Reduction k{"k", 0, 3};
        f(y, x) = term();
        f(y, k + 1) = expression(y, Int(k), 1);
        break;
      }
      case 11: {
        Func<double, double> both{name() + "_both"};
        both(y, x) = values(term(), term());
        if (percent(50)) {
          Reduction k{"k", 0, 3};
          auto [a, b] = both(y, x);
          const Double amount = along(k);
          both(y, x) = values(a + b * amount, b * 0.5 + a);
        }
        auto [a, b] = both(y + 1, x);
        f(y, x) = a * b + a;
        break;
      }
      default: {
        Func<double> line{name() + "_line"};
        Reduction k{"k", 0, 4};
        line(x) = expression(Int(1), x, 1);
        if (percent(50))
          line(mapped(k)) += expression(Int(k), Int(0), 1);
        else
          line(k + 1) = line(k) * 0.5 + expression(Int(k), Int(2), 1);
        lines_.push_back(line);
        f(y, x) = line(x) * term();
      }
    }
    planes_.push_back(f);
  }

  std::mt19937 random_;
  const Array<const std::int32_t, 1> *map_ = nullptr;
  std::vector<Func<double>> planes_, lines_;
};

}  // namespace
}  // namespace pipelines_by_chance

ir::CapturedPipeline random_pipeline(std::uint32_t seed) {
  return captured_pipeline(
      [seed](Array<double, 2> out, Array<const double, 2> in, Array<const double, 1> row,
             Array<const std::int32_t, 1> map) { pipelines_by_chance::Writer(seed).write(out, in, row, map); },
      {"out", "in", "row", "map"});
}

}  // namespace samite::test
