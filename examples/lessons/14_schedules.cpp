// Lesson 14. Schedules: one algorithm, four orders of the same work, and one result.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
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

  const int h = 64, w = 64;
  std::vector<float> pixels(h * w);
  for (int i = 0; i < h * w; ++i) pixels[i] = static_cast<float>(i * 7 % 101);
  Device device = Device::cpu();
  Buffer<float> in{device, {h, w}, pixels}, out{device, {h, w}};

  std::vector<float> first;
  for (const char *name : {"inline", "root", "tiles", "line buffer"}) {
    blur.launch({.schedule = name}, out, in);
    if (first.empty()) first = out.to_vector();
    std::printf("%s: %s\n%s\n", name, out.to_vector() == first ? "the same result" : "ANOTHER RESULT",
                blur.loop_nest(device, name).c_str());
  }
}
