// Uniform loops on the CPU, and loops over instances, which are the lanes.
#include "samite/base/error.h"
#include "samite/codegen/lanes_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/op_cost.h"

namespace samite::codegen {

using namespace ir;

void LanesEmitter::loop(const For &loop) {
  if (loop.kind == LoopKind::Thread) return thread_loop(loop);
  if (values_.in_lanes()) {
    if (values_.uniformity().starts_late(loop)) return late_loop(loop);
    if (values_.uniformity().divergent(loop)) return divergent_loop(loop);
    if (const auto rows = rows_.of(loop); !rows.empty()) return loop_in_pieces(loop, rows);
    return common_loop(loop);
  }
  if (const auto *written = functions_.loops.written_by(loop)) return loop_function(loop, *written);
  serial_loop(loop);
}

// A function at the beginning of the kernel, which loops of the same text share. In debug mode it knows the instance,
// whose index is a variable of the place.
void LanesEmitter::loop_function(const For &loop, const std::set<LocalArrayId> &written) {
  if (options_.debug) return function_in_place(loop, written);
  constexpr int inside_function = 2;  // indentation
  SourceWriter outer = std::exchange(out_, SourceWriter(options_.comments, inside_function));
  const int names = emission_.number_names_from(0), thread_loops = std::exchange(thread_loops_, 0);
  serial_loop(loop);
  SourceWriter body = std::exchange(out_, std::move(outer));
  emission_.number_names_from(names);
  thread_loops_ = thread_loops;

  std::set<LocalId> own{loop.index};
  for_each_statement(
      loop.body, [&](const Stmt &stmt) { for_each_definition(stmt, [&](LocalId local, Type) { own.insert(local); }); });
  if (functions_.local_types.empty()) functions_.local_types = local_types(kernel_);
  const LoopTexts::Types types{
      .local = [&](LocalId local) -> std::string {
        return own.contains(local) ? "" : fmt::format("const {}", values_.type(functions_.local_types[local], local));
      },
      .array =
          [&](LocalArrayId array) {
            return fmt::format("{} *{}const", arrays_.element_type(array),
                               written.contains(array) ? "__restrict " : "");
          },
  };
  const std::string text = body.take();
  out_.line("{}", functions_.texts.call(text, body.take_lines(), types));
}

void LanesEmitter::function_in_place(const For &loop, const std::set<LocalArrayId> &written) {
  std::string parameters, arguments;
  for (const LocalArrayId array : written) {
    const std::string_view separator = arguments.empty() ? "" : ", ";
    parameters += fmt::format("{}{} *__restrict {}", separator, arrays_.element_type(array), array_name(array));
    arguments += fmt::format("{}{}", separator, array_name(array));
  }
  out_.open("[=]({}) __attribute__((noinline)) {{", parameters);
  serial_loop(loop);
  out_.close(fmt::format("}}({});", arguments));
}

void LanesEmitter::serial_loop(const For &loop) {
  if (loop.kind != LoopKind::Serial || failures_.in_instance()) return common_loop(loop);
  // A strip's additions to one element are summed over the loops around its thread loops.
  const std::size_t outer_sums = sums_.open(loop);
  ++loops_around_lanes_;
  common_loop(loop);
  --loops_around_lanes_;
  sums_.close(outer_sums);
}

// The body of a loop, possibly one over the launch.
void LanesEmitter::loop_body(const For &loop) {
  const bool of_launch = loop.kind != LoopKind::Serial && !failures_.in_instance();
  if (of_launch)
    failures_.enter(Value::local(loop.type, loop.index), values_.in_lanes() ? kernel_.launch_rank - 1 : -1);
  block(loop.body);
  if (of_launch) failures_.leave();
}

void LanesEmitter::thread_loop(const For &loop) {
  internal_check(loop.step.is_constant(1.0), "a thread loop whose step is not one");
  if (!failures_.in_instance()) emission_.source.lanes = lanes_;  // the lanes are instances, not a block's threads
  LaneLoop text{.index = name(loop.index),
                .type = std::string(scalar_name(loop.type)),
                .begin = scalar(loop.begin),
                .end = scalar(loop.end),
                .mask = fresh("m"),
                .number = thread_loops_++,
                .copied = !options_.debug && passes::worth_copying(kernel_, loop, values_.uniformity()),
                .rotated = loop_text_.rotated(),
                .jam = loop.jam,
                .repeated = loops_around_lanes_ > 0};
  inside_ = runs_inside_first(text, lanes_) && !options_.debug ? inside_of(loop) : Inside{};
  if (!inside_.branches.empty()) {
    text.inside = inside_.count(std::int64_t(loop.end.as_int()), [&](const Value &value) { return scalar(value); });
    text.is_inside = is_inside_ = fresh("inside");
  }
  likely_ = options_.debug ? Likely{} : likely_of(loop, values_.uniformity());
  if (!likely_.branches.empty()) {
    LaneLoop copied = text;
    copied.copied = passes::worth_copying(kernel_, loop, values_.uniformity(), likely_.statements_of_fallbacks());
    if (runs_likely_sides_first(copied, lanes_))
      text.is_likely = is_likely_ = fresh("likely");
    else
      likely_ = {};
  }
  out_.open("{{");
  const std::size_t outer_sums = sums_.open(loop);
  lane_loop(out_, text, lanes_, [&] {
    if (loop.jam > 1) return jammed_body(loop, text);
    values_.enter(text.mask);
    loop_body(loop);
    values_.enter("");
  });
  sums_.close(outer_sums);
  out_.close();
  inside_ = {};
  likely_ = {};
}

// Unroll and jam: several vectors of instances run the body together, statement by statement, each with its own copy of
// the body's definitions. A single vector would be a chain of dependent operations.
void LanesEmitter::jammed_body(const For &loop, const LaneLoop &text) {
  std::vector<bool> copied(kernel_.local_count, false);
  copied[loop.index] = true;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type) { copied[local] = true; });
  });
  values_.copy_locals(std::move(copied));
  std::vector<std::string> masks;
  for (int copy = 0; copy < loop.jam; ++copy) {
    masks.push_back(fmt::format("{}_{}", text.mask, copy));
    out_.line("const {0} {1}_{2} = {1} + {2} * lane_count;", text.type, text.index, copy);
  }
  jammed(loop.body, masks);
  values_.enter("");
  values_.enter_copy(-1);
}

