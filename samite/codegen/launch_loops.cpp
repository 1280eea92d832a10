// The loops over a launch where a thread runs each instance, and the sums that all instances add to.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

void KernelEmitter::launch_loop(const For &loop) {
  ThreadLoop text;
  text.index = name(loop.index);
  text.type = scalar_name(loop.type);
  text.begin = scalar(loop.begin);
  text.end = scalar(loop.end);
  text.number = thread_loops_++;
  text.dimension = launch_dimension_++;
  text.launch_rank = kernel_.launch_rank;
  const bool outermost = text.dimension == 0, innermost = loop.kind == LoopKind::Thread;
  if (outermost) {
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      auto *add = stmt.as<Accumulate>();
      if (!add || !add->over_launch || sum_for(*add)) return;
      Sum sum{add, stmt.where(), fmt::format("sum{}", sums_.size())};
      out_.line("{0} {1} = {0}(0);", scalar_name(add->value.type()), sum.name);
      out_.line("bool {}_used = false;", sum.name);
      open_sum(std::move(sum));
    });
  }
  if (innermost && options_.cuda.instances_per_thread > 1) {
    internal_check(!uses_workspace_, "a workspace of instances that run side by side");
    copies_ = options_.cuda.instances_per_thread;
    text.instances = copies_;
    text.several = [&] {
      first_index_ = Value::local(loop.type, loop.index);
      copied_.assign(kernel_.local_count, false);
      copied_[loop.index] = true;
      for (int copy = 0; copy < copies_; ++copy)
        out_.line("const {0} {1}_{2} = {1} + {2};", text.type, text.index, copy);
      side_by_side_ = true;
      several(loop.body);
      side_by_side_ = false;
    };
  }
  target_.thread_loop(out_, text, [&] {
    // An instance that ends early must not end the others that the thread runs.
    const bool may_end = innermost && uses_workspace_;
    if (may_end) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
    launch_body(loop);
    if (!may_end) return;
    out_.close("};");
    out_.line("instance();");
  });
  if (outermost) add_sums_of_blocks();
}

// The body of a loop, which may be one over the launch.
void KernelEmitter::launch_body(const For &loop) {
  const auto rank = static_cast<std::size_t>(kernel_.launch_rank);
  const bool of_launch = loop.kind != LoopKind::Serial && launch_indices_.size() < rank;
  if (of_launch) {
    launch_indices_.push_back(Value::local(loop.type, loop.index));
    if (launch_indices_.size() == rank) name_instance();
  }
  block(loop.body);
  if (of_launch) launch_indices_.pop_back();
}

// The index of the instance, for debug mode's checks.
void KernelEmitter::name_instance() {
  if (!options_.debug) return;
  std::string indices;
  for (const Value &index : launch_indices_) indices += fmt::format("{}{}", indices.empty() ? "" : ", ", scalar(index));
  const int along = in_lanes() ? kernel_.launch_rank - 1 : -1;
  const std::string last = target_.explicit_lanes() ? std::to_string(along) : "0";
  out_.line("[[maybe_unused]] const Instance self{{{{{}}}, {}, {}}};", indices, kernel_.launch_rank, last);
}

void KernelEmitter::add_sums_of_blocks() {
  const std::vector<Sum> sums = std::move(sums_);
  sums_.clear();
  sum_of_element_.clear();
  for (const Sum &sum : sums) {
    out_.open("if (any_of_block({}_used)) {{", sum.name);
    const Access to = access(sum.first->array, sum.first->indices, sum.where);
    out_.line("{}add_sum_of_block<{}>(&{}, {});", to.in_bounds.empty() ? "" : fmt::format("if ({}) ", to.in_bounds),
              memory_name(sum.first->value.type()), to.element, sum.name);
    out_.close();
  }
}

}  // namespace samite::codegen
