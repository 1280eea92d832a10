// Checkpoints of long loops. The first run of a loop stores the values at the start of each chunk of iterations, and
// all iterations of the last chunk. Each other chunk runs again before it is reversed. With chunks of √n iterations, a
// loop of n iterations takes memory for 2 √n and runs once more (A. Griewank, A. Walther, Evaluating Derivatives, 2nd
// ed. 2008, ch. 12). A loop within the limit is one chunk, and runs no more often than without checkpoints.
#include "samite/autodiff/deriver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::autodiff {

using namespace ir;

// Before the loop.
Deriver::Checkpoints Deriver::plan_checkpoints(const Iterations &loop, const TapeLength &length,
                                               const std::vector<LocalWrites> &writes) {
  const Value count = length.iterations;
  const Type type = count.type();
  const Value one = Value::constant(type, 1);
  const std::int64_t most =
      type == ScalarType::Int32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  const Value kept = Value::constant(type, std::min(keep_.checkpoints.at(&loop.carried), most));
  Value root = one;
  if (count.is_constant()) {
    const double exact = std::ceil(std::sqrt(static_cast<double>(count.as_int())));
    root = Value::constant(type, static_cast<std::int64_t>(exact));
  } else {
    root = build_.cast(type, build_(Op::Ceil, {build_(Op::Sqrt, {build_.cast(ScalarType::Float64, count)})}));
  }
  const Value few = build_(Op::Or, {length.bounded, build_(Op::LessEqual, {count, kept})});
  Checkpoints planned{count, build_(Op::Max, {build_.select(few, count, root), one}), {}, {}, 0, 0, {}};
  const Value chunks = number_of_chunks(planned);
  for (const Carried &c : loop.carried) {
    if (!keep_.local[c.inner]) continue;
    planned.carried[c.inner] = build_.new_local_array();
    allocate_kept(planned.carried[c.inner], chunks, std::nullopt, loop.carried, KeptFor::chunks,
                  describe(loop.carried, assigned_at(c), c.type));
  }
  for (const LocalWrites &w : writes) {
    const LocalArray &array = *arrays_.latest[w.array];
    planned.copies.push_back({w.array, build_.new_local_array()});
    allocate_kept(planned.copies.back().second, chunks, array.size, loop.carried, KeptFor::chunks,
                  describe(loop.carried, array.where, array.type));
  }
  planned.slot = build_.new_local(), planned.number = build_.new_local();
  return planned;
}

// At least one. Never adds two numbers of iterations: the sum might overflow.
Value Deriver::number_of_chunks(const Checkpoints &checkpoints) {
  const Value one = Value::constant(checkpoints.count.type(), 1);
  const Value before = build_(Op::Div, {build_(Op::Sub, {checkpoints.count, one}), checkpoints.chunk});
  return build_(Op::Add, {before, one});
}

// Called at the start of an iteration: stores its values if it is the first of a chunk.
void Deriver::store_checkpoint(Checkpoints &checkpoints) {
  const Type type = checkpoints.count.type();
  const Value zero = Value::zero(type), one = Value::constant(type, 1);
  const Value slot = Value::local(type, checkpoints.slot), number = Value::local(type, checkpoints.number);
  If first{build_(Op::Equal, {slot, zero}), {}, {}, {}};
  Block outer = build_.open();
  for (auto &[inner, array] : checkpoints.carried)
    build_.local_store(array, number, value(Value::local(locals_.types[inner], inner)));
  for (auto &[primal, array] : checkpoints.copies) {
    const LocalArray &known = *arrays_.latest[primal];
    copy_elements(array, build_(Op::Mul, {number, build_.cast(type, known.size)}), known.working, zero, primal);
  }
  first.then_block = build_.close(std::move(outer));
  build_.append({std::move(first), build_.where()});

  Value next = build_(Op::Add, {slot, one});
  Value full = build_(Op::Equal, {next, checkpoints.chunk});
  checkpoints.counters = {{checkpoints.slot, build_.new_local(), type, zero, build_.select(full, zero, next)},
                          {checkpoints.number, build_.new_local(), type, zero,
                           build_.select(full, build_(Op::Add, {number, one}), number)}};
}

