// The HTML report of a scheduled pipeline: the data that jit/pipeline_page.h collects, and the file.
//
// The algorithm with its schedule, the loop nest, the emitted text, the memory over time and the figures are foldable
// panels side by side. Everything that belongs to a Func has its number in `data-f`, and is highlighted when one of its
// names is clicked. The file contains its style and script, and forbids the browser to load anything.
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
  std::vector<SourceLocation> text_lines;  // for each of its lines, the user's
  std::vector<std::string> arrays;         // by local array: the Func whose values it holds
  std::optional<ReportedVariant> figures;  // empty if it was not compiled
  std::string problem;                     // the reason
};

// The pipeline's own array between kernels: from launch `first` to launch `last`, numbered as in the program's text.
struct PageTemporary {
  std::string func, type;
  std::optional<std::int64_t> bytes;  // empty if they are known only at launch
  int first, last;
};

struct Page {
  std::string pipeline, target, schedule;  // the schedule's name, "" if none was chosen
  std::vector<schedules::FunctionText> functions;
  std::vector<schedules::NestLine> nest;
  std::vector<PageTemporary> temporaries;
  std::vector<PageKernel> kernels;
};

std::string to_html(const Page &page);

}  // namespace samite::jit
