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
  std::vector<Answer> &known = answers_[asked];
  std::erase_if(known, [&](const Answer &answer) { return !emission_.out.is_open(answer.scope); });
  for (const Answer &answer : known)
    if (answer.mask == question.mask) return answer.name;
  const std::string inside = emission_.fresh("c");
  const Answer own{inside, question.mask, emission_.out.scope()};
  if (!known.empty()) {
    // The answer's scope is open, so that its lanes are those of this place and others.
    const std::string &answer = known.back().name;
    if (question.type == "Mask")
      emission_.out.line("const Mask {} = {} & {};", inside, answer, question.mask);
    else
      emission_.out.line("const bool {} = {} && any({});", inside, answer, question.mask);
    known.push_back(own);
    return inside;
  }
  emission_.out.line("const {} {} = {}(failure, {}{}{}{}.extent, {}, {}, {});", question.type, inside,
                     question.function, question.mask, question.mask.empty() ? "" : ", ", question.arrays, array, array,
                     blame(where), fmt::join(indices, ", "));
  known.push_back(own);
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
