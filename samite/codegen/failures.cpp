#include "samite/codegen/failures.h"

namespace samite::codegen {

std::string Failures::blame(SourceLocation where) {
  const bool known = emission_.options.debug && in_instance();
  return fmt::format("{}, {}{}", emission_.file(where), where.line, known ? ", self" : "");
}

std::string Failures::blame_all(SourceLocation where) {
  std::string place = blame(where);
  if (values_.in_lanes() && place.ends_with("self"))
    place.replace(place.size() - 4, 4, fmt::format("of_first(self, {})", values_.mask()));
  return place;
}

void Failures::enter(const ir::Value &index) {
  indices_.push_back(index);
  if (!in_instance() || !emission_.options.debug) return;
  std::string indices;
  for (const ir::Value &each : indices_)
    indices += fmt::format("{}{}", indices.empty() ? "" : ", ", values_.scalar(each));
  const int rank = emission_.kernel.launch_rank, along = values_.in_lanes() ? rank - 1 : -1;
  const std::string last = values_.explicit_lanes() ? std::to_string(along) : "0";
  emission_.out.line("[[maybe_unused]] const Instance self{{{{{}}}, {}, {}}};", indices, rank, last);
}

}  // namespace samite::codegen
