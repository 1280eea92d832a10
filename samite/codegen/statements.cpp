// The kernel as a whole, and the statements that write memory.
#include "samite/base/error.h"
#include "samite/codegen/index_arithmetic.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/place_arrays.h"
#include "samite/passes/sum_over_launch.h"

#include <algorithm>
#include <set>
#include <utility>

namespace samite::codegen {

using namespace ir;

KernelEmitter::KernelEmitter(const Kernel &kernel, passes::Uniformity uniformity, const Target &target,
                             const EmitOptions &options)
    : emission_(kernel, options),
      kernel_(kernel),
      options_(options),
      out_(emission_.out),
      places_(kernel),
      tile_calls_(emission_, places_),
      element_loops_(emission_, places_, *this),
      index_forms_(kernel),
      uniformity_(std::move(uniformity)),
      target_(target),
      local_arrays_(kernel.local_array_count),
      only_added_to_(passes::arrays_only_added_to(kernel)),
      uses_workspace_(passes::uses_workspace(kernel)) {
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *loop = stmt.as<For>(); loop && loop->kind == LoopKind::Thread && target_.explicit_lanes())
      for_each_statement(loop->body, [&](const Stmt &) { ++statements_in_thread_loops_; });
  });
  if (target_.explicit_lanes()) return;
  of_warp_ = passes::uniformity(kernel);
  sum_of_.assign(kernel.local_count, nullptr);
  // Checks of indices are of the numbers that the program has.
  only_index_ = options.debug ? std::vector<bool>(kernel.local_count, false) : only_index(kernel);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (let && (let->value.op == Op::Add || let->value.op == Op::Sub)) sum_of_[let->local] = &let->value;
  });
}

EmittedSource KernelEmitter::emit(const std::string &entry) {
  target_.open_kernel(out_, kernel_, entry);
  if (is_tile_kernel(kernel_) && !target_.explicit_lanes())
    out_.line("[[maybe_unused]] u8 *const shared = shared_memory();");
  block(kernel_.body);
  target_.close_kernel(out_);
  EmittedSource source = std::move(emission_.source);
  source.text = tile_calls_.declarations() + out_.take();
  source.entry = entry;
  source.uses_workspace = uses_workspace_;
  source.uses_channel = options_.debug || source.uses_workspace || !source.messages.empty();
  source.sums_over_launch = passes::sums_over_launch(kernel_);
  if (is_tile_kernel(kernel_) && !target_.explicit_lanes()) source.tile_memory = passes::plan_tile_memory(kernel_);
  return source;
}

void KernelEmitter::block(const Block &block) {
  open_workspace_scope(block);
  for (const Stmt &stmt : block) statement(stmt);
}

void KernelEmitter::statement(const Stmt &stmt) {
  out_.location(stmt.where());
  visit(
      stmt, [&](const Let &statement) { let(statement, stmt.where()); },
      [](const CapturedOnly auto &) { throw InternalError("the emitter was given a kernel that is not structured"); },
      [](const CustomAdjoint &) { throw InternalError("the emitter was given a kernel with adjoints of its own"); },
      [&](const Store &statement) { store(statement, stmt.where()); },
      [&](const Accumulate &statement) { accumulate(statement, stmt.where()); },
      [&](const Allocate &statement) { allocate(statement, stmt.where()); },
      [&](const LocalStore &statement) { local_store(statement, stmt.where()); },
      [&](const TileCall &statement) {
        internal_check(!in_lanes(), "a call on tiles inside of a thread loop");
        tile_calls_.call(statement, stmt.where());
      },
      [&](const LoadStream &statement) { tile_calls_.load_stream(statement, stmt.where()); },
      [&](const Barrier &) { out_.line("__syncthreads();"); },
      [&](const CommitCopies &) { out_.line("end_group_of_copies();"); },
      [&](const WaitForCopies &wait) { out_.line("wait_for_copies<{}>();", wait.groups); },
      [&](const Print &statement) { print(statement, stmt.where()); },
      [&](const Check &statement) { check(statement, stmt.where()); }, [&](const If &statement) { branch(statement); },
      [&](const For &statement) { loop(statement); }, [&](const While &statement) { loop(statement); });
}

void KernelEmitter::store(const Store &store, SourceLocation where) {
  const Access to = access(store.array, store.indices, where);
  if (to.shape != Shape::Uniform) {
    out_.line("{}({}, {});", to.shape == Shape::Linear ? "store" : "scatter", to.arguments(), vector(store.value));
    return;
  }
  if (element_loops_.grouped_store(store, to.element)) return;
  const std::string guard = to.in_bounds.empty() ? "" : fmt::format("if ({}) ", to.in_bounds);
  if (shape(store.value) == Shape::Uniform)
    out_.line("{}{} = {};", guard, to.element, scalar(store.value));
  else
    out_.line("{}store_last({}, &{}, {});", guard, mask_, to.element, vector(store.value));
}

