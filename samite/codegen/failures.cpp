#include "samite/codegen/failures.h"

#include <fmt/ranges.h>

namespace samite::codegen {

std::string Failures::blame(SourceLocation where) {
  const bool known = emission_.options.debug && in_instance();
  return fmt::format("{}, {{{}, {}}}", known ? "&self" : "nullptr", emission_.file(where), where.line);
}

std::string Failures::check_indices(const Question &question, std::uint32_t array,
                                    const std::vector<std::string> &indices, SourceLocation where) {
  const std::string asked = fmt::format("{}; {}; {}", question.function,
                                        emission_.facts(array).extents_of.value_or(array), fmt::join(indices, "; "));
  const auto known = answers_.find(asked);
  const bool is_known = known != answers_.end() && emission_.out.is_open(known->second.scope);
  if (is_known && known->second.mask == question.mask) return known->second.name;
  const std::string inside = emission_.fresh("c");
  if (is_known) {
    // The answer's scope is open, so that its lanes are those of this place and others.
    const Answer &answer = known->second;
    if (question.type == "Mask")
      emission_.out.line("const Mask {} = {} & {};", inside, answer.name, question.mask);
    else
      emission_.out.line("const bool {} = {} && any({});", inside, answer.name, question.mask);
    return inside;
  }
  emission_.out.line("const {} {} = {}(failure, {}{}p{}.extent, {}, {}, {});", question.type, inside, question.function,
                     question.mask, question.mask.empty() ? "" : ", ", array, array, blame(where),
                     fmt::join(indices, ", "));
  answers_.insert_or_assign(asked, Answer{inside, question.mask, emission_.out.scope()});
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
