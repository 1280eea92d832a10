// The page of a scheduled pipeline: what jit/pipeline_page.h gathers of it, and one HTML file of that.
//
// The algorithm with its schedule, the loop nest, the emitted text, the memory over time and the figures are panels
// side by side, and fold. What belongs to a Func has its number in `data-f`, and lights up when one of its names is
// clicked. The file has its style and script in it, and forbids the browser to load anything.
//
// Pure functions of their arguments.
#pragma once

#include "samite/jit/report.h"
#include "samite/schedule/algorithm_text.h"
#include "samite/schedule/loop_nest.h"
#include "samite/schedule/memory_plan.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::jit {

struct PageKernel {
  std::string name;
  int threads = 0;  // of a block; 0 on the CPU
  schedules::KernelMemory memory;
  std::string text;                        // emitted
  std::vector<SourceLocation> text_lines;  // for each line of it the user's
  std::vector<std::string> arrays;         // by local array: the Func that it keeps values of
  std::optional<ReportedVariant> figures;  // nothing where it was not compiled
  std::string problem;                     // why not
};

// An array of the pipeline's own, between kernels: from launch `first` to launch `last`, as the program's text has
// them.
struct PageTemporary {
  std::string func, type;
  std::optional<std::int64_t> bytes;  // nothing where they are known at launch only
  int first, last;
};

struct Page {
  std::string pipeline, target, schedule;  // the schedule's name, "" where none was chosen
  std::vector<schedules::FunctionText> functions;
  std::vector<schedules::NestLine> nest;
  std::vector<PageTemporary> temporaries;
  std::vector<PageKernel> kernels;
};

std::string to_html(const Page &page);

}  // namespace samite::jit
