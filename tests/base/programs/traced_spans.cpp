// Spans without a trace, in one that is written to argv[1], and after it.
#include "samite/base/trace.h"

#include <cstdio>

int main(int count, char **arguments) {
  using namespace samite;
  {
    const TraceSpan outer("launch", "before"), inner("cache", "inner");
  }
  if (count > 1) {
    trace(arguments[1]);
    {
      const TraceSpan during("kernel", "during");
    }
    end_trace();
    const TraceSpan after("kernel", "after");
    std::printf("%s", trace_summary().c_str());
  }
}
