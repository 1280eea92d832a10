// Equalises the brightness of a picture: by the cumulative histogram of brightness.
#pragma once

#include "samite/samite.h"

#include <cstdint>

namespace pipelines {

inline auto histogram() {
  using namespace samite;
  using Byte = std::uint8_t;
  return Pipeline{
      "histogram", {"out", "in"}, [](Array<Byte, 3> out, Array<const Byte, 3> in) {
        Var c{"c"}, y{"y"}, x{"x"}, v{"v"};
        Reduction rx{"rx", 0, in.extent(2)}, ry{"ry", 0, in.extent(1)}, rv{"rv", 1, 255};
        Func bright{"bright"};
        Func<Byte> bin{"bin"};
        Func<std::int32_t> of_row{"of_row"}, total{"total"}, steps{"steps"};
        Func<Byte> result{"result", out};
        const auto color = [&](int channel) { return cast<Float>(in(channel, y, x)); };
        bright(y, x) = 0.299f * color(0) + 0.587f * color(1) + 0.114f * color(2);
        const auto byte = [](const Float &value) { return cast<UInt8>(cast<Int>(clamp(value, 0.0f, 255.0f))); };
        bin(y, x) = byte(bright(y, x));
        of_row(y, v) = 0;
        of_row(y, cast<Int>(bin(y, rx))) += 1;
        total(v) = 0;
        total(v) += of_row(ry, v);
        steps(v) = total(v);
        steps(rv) += steps(rv - 1);
        Float pixels = cast<Float>(in.extent(1) * in.extent(2));
        Float even = clamp(cast<Float>(steps(cast<Int>(byte(bright(y, x))))) * (255 / pixels), 0.0f, 255.0f);
        Float red = (color(0) - bright(y, x)) * 0.713f, blue = (color(2) - bright(y, x)) * 0.564f;
        result(c, y, x) = select(c == 0, byte(even + 1.4f * red),
                                 select(c == 1, byte(even - 0.343f * blue - 0.711f * red), byte(even + 1.765f * blue)));

        Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
        // The histogram of each row separately; the bins of a row in vectors before they are counted.
        schedule_cpu([&] {
          result.bound(c, 0, 3).split(y, yo, yi, 8).reorder(c, x, yi, yo).unroll(c).vectorize(x).parallel(yo);
          of_row.compute_root().parallel(y).vectorize(v);
          of_row.update().parallel(y);
          bin.compute_at(of_row, y).vectorize(x);
          total.compute_root().vectorize(v);
          total.update().split(v, xo, xi, 128).reorder(xi, ry, xo).parallel(xo).vectorize(xi);
          steps.compute_root().vectorize(v);
        });
        schedule_cuda([&] {
          result.bound(c, 0, 3).gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
          of_row.compute_root();
          total.compute_root();
          steps.compute_root();
        });
      }};
}

}  // namespace pipelines
