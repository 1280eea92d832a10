#include "samite/codegen/launch_sums.h"

#include "samite/codegen/cuda_launch_shape.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <utility>

namespace samite::codegen {

using namespace ir;

void LaunchSums::open(const For &outermost) {
  for_each_statement(outermost.body, [&](const Stmt &stmt) {
    auto *add = stmt.as<Accumulate>();
    if (!add || !add->over_launch || of(*add)) return;
    Sum sum{add, stmt.where(), fmt::format("sum{}", open_.count())};
    emission_.out.line("{0} {1} = {0}(0);", scalar_name(add->value.type()), sum.name);
    emission_.out.line("bool {}_used = false;", sum.name);
    open_.open(std::move(sum));
  });
}

void LaunchSums::close() {
  for (const Sum &sum : open_.close(0)) {
    emission_.out.open("if (any_of_block({}_used)) {{", sum.name);
    const ThreadElement to = access_.element(sum.first->array, sum.first->indices, sum.where);
    emission_.out.line("{}add_sum_of_block<{}>(&{}, {});", to.guard(), memory_name(sum.first->value.type()), to.lvalue,
                       sum.name);
    emission_.out.close();
  }
}

}  // namespace samite::codegen
