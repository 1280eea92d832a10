#include "samite/lang/schedule.h"

#include "samite/base/error.h"
#include "samite/lang/pipeline_trace.h"

#include <algorithm>
#include <limits>

namespace samite {
namespace {

using lang::PipelineTrace;
using Kind = ir::Directive::Kind;

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::split: return "split";
    case Kind::fuse: return "fuse";
    case Kind::reorder: return "reorder";
    case Kind::rename: return "rename";
    case Kind::serial: return "serial";
    case Kind::unroll: return "unroll";
    case Kind::vectorize: return "vectorize";
    case Kind::parallel: return "parallel";
    case Kind::gpu_block: return "gpu_blocks";
    case Kind::gpu_thread: return "gpu_threads";
    case Kind::compute_inline: return "compute_inline";
    case Kind::compute_root: return "compute_root";
    case Kind::compute_at: return "compute_at";
    case Kind::store_root: return "store_root";
    case Kind::store_at: return "store_at";
    case Kind::store_in: return "store_in";
    case Kind::reorder_storage: return "reorder_storage";
    case Kind::pad: return "pad";
    case Kind::fold_storage: return "fold_storage";
    case Kind::bound: return "bound";
    case Kind::align_bounds: return "align_bounds";
    case Kind::atomic: return "atomic";
    case Kind::allow_race_conditions: return "allow_race_conditions";
    case Kind::rfactor: return "rfactor";
    case Kind::in: return "in";
    case Kind::compute_with: return "compute_with";
    case Kind::specialize: return "specialize";
    case Kind::pipelined: return "pipelined";
    case Kind::clone_in: return "clone_in";
  }
  return "";
}

PipelineTrace &pipeline_at(Kind kind, SourceLocation where) {
  return PipelineTrace::current("the scheduling function " + name_of(kind), where);
}

std::vector<std::string> names_of(const std::vector<Var> &variables) {
  std::vector<std::string> names;
  for (const Var &variable : variables) names.push_back(variable.name());
  return names;
}

ir::Directive directive(Kind kind, std::vector<std::string> names = {}, std::vector<std::int64_t> numbers = {},
                        Tail tail = Tail::automatic) {
  ir::Directive directive{kind, 0};
  directive.names = std::move(names);
  directive.numbers = std::move(numbers);
  directive.tail = tail;
  return directive;
}

// Loops and dimensions are counted in 32 bits.
constexpr std::int64_t most_index = std::numeric_limits<std::int32_t>::max();

void require_at_least(std::int64_t least, std::int64_t number, Kind kind, const std::string &what,
                      SourceLocation where) {
  if (number < least)
    throw UserError(where, name_of(kind) + ": " + what + " is " + std::to_string(number) + ", but is at least " +
                               std::to_string(least));
  if (number > most_index)
    throw UserError(where, name_of(kind) + ": " + what + " is " + std::to_string(number) + ", but is at most " +
                               std::to_string(most_index) + ", as no loop or dimension has more elements");
}

// Checks that the elements from `begin` on have indices of 32 bits.
void require_indices(std::int64_t begin, std::int64_t extent, Kind kind, SourceLocation where) {
  const std::int64_t end = begin > most_index ? begin : begin + extent - 1;
  if (begin < -most_index - 1 || end > most_index)
    throw UserError(where, name_of(kind) + ": " + std::to_string(extent) + " elements from " + std::to_string(begin) +
                               " on have indices outside of " + std::to_string(-most_index - 1) + " to " +
                               std::to_string(most_index) +
                               ", which is what 32 bits hold; give fewer, or another begin");
}

void run_schedule(ir::CapturedSchedule::For target, const std::string &name, FunctionRef<void()> directives,
                  SourceLocation where) {
  PipelineTrace::current("the schedule '" + name + "'", where).schedule({target, name, {}, where}, directives);
}

}  // namespace

const Stage &Stage::say(ir::Directive directive, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(directive.kind, where);
  ir::CapturedSchedule &schedule = pipeline.open_schedule(name_of(directive.kind), where);
  directive.func = pipeline.scheduled(handle_, name_of(directive.kind), where);
  directive.definition = handle_.definition;
  directive.specialization = handle_.specialization;
  directive.where = where;
  schedule.directives.push_back(std::move(directive));
  return *this;
}

const Stage &Stage::say_of_func(ir::Directive directive, SourceLocation where) const {
  const std::string what = name_of(directive.kind);
  const std::string func = pipeline_at(directive.kind, where).declaration(handle_, where).name;
  if (handle_.specialization)
    throw UserError(where, what + " of a specialization of the Func '" + func +
                               "': it is the same for all of them; call it on the Func itself");
  if (handle_.definition != 0)
    throw UserError(where, what + " of update(" + std::to_string(handle_.definition - 1) + ") of the Func '" + func +
                               "': it is about the Func as a whole; call it on the Func itself");
  return say(std::move(directive), where);
}