// A branch is harmless if no instance takes it, so it is not guarded.
void LanesEmitter::jammed(const Block &block, const std::vector<std::string> &masks) {
  for (const Stmt &stmt : block) {
    const If *branch = stmt.as<If>();
    std::vector<std::string> taken;
    for (std::size_t copy = 0; copy < masks.size(); ++copy) {
      values_.enter_copy(static_cast<int>(copy));
      values_.enter(masks[copy]);
      if (!branch) {
        statement(stmt);
        continue;
      }
      taken.push_back(fresh("m"));
      out_.line("const Mask {} = {} & {};", taken.back(), values_.mask(), values_.vector(branch->condition));
    }
    if (branch) jammed(branch->then_block, taken);
  }
}

// Lanes add to one element, which differs between iterations (passes/threads/sum_over_lanes.h): their sums are deferred
// (device/cpu/lanes/sum_rows.h).
void LanesEmitter::loop_in_pieces(const For &loop, const std::vector<Row> &rows) {
  loop_text_.declare(loop.carried);
  for (const Row &row : rows)
    out_.line("SumRows<{}, {}> {};", scalar_name(row.statement->value.type()),
              !emission_.facts(row.statement->array).worker_private, row.name);
  const std::string index = name(loop.index), condition = loop_text_.continues(loop), count = rows[0].count;
  out_.open("for ({} {} = {}; {};) {{", scalar_name(loop.type), index, scalar(loop.begin), condition);
  for (const Row &row : rows) out_.line("{} *{}_last = nullptr;", scalar_name(row.statement->value.type()), row.name);
  out_.line("i32 {} = 0;", count);
  out_.open("for (; {0} < lane_count && {1}; ++{0}, {2} += {3}) {{", count, condition, index, scalar(loop.step));
  rows_.open(rows);
  block(loop.body);
  rows_.close(rows.size());
  loop_text_.advance(loop.carried);
  out_.close();
  for (const Row &row : rows) out_.line("{0}.flush({0}_last, {1}, {2});", row.name, row.step, count);
  out_.close();
  loop_text_.name_results(loop.carried);
}

}  // namespace samite::codegen