// Reverses the chunks, the last one first. Each but the last runs again from its checkpoint and stores its iterations
// before it is reversed.
void Deriver::reverse_chunks(const Iterations &loop) {
  const Checkpoints checkpoints = loops_.checkpoints.at(&loop.carried);
  const Type type = checkpoints.count.type();
  const Value one = Value::constant(type, 1), minus_one = Value::constant(type, -1);
  auto minus = [&](Value a, Value b) { return build_(Op::Sub, {a, b}); };
  const Value last = minus(number_of_chunks(checkpoints), one);

  For all{build_.new_local(), type, last, minus_one, minus_one, {}, {}, LoopKind::Serial};
  Block outer = build_.open();
  const Value chunk = Value::local(type, all.index);
  const Value first = build_(Op::Mul, {chunk, checkpoints.chunk});
  const Value size = build_(Op::Min, {checkpoints.chunk, minus(checkpoints.count, first)});
  If again{build_(Op::Less, {chunk, last}), {}, {}, {}};
  Block beside = build_.open();
  rerun_chunk(loop, checkpoints, chunk, first, size);
  again.then_block = build_.close(std::move(beside));
  build_.append({std::move(again), loop.where});

  For back{build_.new_local(), type, minus(size, one), minus_one, minus_one, {}, {}, LoopKind::Serial};
  Block around = build_.open();
  const Value number = Value::local(type, back.index);
  const Value in_all = build_(Op::Add, {first, number});
  start_of(loop, in_all);
  reverse_iteration(loop, number, in_all);
  back.body = build_.close(std::move(around));
  build_.append({std::move(back), loop.where});

  all.body = build_.close(std::move(outer));
  build_.append({std::move(all), SourceLocation()});
}

void Deriver::rerun_chunk(const Iterations &loop, const Checkpoints &checkpoints, Value chunk, Value first,
                          Value size) {
  const Type type = chunk.type();
  for (auto &[primal, array] : checkpoints.copies) {
    if (!arrays_.held[primal]) continue;
    const LocalArray &known = *arrays_.latest[primal];
    copy_elements(known.working, Value::zero(type), array, build_(Op::Mul, {chunk, build_.cast(type, known.size)}),
                  primal);
  }
  const LocalId first_inside = build_.local_count();
  For again{build_.new_local(), type, Value::zero(type), size, Value::constant(type, 1), {}, {}, LoopKind::Serial};
  std::vector<Value> initial;
  for (const Carried &c : loop.carried) {
    if (auto step = counter_step(c, *loop.blocks.back()))
      initial.push_back(build_(Op::Add, {value(c.initial), build_(Op::Mul, {build_.cast(c.type, first), *step})}));
    else if (auto kept = checkpoints.carried.find(c.inner); kept != checkpoints.carried.end())
      initial.push_back(build_.local_load(c.type, kept->second, chunk));
    else
      initial.push_back(build_.operation({Op::Unavailable, c.type, {}, 0, Keep::name_of(c.inner)}));
  }
  for (std::size_t i = 0; i < initial.size(); ++i) {
    const Carried &c = loop.carried[i];
    const LocalId inner = define(c.inner, c.type).id();
    again.carried.push_back({inner, build_.new_local(), c.type, initial[i], initial[i]});
  }
  std::initializer_list<const Block *> body{loop.blocks.back()};
  const std::vector<LocalWrites> writes = logged_writes(body);
  ++undo_.nesting;
  UndoLog log = std::exchange(undo_.log, {});
  Block outer = build_.open();
  const Value number = Value::local(type, again.index);
  start_of(loop, build_(Op::Add, {first, number}));
  const Tapes &first_run = loops_.tapes.at(&loop.carried);
  Tapes tapes = start_tapes(loop.carried, writes, number, &first_run);
  recompute(loop.blocks);
  finish_tapes(tapes, loop.carried, undo_.log, first_inside, number, &first_run);
  close_carried(loop.carried, again.carried);
  again.body = build_.close(std::move(outer));
  undo_.log = std::move(log);
  --undo_.nesting;
  build_.append({std::move(again), loop.where});
}

// The index of a range in its iteration with this number.
void Deriver::start_of(const Iterations &loop, Value number) {
  if (!loop.range) return;
  const For &range = *loop.range;
  Value steps = build_(Op::Mul, {build_.cast(range.type, number), value(range.step)});
  primal_value_[range.index] = build_(Op::Add, {value(range.begin), steps});
}

}  // namespace samite::autodiff