ir::Directive Stage::about(ir::Directive::Kind kind, const Stage &other, std::vector<std::string> names,
                           SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(kind, where);
  pipeline.open_schedule(name_of(kind), where);
  ir::Directive about = directive(kind, std::move(names));
  about.other = pipeline.scheduled(other.handle_, name_of(kind), where);
  about.other_definition = other.handle_.definition;
  return about;
}

Stage Stage::update(int n, SourceLocation where) const {
  const auto &func = PipelineTrace::current("the scheduling function update", where).declaration(handle_, where);
  const auto updates = func.definitions.empty() ? 0 : func.definitions.size() - 1;
  if (n < 0 || static_cast<std::size_t>(n) >= updates)
    throw UserError(where, "update(" + std::to_string(n) + ") of the Func '" + func.name + "', which has " +
                               std::to_string(updates) + (updates == 1 ? " update" : " updates") +
                               " so far; they are counted from 0");
  return Stage({handle_.serial, handle_.func, static_cast<std::uint32_t>(n) + 1});
}

const Stage &Stage::split(const Var &old, const Var &outer, const Var &inner, std::int64_t factor, Tail tail,
                          SourceLocation where) const {
  require_at_least(1, factor, Kind::split, "the factor", where);
  return say(directive(Kind::split, {old.name(), outer.name(), inner.name()}, {factor}, tail), where);
}

const Stage &Stage::fuse(const Var &outer, const Var &inner, const Var &fused, SourceLocation where) const {
  return say(directive(Kind::fuse, {outer.name(), inner.name(), fused.name()}), where);
}

const Stage &Stage::reorder(const std::vector<Var> &loops, SourceLocation where) const {
  return say(directive(Kind::reorder, names_of(loops)), where);
}

const Stage &Stage::rename(const Var &old, const Var &now, SourceLocation where) const {
  return say(directive(Kind::rename, {old.name(), now.name()}), where);
}

const Stage &Stage::serial(const Var &loop, SourceLocation where) const {
  return say(directive(Kind::serial, {loop.name()}), where);
}
const Stage &Stage::unroll(const Var &loop, SourceLocation where) const {
  return say(directive(Kind::unroll, {loop.name()}), where);
}
const Stage &Stage::vectorize(const Var &loop, SourceLocation where) const {
  return say(directive(Kind::vectorize, {loop.name()}), where);
}
const Stage &Stage::parallel(const Var &loop, SourceLocation where) const {
  return say(directive(Kind::parallel, {loop.name()}), where);
}

Var Stage::split_off(const Var &loop, std::int64_t factor, Tail tail, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(Kind::split, where);
  const auto &directives = pipeline.open_schedule("split", where).directives;
  const std::uint32_t func = pipeline.scheduled(handle_, "split", where);
  const auto taken = [&](const std::string &name) {
    return std::ranges::any_of(directives, [&](const ir::Directive &said) {
      return said.func == func && said.definition == handle_.definition && std::ranges::count(said.names, name) != 0;
    });
  };
  std::string name = loop.name() + "_i";
  for (int n = 2; taken(name); ++n) name = loop.name() + "_i" + std::to_string(n);
  const Var inner(name, where);
  split(loop, loop, inner, factor, tail, where);
  return inner;
}

const Stage &Stage::unroll(const Var &loop, std::int64_t factor, Tail tail, SourceLocation where) const {
  return unroll(split_off(loop, factor, tail, where), where);
}
const Stage &Stage::vectorize(const Var &loop, std::int64_t factor, Tail tail, SourceLocation where) const {
  return vectorize(split_off(loop, factor, tail, where), where);
}
const Stage &Stage::parallel(const Var &loop, std::int64_t factor, Tail tail, SourceLocation where) const {
  split_off(loop, factor, tail, where);
  return parallel(loop, where);
}

const Stage &Stage::tile(const Var &x, const Var &y, const Var &xo, const Var &yo, const Var &xi, const Var &yi,
                         std::int64_t x_factor, std::int64_t y_factor, Tail tail, SourceLocation where) const {
  split(x, xo, xi, x_factor, tail, where);
  split(y, yo, yi, y_factor, tail, where);
  return reorder(std::vector<Var>{xi, yi, xo, yo}, where);
}

const Stage &Stage::each(ir::Directive::Kind kind, std::initializer_list<const Var *> loops,
                         SourceLocation where) const {
  for (const Var *loop : loops) say(directive(kind, {loop->name()}), where);
  return *this;
}