void KernelEmitter::accumulate(const Accumulate &accumulate, SourceLocation where) {
  const Value &value = accumulate.value;
  const auto element = scalar_name(value.type()), memory = memory_name(value.type());
  if (const Sum *sum = sum_for(accumulate)) {
    if (in_lanes())
      out_.line("{0} += {1} ? {2} : {3}(0);", sum->name, mask_, vector(value), vector_name(value.type()));
    else
      out_.line("{0} = sum_of({0}, {1});", sum->name, scalar(value));
    out_.line("{}_used = true;", sum->name);
    return;
  }
  const Rows *rows = rows_for(accumulate);
  if (rows && !in_lanes()) return add_row(*rows, accumulate, where);
  const bool shared = !target_.explicit_lanes() || !facts(accumulate.array).worker_private;
  const Access to = access(accumulate.array, accumulate.indices, where);
  if (to.shape != Shape::Uniform) {
    out_.line("{}({}, {});",
              !accumulate.atomic ? "plain_add"
              : shared           ? "atomic_add"
                                 : "serial_add",
              to.arguments(), vector(value));
    return;
  }
  if (rows) {
    out_.line("{}.values[{}] = {} ? {} : {}(0);", rows->name, rows->count, mask_, vector(value),
              vector_name(value.type()));
    out_.line("{}_last = &{};", rows->name, to.element);
    return;
  }
  std::string sum = scalar(value);
  if (in_lanes())
    sum = shape(value) == Shape::Uniform ? fmt::format("{}(count({})) * {}", element, mask_, scalar(value))
                                         : fmt::format("sum_lanes<{}>({}, {})", element, mask_, vector(value));
  const std::string guard = to.in_bounds.empty() ? "" : fmt::format("if ({}) ", to.in_bounds);
  if (accumulate.atomic && shared)
    out_.line("{}atomic_add<{}>(&{}, {});", guard, memory, to.element, sum);
  else
    out_.line("{}{} += {};", guard, to.element, sum);
}

// A loss, or the gradient of a scalar, is accumulated by every instance into one element. An atomic step for each
// vector would serialise all threads of the machine on it, so the loop keeps a vector of partial sums and adds them
// when it is over. Only where the kernel does nothing else with the array, whose order could be told.
std::vector<KernelEmitter::Sum> KernelEmitter::sums_of(const For &loop) const {
  std::vector<Sum> sums;
  // Checks name the instance, which is known at the addition alone.
  if (options_.debug && !is_tile_kernel(kernel_)) return sums;
  std::set<Element> elements;
  std::set<LocalId> inside{loop.index};
  for (const Carried &carried : loop.carried) inside.insert(carried.inner);
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { inside.insert(local); });
  });
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    const Accumulate *candidate = stmt.as<Accumulate>();
    if (!candidate || !only_added_to_[candidate->array] || sum_for(*candidate)) return;
    for (const Value &index : candidate->indices)
      if (shape(index) != Shape::Uniform || (index.is_local() && inside.contains(index.id()))) return;
    if (elements.insert(element_of(*candidate)).second)
      sums.push_back({candidate, stmt.where(), fmt::format("sum{}", sums_.size() + sums.size())});
  });
  return sums;
}

void KernelEmitter::declare_sums(std::vector<Sum> sums) {
  for (Sum &sum : sums) {
    out_.line("{0} {1} = {0}(0);", vector_name(sum.first->value.type()), sum.name);
    out_.line("bool {}_used = false;", sum.name);
    open_sum(std::move(sum));
  }
}

void KernelEmitter::add_sums(std::size_t outer) {
  const std::vector<Sum> done(sums_.begin() + static_cast<std::ptrdiff_t>(outer), sums_.end());
  sums_.resize(outer);
  for (const Sum &sum : done) sum_of_element_.erase(element_of(*sum.first));
  for (const Sum &sum : done) {
    const auto element = scalar_name(sum.first->value.type()), memory = memory_name(sum.first->value.type());
    const Access to = access(sum.first->array, sum.first->indices, sum.where);
    const std::string guard = to.in_bounds.empty() ? "" : " && " + to.in_bounds;
    const std::string lanes = fmt::format("sum_lanes<{}>(all_lanes(), {})", element, sum.name);
    if (facts(sum.first->array).worker_private)
      out_.line("if ({}_used{}) {} += {};", sum.name, guard, to.element, lanes);
    else
      out_.line("if ({}_used{}) atomic_add<{}>(&{}, {});", sum.name, guard, memory, to.element, lanes);
  }
}

const KernelEmitter::Sum *KernelEmitter::sum_for(const Accumulate &accumulate) const {
  if (sums_.empty()) return nullptr;
  auto found = sum_of_element_.find(element_of(accumulate));
  return found == sum_of_element_.end() ? nullptr : &sums_[found->second];
}

KernelEmitter::Element KernelEmitter::element_of(const Accumulate &accumulate) {
  Element element{accumulate.array};
  for (const Value &index : accumulate.indices) {
    element.push_back(static_cast<std::uint64_t>(index.kind()));
    element.push_back(static_cast<std::uint64_t>(index.type().element()));
    element.push_back(index.bits());
  }
  return element;
}

void KernelEmitter::open_sum(Sum sum) {
  sum_of_element_[element_of(*sum.first)] = sums_.size();
  sums_.push_back(std::move(sum));
}

void KernelEmitter::thread_loop(const For &loop) {
  internal_check(!in_lanes(), "a thread loop inside a thread loop");
  internal_check(loop.step.is_constant(1.0), "a thread loop whose step is not one");
  const int number = thread_loops_++;
  ThreadLoop text{name(loop.index), std::string(scalar_name(loop.type)), scalar(loop.begin), scalar(loop.end), "",
                  number,           statements_in_thread_loops_};
  text.mask = fresh("m");
  text.jam = loop.jam;
  text.repeated = loops_around_lanes_ > 0;
  out_.open("{{");
  const std::size_t outer_sums = sums_.size();
  declare_sums(sums_of(loop));
  target_.thread_loop(out_, text, [&] {
    if (loop.jam > 1) return jammed_body(loop, text);
    mask_ = text.mask;
    launch_body(loop);
    mask_.clear();
  });
  add_sums(outer_sums);
  out_.close();
}

}  // namespace samite::codegen
