#include "samite/jit/page/memory_drawing.h"

#include "samite/jit/page/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::html {
namespace {

constexpr double row_height = 30, least_height = 90, most_height = 280, bytes_of_a_pixel = 64;

}  // namespace

std::string drawn(const Drawing &drawing, const std::function<std::string(const std::string &func)> &marks) {
  const double end = std::max(drawing.end, 1);
  const bool placed = std::ranges::any_of(drawing.pieces, [](const Piece &piece) { return piece.offset.has_value(); });
  const double height =
      placed ? std::clamp(static_cast<double>(drawing.bytes) / bytes_of_a_pixel, least_height, most_height)
             : row_height * static_cast<double>(drawing.pieces.size());
  std::string text = fmt::format("<div class=\"drawing\" style=\"height:{:.0f}px\">\n", height);
  std::size_t row = 0;
  for (const Piece &piece : drawing.pieces) {
    const double length = std::max(piece.last - piece.first + 1, 1);
    double bottom = 0, tall = 0;  // percent
    if (piece.offset) {
      const auto all = static_cast<double>(std::max<std::int64_t>(drawing.bytes, 1));
      bottom = 100 * static_cast<double>(*piece.offset) / all;
      tall = 100 * static_cast<double>(piece.bytes) / all;
    } else {
      tall = 100 / static_cast<double>(drawing.pieces.size());
      bottom = 100 - tall * static_cast<double>(++row);
    }
    text += fmt::format(
        "<button class=\"piece\" {} title=\"{}\" "
        "style=\"left:{:.3f}%;width:{:.3f}%;bottom:{:.3f}%;height:{:.3f}%\"><span>{}</span>",
        marks(piece.func), escaped(piece.title), 100 * (piece.first - 1) / end, 100 * length / end, bottom, tall,
        escaped(piece.label));
    const auto bar = [&](const std::optional<Piece::Span> &span, const char *kind) {
      if (span)
        text += fmt::format("<i class=\"{}\" style=\"left:{:.3f}%;width:{:.3f}%\"></i>", kind,
                            100 * (span->first - piece.first) / length,
                            100 * std::max(span->last - span->first, 1) / length);
    };
    bar(piece.stored, "stores");
    bar(piece.loaded, "loads");
    text += "</button>\n";
  }
  text += fmt::format("</div>\n<p class=\"axis\"><span>0</span><span>{}</span><span>{}</span></p>\n",
                      escaped(drawing.axis), drawing.end);
  return text;
}

}  // namespace samite::html
