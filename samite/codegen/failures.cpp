#include "samite/codegen/failures.h"

#include <fmt/ranges.h>

namespace samite::codegen {

std::string Failures::blame(SourceLocation where) {
  const bool known = emission_.options.debug && in_instance();
  return fmt::format("{}, {{{}, {}}}", known ? "&self" : "nullptr", emission_.file(where), where.line);
}

std::string Failures::check_indices(std::string_view type, const std::string &question, std::uint32_t array,
                                    const std::vector<std::string> &indices, SourceLocation where) {
  const std::string asked =
      fmt::format("{}; {}; {}", question, emission_.facts(array).extents_of.value_or(array), fmt::join(indices, "; "));
  if (const auto known = answers_.find(asked); known != answers_.end() && emission_.out.is_open(known->second.scope))
    return known->second.name;
  const std::string inside = emission_.fresh("c");
  emission_.out.line("const {0} {1} = {2}p{3}.extent, {3}, {4}, {5});", type, inside, question, array, blame(where),
                     fmt::join(indices, ", "));
  answers_.insert_or_assign(asked, Answer{inside, emission_.out.scope()});
  return inside;
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