const Stage &Stage::gpu_blocks(const Var &x, SourceLocation where) const { return each(Kind::gpu_block, {&x}, where); }
const Stage &Stage::gpu_blocks(const Var &x, const Var &y, SourceLocation where) const {
  return each(Kind::gpu_block, {&x, &y}, where);
}
const Stage &Stage::gpu_blocks(const Var &x, const Var &y, const Var &z, SourceLocation where) const {
  return each(Kind::gpu_block, {&x, &y, &z}, where);
}
const Stage &Stage::gpu_threads(const Var &x, SourceLocation where) const {
  return each(Kind::gpu_thread, {&x}, where);
}
const Stage &Stage::gpu_threads(const Var &x, const Var &y, SourceLocation where) const {
  return each(Kind::gpu_thread, {&x, &y}, where);
}
const Stage &Stage::gpu_threads(const Var &x, const Var &y, const Var &z, SourceLocation where) const {
  return each(Kind::gpu_thread, {&x, &y, &z}, where);
}

const Stage &Stage::gpu_tile(const Var &x, const Var &y, const Var &xo, const Var &yo, const Var &xi, const Var &yi,
                             std::int64_t x_factor, std::int64_t y_factor, Tail tail, SourceLocation where) const {
  return tile(x, y, xo, yo, xi, yi, x_factor, y_factor, tail, where)
      .gpu_blocks(xo, yo, where)
      .gpu_threads(xi, yi, where);
}

const Stage &Stage::atomic(SourceLocation where) const { return say(directive(Kind::atomic), where); }
const Stage &Stage::allow_race_conditions(SourceLocation where) const {
  return say(directive(Kind::allow_race_conditions), where);
}

const Stage &Stage::compute_with(const Stage &other, const Var &loop, SourceLocation where) const {
  return say(about(Kind::compute_with, other, {loop.name()}, where), where);
}

const Stage &Stage::pipelined(int stages, SourceLocation where) const {
  require_at_least(1, stages, Kind::pipelined, "the number of stages", where);
  return say(directive(Kind::pipelined, {}, {stages}), where);
}

Stage Stage::specialize(const Operand<bool> &condition) const {
  const SourceLocation where = condition.where();
  PipelineTrace &pipeline = pipeline_at(Kind::specialize, where);
  const auto &directives = pipeline.open_schedule("specialize", where).directives;
  const auto used = pipeline.dependencies({condition.value()});
  if (!used.variables.empty())
    throw UserError(where, "specialize: the condition depends on the variable '" +
                               pipeline.variable_name(*used.variables.begin()) +
                               "', but chooses between loops before they run: ask for parameters and extents");
  ir::Directive special = directive(Kind::specialize);
  special.condition = pipeline.as_it_is(condition.value(), where);
  say(std::move(special), where);
  Handle handle = handle_;
  handle.specialization = static_cast<std::uint32_t>(directives.size() - 1);
  return Stage(handle);
}

Stage Stage::rfactor(const Var &reduced, const Var &variable, SourceLocation where) const {
  return rfactor({{reduced, variable}}, where);
}

Stage Stage::rfactor(std::initializer_list<std::pair<Var, Var>> reduced, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(Kind::rfactor, where);
  pipeline.open_schedule("rfactor", where);
  const auto func = pipeline.declaration(handle_, where);
  if (handle_.definition == 0)
    throw UserError(where, "rfactor of the Func '" + func.name +
                               "' itself; it is of an update, which goes through a Reduction: update().rfactor(…)");
  ir::Directive split = directive(Kind::rfactor);
  for (const auto &[old, now] : reduced) split.names.insert(split.names.end(), {old.name(), now.name()});
  PipelineTrace::Declaration partial{func.name + "_partial", func.types, where};
  partial.rank = func.rank + static_cast<int>(reduced.size());
  if (partial.rank > ir::maximum_func_rank)
    throw UserError(where, "rfactor: the new Func has " + std::to_string(partial.rank) + " indices, more than " +
                               std::to_string(ir::maximum_func_rank));
  pipeline.scheduled(handle_, "rfactor", where);
  const Stage made(pipeline.make_for_schedule(std::move(partial), 2));
  split.other = pipeline.scheduled(made.handle_, "rfactor", where);
  say(std::move(split), where);
  return made;
}

