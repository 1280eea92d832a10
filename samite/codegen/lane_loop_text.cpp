#include "samite/codegen/lane_loop_text.h"

#include "samite/codegen/loop_text.h"

#include <charconv>
#include <optional>

namespace samite::codegen {
namespace {

// The parameters of the loop's body for the lanes of each vector that are inside the loop: for full and partial
// vectors.
struct Masks {
  std::string parameters, definitions, all, some;

  Masks(const LaneLoop &loop, const std::string &end, const std::string &index) {
    for (int vector = 0; vector < loop.jam; ++vector) {
      const std::string name = loop.jam == 1 ? loop.mask : fmt::format("{}_{}", loop.mask, vector);
      const std::string before = vector == 0 ? "" : fmt::format(" - {} * lane_count", vector);
      parameters += fmt::format(", const Mask {}", name);
      all += ", all_lanes()";
      some += fmt::format(", first_lanes({} - {}{})", end, index, before);
      definitions += fmt::format("{}const Mask {} = first_lanes({} - {}{});", vector == 0 ? "" : " ", name, end,
                                 loop.index, before);
    }
  }
};

// The number of instances, if both ends of the loop are 32-bit constants.
std::optional<int> constant_extent(const LaneLoop &loop) {
  const auto number = [](const std::string &text) -> std::optional<int> {
    int value = 0;
    const char *const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && last == end ? std::optional(value) : std::nullopt;
  };
  const auto begin = number(loop.begin), end = number(loop.end);
  return begin && end && *begin >= 0 && *end > *begin ? std::optional(*end - *begin) : std::nullopt;
}

// The compiler unrolls loops of up to this many vectors; it would not if their length were computed.
constexpr int few_vectors = 8;

bool of_whole_vectors(const LaneLoop &loop, int lanes) {
  const auto count = constant_extent(loop);
  return loop.jam == 1 && count && *count % lanes == 0;
}

bool of_one_vector(const LaneLoop &loop, int lanes) {
  const auto count = constant_extent(loop);
  return loop.jam == 1 && count && *count <= lanes;
}

}  // namespace

bool runs_inside_first(const LaneLoop &loop, int lanes) {
  return loop.copied && of_whole_vectors(loop, lanes) && *constant_extent(loop) > few_vectors * lanes;
}

bool runs_likely_sides_first(const LaneLoop &loop, int lanes) {
  return loop.copied && loop.jam == 1 && !of_one_vector(loop, lanes) && !of_whole_vectors(loop, lanes);
}

namespace {

void likely_sides_first(SourceWriter &out, const LaneLoop &loop, int lanes, const std::function<void()> &body) {
  const std::string end = fmt::format("end{}", loop.number), index = fmt::format("at{}", loop.number),
                    often = fmt::format("often{}", loop.number), always = fmt::format("always{}", loop.number);
  out.open("const auto {} = [&](const {} {}, const Mask {}, const bool {}) __attribute__((always_inline)) {{", often,
           loop.type, loop.index, loop.mask, loop.is_likely);
  body();
  out.line("return true;");
  out.close("};");
  out.line("const auto {0} = [&](const {1} {2}, const Mask {3}) __attribute__((noinline)) {{ {4}({2}, {3}, false); }};",
           always, loop.type, loop.index, loop.mask, often);
  out.line("const {} {} = {};", loop.type, end, loop.end);
  out.line("{} {} = {};", loop.type, index, loop.begin);
  const LoopHead head(loop.rotated, "", fmt::format("{} - {} >= {}", end, index, lanes),
                      fmt::format("{} += {}", index, lanes));
  out.open("{}", head.open);
  out.line("if (!{0}({1}, all_lanes(), true)) {2}({1}, all_lanes());", often, index, always);
  out.close(head.close);
  out.line("if ({0} < {1}) {2}({0}, first_lanes({1} - {0}));", index, end, always);
}

}  // namespace

void lane_loop(SourceWriter &out, const LaneLoop &loop, int lanes, const std::function<void()> &body) {
  const std::string end = fmt::format("end{}", loop.number), index = fmt::format("at{}", loop.number);
  const Masks masks(loop, end, index);
  const int instances = loop.jam * lanes;
  if (of_one_vector(loop, lanes)) {
    // No loop: unrolled schedules have thousands of these, and the time of LLVM's passes over loops grows with the
    // square of their number.
    out.open("{{");
    out.line("const {} {} = {};", loop.type, loop.index, loop.begin);
    out.line("const Mask {} = {};", loop.mask,
             of_whole_vectors(loop, lanes) ? "all_lanes()" : fmt::format("first_lanes({})", *constant_extent(loop)));
    body();
    out.close();
    return;
  }
  if (!loop.is_likely.empty()) return likely_sides_first(out, loop, lanes, body);
  if (!loop.copied) {
    out.line("const {} {} = {};", loop.type, end, loop.end);
    // The end may be the largest number of the type.
    const LoopHead head(loop.rotated, fmt::format("{} {} = {}", loop.type, loop.index, loop.begin),
                        fmt::format("{} < {}", loop.index, end),
                        fmt::format("{0} = {1} - {0} > {2} ? {0} + {2} : {1}", loop.index, end, instances));
    out.open("{}", head.open);
    out.line("{}", masks.definitions);
    body();
    out.close(head.close);
    return;
  }
  if (runs_inside_first(loop, lanes) && !loop.inside.empty()) {
    const std::string function = fmt::format("body{}", loop.number);
    out.open("const auto {} = [&](const {} {}, const bool {}) __attribute__((always_inline)) {{", function, loop.type,
             loop.index, loop.is_inside);
    out.line("const Mask {} = all_lanes();", loop.mask);
    body();
    out.close("};");
    out.line("const {0} {1} = {0}(in_whole_vectors({2}));", loop.type, end, loop.inside);
    out.line("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {4}({1}, true);", loop.type, index, end, lanes, function);
    out.line("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {5}({1}, false);", loop.type, index, end, loop.end, lanes,
             function);
    return;
  }
  if (of_whole_vectors(loop, lanes)) {
    // Full vectors only.
    const LoopHead head(loop.rotated, fmt::format("{} {} = {}", loop.type, loop.index, loop.begin),
                        fmt::format("{} < {}", loop.index, loop.end), fmt::format("{} += {}", loop.index, instances));
    out.open("{}", head.open);
    out.line("const Mask {} = all_lanes();", loop.mask);
    body();
    out.close(head.close);
    return;
  }
  const std::string function = fmt::format("body{}", loop.number);
  out.open("const auto {} = [&](const {} {}{}) __attribute__((always_inline)) {{", function, loop.type, loop.index,
           masks.parameters);
  body();
  out.close("};");
  out.line("const {} {} = {};", loop.type, end, loop.end);
  if (loop.repeated) {
    // The arguments of the last call do not depend on the loop before it, so they are computed once.
    const std::string last = fmt::format("last{}", loop.number);
    out.line("const {0} {1} = {2} + ({3} - {2}) / {4} * {4};", loop.type, last, loop.begin, end, instances);
    out.line("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {5}({1}{6});", loop.type, index, loop.begin, last, instances,
             function, masks.all);
    out.line("if ({0} < {1}) {2}({0}{3});", last, end, function, Masks(loop, end, last).some);
    return;
  }
  out.line("{} {} = {};", loop.type, index, loop.begin);
  const LoopHead head(loop.rotated, "", fmt::format("{} - {} >= {}", end, index, instances),
                      fmt::format("{} += {}", index, instances));
  out.open("{}", head.open);
  out.line("{}({}{});", function, index, masks.all);
  out.close(head.close);
  out.line("if ({0} < {1}) {2}({0}{3});", index, end, function, masks.some);
}

}  // namespace samite::codegen
