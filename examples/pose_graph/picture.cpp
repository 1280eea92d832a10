#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace pose_graph {
namespace {

constexpr double side = 480, margin = 20, title = 24;  // of one graph, in pixels

using Point = std::array<double, 2>;

// From obliquely above, without perspective.
Point projected(const Pose &pose) {
  const Vector<double, 3> &p = pose.translation;
  return {0.87 * p[0] - 0.5 * p[1], 0.25 * p[0] + 0.43 * p[1] - 0.87 * p[2]};
}

struct Box {
  Point low{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  Point high{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::lowest()};

  void add(const std::vector<Pose> &poses) {
    for (const Pose &pose : poses)
      for (std::size_t k = 0; k < 2; ++k) {
        low[k] = std::min(low[k], projected(pose)[k]);
        high[k] = std::max(high[k], projected(pose)[k]);
      }
  }
  Point in_pixels(const Pose &pose) const {
    const double size = std::max({high[0] - low[0], high[1] - low[1], 1e-9}), scale = (side - 2 * margin) / size;
    const Point point = projected(pose);
    return {side / 2 + (point[0] - (low[0] + high[0]) / 2) * scale,
            side / 2 + (point[1] - (low[1] + high[1]) / 2) * scale};
  }
};

// One path for all steps, and one for all other edges: a line for each would make the file several times as large.
std::string drawn(const Graph &graph, const std::vector<Pose> &poses, const Box &box, const char *name, double left) {
  std::string steps, others;
  std::int32_t last = -1;
  for (const Edge &edge : graph.edges) {
    const Point from = box.in_pixels(poses[static_cast<std::size_t>(edge.from)]);
    const Point to = box.in_pixels(poses[static_cast<std::size_t>(edge.to)]);
    const bool is_step = edge.to == edge.from + 1;
    std::string &path = is_step ? steps : others;
    if (!is_step || edge.from != last) path += fmt::format("M{:.1f} {:.1f}", from[0], from[1]);
    path += fmt::format("L{:.1f} {:.1f}", to[0], to[1]);
    if (is_step) last = edge.to;
  }
  return fmt::format(
      "<g transform=\"translate({} {})\" fill=\"none\" stroke-linejoin=\"round\">\n"
      "<path stroke=\"#9dc3e6\" stroke-width=\"0.5\" d=\"{}\"/>\n<path stroke=\"#1f3b57\" d=\"{}\"/>\n</g>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
      left, title, others, steps, left + side / 2, title, name);
}

}  // namespace

void write_picture(const std::filesystem::path &file, const Graph &graph, const std::vector<Pose> &before,
                   const std::vector<Pose> &after) {
  Box box;
  box.add(before);
  box.add(after);
  std::ofstream stream(file);
  stream << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"15\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      2 * side, side + title);
  stream << drawn(graph, before, box, "before", 0) << drawn(graph, after, box, "after", side) << "</svg>\n";
  if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written");
}

}  // namespace pose_graph
