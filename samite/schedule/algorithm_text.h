// Prints a pipeline as a user would write it: its definitions, and the directives of a schedule.
//
//   rows(y, x) = (image(y, x - 1) + image(y, x) + image(y, x + 1)) / 3
//   rows.compute_at(result, yi)
//
// A value that is used several times and is more than a leaf gets a name on a line of its own. Numbers have no type
// suffix. The text is for people and is not parsed.
#pragma once

#include "samite/schedule/algorithm.h"

#include <string>
#include <vector>

namespace samite::schedules {

struct DefinitionText {
  std::vector<std::string> lines;  // the last one is the definition
  SourceLocation where;
};

struct FunctionText {
  std::string name;
  std::string type;  // "f32", or "f32, i32" of several values
  bool output = false;
  std::vector<DefinitionText> definitions;
  std::vector<std::string> directives;  // of the schedule
};

// The Funcs in the order of the program. `schedule` names one of the pipeline's schedules, or is empty for none. The
// Funcs that exist only in that schedule come last. UserError as in lowering.
std::vector<FunctionText> text_of(const ir::CapturedPipeline &captured, const std::string &schedule);

// Prints a whole value of the definition: "clamp(in(x), 0, n) + 1".
std::string text_of(const Algorithm &algorithm, const Definition &definition, const ir::Value &value);

// Prints a directive as a call: "rows.update(0).split(x, xo, xi, 8)".
std::string to_string(const ir::Directive &directive, const ir::CapturedPipeline &captured);

}  // namespace samite::schedules
