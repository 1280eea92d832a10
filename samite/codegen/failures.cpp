#include "samite/codegen/failures.h"

namespace samite::codegen {

std::string Failures::blame(SourceLocation where) {
  const bool known = emission_.options.debug && in_instance();
  return fmt::format("{}, {}{}", emission_.file(where), where.line, known ? ", self" : "");
}

std::string Failures::blame_first(SourceLocation where, const std::string &mask) {
  std::string place = blame(where);
  if (place.ends_with("self")) place.replace(place.size() - 4, 4, fmt::format("of_first(self, {})", mask));
  return place;
}

std::string Failures::check_index(const std::string &before, const std::string &index, const std::string &bounds) {
  const std::string inside = emission_.fresh("c");
  emission_.out.line("const bool {} = {}in_bounds(failure, {}, {});", inside, before.empty() ? "" : before + " && ",
                     index, bounds);
  return inside;
}

std::string Failures::bounds(std::uint32_t array, std::size_t dimension, const std::string &blame) {
  return fmt::format("p{0}.extent[{1}], {0}, {1}, {2}", array, dimension, blame);
}

void Failures::enter(const ir::Value &index, int along) {
  indices_.push_back(index);
  if (!in_instance() || !emission_.options.debug) return;
  std::string indices;
  for (const ir::Value &each : indices_) indices += fmt::format("{}{}", indices.empty() ? "" : ", ", scalar_text(each));
  emission_.out.line("[[maybe_unused]] const Instance self{{{{{}}}, {}, {}}};", indices, emission_.kernel.launch_rank,
                     along);
}

}  // namespace samite::codegen
