// Schedules as text that is C++: what is printed can be edited, and read again.
//
//   rows_gradient.store_at(in_gradient_sum, y_strip);
//   rows_gradient.compute_at(in_gradient_sum, y_row).vectorize(x);
//   auto packed = panel.in(sums);
//
// A statement calls directives of one Func, one after another. `auto` names a Func that a directive makes. Loops and
// Funcs are called by their names.
#pragma once

#include "samite/ir/func.h"

#include <string>

namespace samite::schedules {

// The directives of the pipeline's schedule of this name, a statement a line.
std::string schedule_text(const ir::CapturedPipeline &captured, const std::string &schedule);

// The pipeline with a schedule for the CPU, "cpu", in place of one that it has. UserError, with the line of the text,
// for what is no directive, and for a Func that the pipeline does not have.
ir::CapturedPipeline with_schedule_text(ir::CapturedPipeline captured, const std::string &text);

// A Func that a directive of this kind (in, clone_in, rfactor) makes of another one, with its parameters added to the
// pipeline.
ir::Func func_of_schedule(ir::CapturedPipeline &captured, std::uint32_t of, const std::string &name,
                          ir::Directive::Kind kind);

}  // namespace samite::schedules