const Stage &Stage::compute_inline(SourceLocation where) const {
  return say_of_func(directive(Kind::compute_inline), where);
}
const Stage &Stage::compute_root(SourceLocation where) const {
  return say_of_func(directive(Kind::compute_root), where);
}
const Stage &Stage::compute_at(const Stage &func, const Var &loop, SourceLocation where) const {
  return say_of_func(about(Kind::compute_at, func, {loop.name()}, where), where);
}
const Stage &Stage::store_root(SourceLocation where) const { return say_of_func(directive(Kind::store_root), where); }
const Stage &Stage::store_at(const Stage &func, const Var &loop, SourceLocation where) const {
  return say_of_func(about(Kind::store_at, func, {loop.name()}, where), where);
}

const Stage &Stage::store_in(Memory memory, SourceLocation where) const {
  ir::Directive store = directive(Kind::store_in);
  switch (memory) {
    case Memory::automatic: return *this;
    case Memory::registers: store.space = ir::MemorySpace::registers; break;
    case Memory::local: store.space = ir::MemorySpace::instance; break;
    case Memory::shared: store.space = ir::MemorySpace::shared; break;
    case Memory::device: store.space = ir::MemorySpace::device; break;
  }
  return say_of_func(std::move(store), where);
}

const Stage &Stage::reorder_storage(const std::vector<Var> &dimensions, SourceLocation where) const {
  return say_of_func(directive(Kind::reorder_storage, names_of(dimensions)), where);
}

const Stage &Stage::pad(const Var &dimension, std::int64_t elements, SourceLocation where) const {
  require_at_least(0, elements, Kind::pad, "the number of elements", where);
  return say_of_func(directive(Kind::pad, {dimension.name()}, {elements}), where);
}
const Stage &Stage::fold_storage(const Var &dimension, std::int64_t period, SourceLocation where) const {
  require_at_least(1, period, Kind::fold_storage, "the period", where);
  return say_of_func(directive(Kind::fold_storage, {dimension.name()}, {period}), where);
}
const Stage &Stage::bound(const Var &dimension, std::int64_t begin, std::int64_t extent, SourceLocation where) const {
  require_at_least(0, extent, Kind::bound, "the extent", where);
  require_indices(begin, extent, Kind::bound, where);
  return say_of_func(directive(Kind::bound, {dimension.name()}, {begin, extent}), where);
}
const Stage &Stage::align_bounds(const Var &dimension, std::int64_t modulus, SourceLocation where) const {
  require_at_least(1, modulus, Kind::align_bounds, "the modulus", where);
  return say_of_func(directive(Kind::align_bounds, {dimension.name()}, {modulus}), where);
}

Stage Stage::in(SourceLocation where) const { return in_front_of(Kind::in, {}, where); }

Stage Stage::in(const Stage &consumer, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(Kind::in, where);
  pipeline.open_schedule("in", where);
  return in_front_of(Kind::in, {pipeline.scheduled(consumer.handle_, "in", where)}, where);
}

Stage Stage::clone_in(const Stage &consumer, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(Kind::clone_in, where);
  pipeline.open_schedule("clone_in", where);
  return in_front_of(Kind::clone_in, {pipeline.scheduled(consumer.handle_, "clone_in", where)}, where);
}

Stage Stage::in_front_of(ir::Directive::Kind kind, std::vector<std::uint32_t> consumers, SourceLocation where) const {
  PipelineTrace &pipeline = pipeline_at(kind, where);
  const auto &directives = pipeline.open_schedule(name_of(kind), where).directives;
  const std::uint32_t number = pipeline.scheduled(handle_, name_of(kind), where);
  if (handle_.definition == 0 && !handle_.specialization)
    for (const ir::Directive &said : directives)
      if (said.kind == kind && said.func == number && said.consumers == consumers)
        return Stage(pipeline.handle_of(said.other.value()));
  const auto func = pipeline.declaration(handle_, where);
  const bool clone = kind == Kind::clone_in;
  PipelineTrace::Declaration copy{func.name + (clone ? "_clone" : "_in"), func.types, where};
  copy.rank = func.rank;
  ir::Directive between = directive(kind);
  between.consumers = std::move(consumers);
  const Stage made(pipeline.make_for_schedule(std::move(copy), clone ? func.definitions.size() : 1));
  between.other = pipeline.scheduled(made.handle_, name_of(kind), where);
  say_of_func(std::move(between), where);
  return made;
}

void schedule_cpu(FunctionRef<void()> directives, SourceLocation where) {
  run_schedule(ir::CapturedSchedule::For::cpu, "cpu", directives, where);
}
void schedule_cuda(FunctionRef<void()> directives, SourceLocation where) {
  run_schedule(ir::CapturedSchedule::For::cuda, "cuda", directives, where);
}
void schedule(const std::string &name, FunctionRef<void()> directives, SourceLocation where) {
  run_schedule(ir::CapturedSchedule::For::name, name, directives, where);
}

}  // namespace samite
