// The kernel as a whole, and the statements that write memory.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"
#include "samite/passes/sum_over_launch.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace samite::codegen {

using namespace ir;

namespace {

std::size_t statements_in(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &) { ++count; });
  return count;
}

// What is compiled twice where a thread loop is. The loops of a strip were one (passes/interchange.h), and count as
// one.
std::size_t statements_of_loop(const Kernel &kernel, const For &loop) {
  if (is_tile_kernel(kernel)) return statements_in(loop.body);
  std::size_t count = 0;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *each = stmt.as<For>(); each && each->kind == LoopKind::Thread) count += statements_in(each->body);
  });
  return count;
}

}  // namespace

KernelEmitter::KernelEmitter(const Kernel &kernel, passes::Uniformity uniformity, const Target &target,
                             const EmitOptions &options)
    : Values(std::move(uniformity), target.explicit_lanes()),
      emission_(kernel, options),
      kernel_(kernel),
      options_(options),
      out_(emission_.out),
      failures_(emission_, *this),
      memory_(emission_, *this, failures_),
      messages_(emission_, *this),
      sums_(emission_, *this, memory_),
      places_(kernel),
      tile_calls_(emission_, places_),
      element_loops_(emission_, places_, *this),
      local_arrays_(emission_, *this, failures_, places_, element_loops_),
      loop_text_(emission_, *this),
      rows_(emission_),
      warp_loops_(emission_, *this, memory_, rows_, loop_text_, *this),
      target_(target) {}

EmittedSource KernelEmitter::emit(const std::string &entry) {
  target_.open_kernel(out_, kernel_, entry);
  if (is_tile_kernel(kernel_) && !explicit_lanes()) out_.line("[[maybe_unused]] u8 *const shared = shared_memory();");
  if (kernel_.producers == 0)
    block(kernel_.body);
  else
    roles();
  target_.close_kernel(out_);
  EmittedSource source = std::move(emission_.source);
  source.text = tile_calls_.declarations();
  source.lines.resize(static_cast<std::size_t>(std::ranges::count(source.text, '\n')));
  source.text += out_.take();
  std::ranges::copy(out_.take_lines(), std::back_inserter(source.lines));
  source.entry = entry;
  source.uses_workspace = emission_.uses_workspace;
  source.uses_channel = options_.debug || source.uses_workspace || !source.messages.empty();
  source.sums_over_launch = passes::sums_over_launch(kernel_);
  if (is_tile_kernel(kernel_) && !explicit_lanes()) source.tile_memory = passes::plan_tile_memory(kernel_);
  source.tensor_maps = passes::tensor_maps(kernel_);
  return source;
}

// Those behind the block's own threads run the producing part.
void KernelEmitter::roles() {
  tile_calls_.make_rings();
  // Of a thread that starts copies, and of one that multiplies, by the groups that do so. A multiprocessor has 64 Ki.
  struct Registers {
    int groups, producing, multiplying;
  };
  constexpr Registers known[] = {{2, 40, 232}, {3, 32, 160}};
  const auto own = std::ranges::find(known, kernel_.block_threads / 128, &Registers::groups);
  const bool moves = own != std::end(known);
  out_.open("if (flat_thread() >= {}) {{", kernel_.block_threads);
  if (moves) out_.line("give_registers<{}>();", own->producing);
  block(kernel_.producing);
  out_.close();
  out_.open("else {{");
  if (moves) out_.line("take_registers<{}>();", own->multiplying);
  block(kernel_.body);
  out_.close();
}

void KernelEmitter::block(const Block &block) {
  local_arrays_.open_scope(block);
  std::unordered_map<LocalId, const Operation *> ahead;  // what the block's next stores copy
  for (const Stmt &stmt : block) {
    const Let *let = stmt.as<Let>();
    const LocalStore *store = stmt.as<LocalStore>();
    if (let && elements_ahead(let->value)) {
      ahead.emplace(let->local, &let->value);
    } else if (store && store->value.is_local() && ahead.contains(store->value.id())) {
      const Operation &load = *ahead.at(store->value.id());
      out_.location(stmt.where());
      out_.line("copy_neighbours_ahead<{}>(&{}, &p{}.data[{}]);", elements_ahead(load),
                element_loops_.element(store->array, scalar(store->index)), load.array,
                memory_.thread_offset(load.array, load.operands));
    } else {
      statement(stmt);
    }
  }
}

