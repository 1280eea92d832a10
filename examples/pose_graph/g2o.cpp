#include "graph.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pose_graph {
namespace {

constexpr std::string_view vertex_tag = "VERTEX_SE3:QUAT", edge_tag = "EDGE_SE3:QUAT", fix_tag = "FIX";

// Files are written with few digits, but a quaternion that is further from length 1 is another mistake.
constexpr double rounding_of_length = 0.01;

class Line {
 public:
  Line(const std::string &file, std::int64_t number, std::string text)
      : file_(file), number_(number), text_(std::move(text)), rest_(text_) {}

  std::int64_t number() const { return number_; }
  bool is_at_end() {
    const std::size_t start = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(std::min(start, rest_.size()));
    return rest_.empty();
  }
  std::string_view word(const char *expected) {
    if (is_at_end()) refuse(fmt::format("{} is expected, the line ends", expected));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::int64_t id() { return parsed<std::int64_t>("the number of a vertex"); }
  double number(const char *expected) {
    const double number = parsed<double>(expected);
    if (!std::isfinite(number)) refuse(fmt::format("{} is {}", expected, number));
    return number;
  }
  void end() {
    if (!is_at_end()) refuse(fmt::format("the end of the line is expected, \"{}\" is given", rest_));
  }

  [[noreturn]] void refuse(const std::string &reason) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", file_, number_, reason));
  }

 private:
  template <class T>
  T parsed(const char *expected) {
    const std::string_view text = word(expected);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      refuse(fmt::format("{} is expected, \"{}\" is given", expected, text));
    return value;
  }

  const std::string &file_;
  std::int64_t number_;
  std::string text_;
  std::string_view rest_;
};

Pose read_pose(Line &line) {
  double numbers[7];
  for (int i = 0; i < 7; ++i)
    numbers[i] = line.number(i < 3 ? "a coordinate of the translation" : "a component of the quaternion");
  const Quaternion<double> rotation(numbers[3], numbers[4], numbers[5], numbers[6]);
  const double length = norm(rotation);
  if (!(std::abs(length - 1) <= rounding_of_length))
    line.refuse(fmt::format("a quaternion of length 1 is expected, its length is {:.6g}", length));
  return {{numbers[0], numbers[1], numbers[2]}, normalize(rotation)};
}

Information read_information(Line &line) {
  Information information;
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j)
      information(i, j) = information(j, i) = line.number("a number of the information matrix");
  if (!is_regular(root_of(information))) line.refuse("the information matrix is not positive definite");
  return information;
}

// Edges and FIX may come before their vertices, so that these are looked up at the end.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void read(Line line) {
    if (line.is_at_end()) return;
    const std::string_view tag = line.word("a tag");
    if (tag.starts_with('#')) return;
    if (tag == vertex_tag)
      read_vertex(line);
    else if (tag == edge_tag)
      read_edge(line);
    else if (tag == fix_tag)
      do {
        fixed_.push_back({line.number(), line.id()});
      } while (!line.is_at_end());
    else
      line.refuse(fmt::format("{}, {} or {} is expected, \"{}\" is given", vertex_tag, edge_tag, fix_tag, tag));
  }

  Graph finished() {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      graph_.edges[i].from = place_of(ends_[i].first);
      graph_.edges[i].to = place_of(ends_[i].second);
    }
    for (const Reference &reference : fixed_) graph_.fixed.push_back(place_of(reference));
    if (graph_.edges.empty()) throw std::runtime_error(fmt::format("{}: the file has no {}", file_, edge_tag));
    return std::move(graph_);
  }

 private:
  struct Reference {
    std::int64_t line, id;
  };
  struct Vertex {
    std::int64_t line;
    std::int32_t place;
  };

  void read_vertex(Line &line) {
    const std::int64_t id = line.id();
    const auto [known, is_new] = vertices_.insert({id, {line.number(), static_cast<std::int32_t>(graph_.ids.size())}});
    if (!is_new) line.refuse(fmt::format("vertex {} was given in line {}", id, known->second.line));
    graph_.ids.push_back(id);
    graph_.poses.push_back(read_pose(line));
    line.end();
  }

  void read_edge(Line &line) {
    const std::int64_t from = line.id(), to = line.id();
    if (from == to) line.refuse(fmt::format("an edge of two vertices is expected, both are {}", from));
    ends_.push_back({{line.number(), from}, {line.number(), to}});
    const Pose measured = read_pose(line);
    graph_.edges.push_back({0, 0, measured, read_information(line)});
    line.end();
  }

  std::int32_t place_of(const Reference &reference) const {
    const auto vertex = vertices_.find(reference.id);
    if (vertex == vertices_.end())
      throw std::runtime_error(fmt::format("{}:{}: the file has no vertex {}", file_, reference.line, reference.id));
    return vertex->second.place;
  }

  std::string file_;
  Graph graph_;
  std::unordered_map<std::int64_t, Vertex> vertices_;
  std::vector<std::pair<Reference, Reference>> ends_;
  std::vector<Reference> fixed_;
};

void write_pose(std::ostream &stream, const Pose &pose) {
  for (const double number : pose.translation) fmt::print(stream, " {}", number);
  for (const double number : pose.rotation) fmt::print(stream, " {}", number);
}

}  // namespace

Graph read_g2o(const std::filesystem::path &file) {
  std::ifstream stream(file);
  const std::string name = file.string();
  if (!stream || std::filesystem::is_directory(file)) throw std::runtime_error(name + " cannot be read");
  Reader reader(name);
  std::string text;
  for (std::int64_t number = 1; std::getline(stream, text); ++number) reader.read(Line(name, number, text));
  return reader.finished();
}

void write_g2o(const std::filesystem::path &file, const Graph &graph) {
  std::ofstream stream(file);
  for (std::size_t i = 0; i < graph.poses.size(); ++i) {
    fmt::print(stream, "{} {}", vertex_tag, graph.ids[i]);
    write_pose(stream, graph.poses[i]);
    fmt::print(stream, "\n");
  }
  for (const std::int64_t place : graph.fixed)
    fmt::print(stream, "{} {}\n", fix_tag, graph.ids[static_cast<std::size_t>(place)]);
  for (const Edge &edge : graph.edges) {
    fmt::print(stream, "{} {} {}", edge_tag, graph.ids[static_cast<std::size_t>(edge.from)],
               graph.ids[static_cast<std::size_t>(edge.to)]);
    write_pose(stream, edge.measured);
    for (int i = 0; i < 6; ++i)
      for (int j = i; j < 6; ++j) fmt::print(stream, " {}", edge.information(i, j));
    fmt::print(stream, "\n");
  }
  if (!stream.flush()) throw std::runtime_error(file.string() + " cannot be written");
}

}  // namespace pose_graph
