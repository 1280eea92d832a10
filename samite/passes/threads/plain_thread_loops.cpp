#include "samite/passes/threads/plain_thread_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rewrite.h"

#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

Block without_thread_loops(const Block &block) {
  return rewrite(block, [](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return stmt;
    For serial = *loop;
    serial.kind = LoopKind::Serial;
    serial.jam = 1;
    return {std::move(serial), stmt.where()};
  });
}

// Instances between the steps do nothing.
For in_steps_of_one(const For &loop, LocalId &local_count, SourceLocation where) {
  Builder build(local_count);
  build.at(where);
  const Value past = build(Op::Sub, {Value::local(loop.type, loop.index), loop.begin});
  const Value runs = build(Op::Equal, {build(Op::Rem, {past, loop.step}), Value::zero(loop.type)});
  build.append({If{runs, loop.body, {}, {}}, where});
  local_count = build.local_count();
  For made = loop;
  made.step = Value::constant(loop.type, std::int64_t{1});
  made.body = build.take();
  return made;
}

bool all_plain(const Kernel &kernel) {
  bool plain = true;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return;
    plain = plain && loop->step.is_constant(1.0);
    for_each_statement(loop->body, [&](const Stmt &inner) {
      const For *own = inner.as<For>();
      plain = plain && !(own && own->kind == LoopKind::Thread);
    });
  });
  return plain;
}

}  // namespace

Kernel plain_thread_loops(Kernel lowered) {
  if (all_plain(lowered)) return lowered;
  // Inner loops first, so that loops made serial by the outermost one stay serial.
  lowered.body = rewrite(lowered.body, [](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return stmt;
    For outer = *loop;
    outer.body = without_thread_loops(loop->body);
    return {std::move(outer), stmt.where()};
  });
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread || loop->step.is_constant(1.0)) return stmt;
    return {in_steps_of_one(*loop, lowered.local_count, stmt.where()), stmt.where()};
  });
  return lowered;
}

}  // namespace samite::passes