void KernelEmitter::statement(const Stmt &stmt) {
  out_.location(stmt.where());
  visit(
      stmt, [&](const Let &statement) { let(statement, stmt.where()); },
      [](const CapturedOnly auto &) { throw InternalError("the emitter was given a kernel that is not structured"); },
      [](const CustomAdjoint &) { throw InternalError("the emitter was given a kernel with adjoints of its own"); },
      [&](const Store &statement) { store(statement, stmt.where()); },
      [&](const Accumulate &statement) { accumulate(statement, stmt.where()); },
      [&](const Allocate &statement) { local_arrays_.allocate(statement, stmt.where()); },
      [&](const LocalStore &statement) { local_arrays_.store(statement, stmt.where()); },
      [&](const TileCall &statement) {
        internal_check(!in_lanes(), "a call on tiles inside of a thread loop");
        tile_calls_.call(statement, stmt.where());
      },
      [&](const LoadStream &statement) { tile_calls_.load_stream(statement, stmt.where()); },
      [&](const LoadPack &statement) { load_pack(statement); },
      [&](const StorePack &statement) { store_pack(statement); },
      // On the CPU a loop over a block's threads has ended before the next begins.
      [&](const Barrier &barrier) {
        if (explicit_lanes()) return;
        if (barrier.threads == 0)
          out_.line("__syncthreads();");
        else
          out_.line("sync_threads_at<1, {}>();", barrier.threads);
      },
      [&](const CommitCopies &) { out_.line("end_group_of_copies();"); },
      [&](const WaitForCopies &wait) { out_.line("wait_for_copies<{}>();", wait.groups); },
      [&](const Print &statement) { messages_.print(statement, stmt.where()); },
      [&](const Check &statement) { messages_.check(statement, stmt.where()); },
      [&](const If &statement) { branch(statement); }, [&](const For &statement) { loop(statement); },
      [&](const While &statement) { loop(statement); });
}

void KernelEmitter::store(const Store &store, SourceLocation where) {
  const Access to = memory_.access(store.array, store.indices, where);
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
  if (const Sum *sum = sums_.of(accumulate)) {
    if (in_lanes())
      out_.line("{0} += {1} ? {2} : {3}(0);", sum->name, mask_, vector(value), vector_name(value.type()));
    else
      out_.line("{0} = sum_of({0}, {1});", sum->name, scalar(value));
    out_.line("{}_used = true;", sum->name);
    return;
  }
  const Row *row = rows_.find(accumulate);
  if (row && !in_lanes()) return warp_loops_.add(*row, accumulate, where);
  const bool shared = !explicit_lanes() || !facts(accumulate.array).worker_private;
  const Access to = memory_.access(accumulate.array, accumulate.indices, where);
  if (to.shape != Shape::Uniform) {
    out_.line("{}({}, {});",
              !accumulate.atomic ? "plain_add"
              : shared           ? "atomic_add"
                                 : "serial_add",
              to.arguments(), vector(value));
    return;
  }
  if (row) {
    out_.line("{}.values[{}] = {} ? {} : {}(0);", row->name, row->count, mask_, vector(value),
              vector_name(value.type()));
    out_.line("{}_last = &{};", row->name, to.element);
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

void KernelEmitter::thread_loop(const For &loop) {
  internal_check(!in_lanes(), "a thread loop inside a thread loop");
  internal_check(loop.step.is_constant(1.0), "a thread loop whose step is not one");
  const int number = thread_loops_++;
  ThreadLoop text{name(loop.index), std::string(scalar_name(loop.type)), scalar(loop.begin), scalar(loop.end), "",
                  number,           statements_of_loop(kernel_, loop)};
  text.mask = fresh("m");
  text.jam = loop.jam;
  text.repeated = loops_around_lanes_ > 0;
  out_.open("{{");
  const std::size_t outer_sums = sums_.open_count();
  sums_.declare_in_lanes(loop);
  target_.thread_loop(out_, text, [&] {
    if (loop.jam > 1) return jammed_body(loop, text);
    mask_ = text.mask;
    launch_body(loop);
    mask_.clear();
  });
  sums_.add_lanes(outer_sums);
  out_.close();
}

}  // namespace samite::codegen
