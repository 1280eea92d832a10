#include "samite/schedule/wrap_calls.h"

#include "samite/base/error.h"
#include "samite/schedule/copy_statements.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace samite::schedules {

using namespace ir;

void WrappedCalls::wrap(const Directive &directive) {
  const std::uint32_t f = directive.func, wrapper = directive.other.value();
  const std::string name = algorithm_.functions[f].name;
  const std::string what = directive.kind == Directive::Kind::in ? "in" : "clone_in";
  Between &between = between_[f];
  if (directive.kind == Directive::Kind::in)
    define_as_call(f, wrapper, directive.where);
  else
    define_as_copy(f, wrapper);

  if (directive.consumers.empty()) {
    bool called = false;
    for (std::uint32_t caller = 0; caller < algorithm_.functions.size(); ++caller)
      if (caller != f && caller != wrapper && !between.all.contains(caller))
        called = call_instead(caller, f, wrapper) || called;
    if (!called)
      throw UserError(directive.where, fmt::format("{0} of '{1}', which no other Func calls, or none but those that an "
                                                   "in or clone_in is for already",
                                                   what, name));
    between.for_all = wrapper;
  }
  for (const std::uint32_t consumer : directive.consumers) {
    if (consumer == f)
      throw UserError(directive.where,
                      fmt::format("{0} of '{1}' for '{1}' itself; name a Func that calls it", what, name));
    bool called = call_instead(consumer, f, wrapper);
    if (between.for_all) called = call_instead(consumer, *between.for_all, wrapper) || called;
    if (called) continue;
    std::set<std::string> names;
    for (const Definition &definition : algorithm_.functions[consumer].definitions)
      for (const std::uint32_t callee : called_by(algorithm_, definition))
        if (callee != consumer) names.insert(algorithm_.functions[callee].name);
    throw UserError(directive.where, fmt::format("{} of '{}' for '{}', which does not call it; it calls: {}", what,
                                                 name, algorithm_.functions[consumer].name,
                                                 names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  between.all.insert(wrapper);
}

void WrappedCalls::define_as_call(std::uint32_t f, std::uint32_t wrapper, SourceLocation where) {
  const Function &of = algorithm_.functions[f];
  Definition call;
  call.where = where;
  call.indices = of.definitions[0].indices;
  call.pure = of.definitions[0].pure;
  for (std::uint32_t v = 0; v < of.types.size(); ++v) {
    const LocalId local = algorithm_.local_count++;
    call.body.emplace_back(Let{local, {Op::Load, of.types[v], call.indices, of.array + v}}, where);
    call.values.push_back(Value::local(of.types[v], local));
  }
  algorithm_.functions[wrapper].definitions = {std::move(call)};
}

void WrappedCalls::define_as_copy(std::uint32_t f, std::uint32_t clone) {
  const Function &of = algorithm_.functions[f];
  Function &made = algorithm_.functions[clone];
  const auto own = [&](std::uint32_t array) {
    return array >= of.array && array < of.array + of.types.size() ? made.array + (array - of.array) : array;
  };
  std::vector<Definition> copies;
  for (const Definition &definition : of.definitions) {
    Definition copy = definition;
    StatementCopy body(algorithm_.local_count), bounds(algorithm_.local_count);
    copy.body.clear();
    copy.bounds.clear();
    body.copy(definition.body, copy.body, own);
    bounds.copy(definition.bounds, copy.bounds);
    for (Value &index : copy.indices) index = body(index);
    for (Value &value : copy.values) value = body(value);
    if (copy.predicate) copy.predicate = body(*copy.predicate);
    for (ReductionVariable &reduction : copy.reductions) {
      reduction.begin = bounds(reduction.begin);
      reduction.extent = bounds(reduction.extent);
    }
    for (JoinedVariable &joined : copy.joined) {
      joined.begin = bounds(joined.begin);
      joined.extent = bounds(joined.extent);
    }
    for (Guard &guard : copy.guards) guard.extent = bounds(guard.extent);
    copies.push_back(std::move(copy));
  }
  made.definitions = std::move(copies);
}

bool WrappedCalls::call_instead(std::uint32_t caller, std::uint32_t f, std::uint32_t wrapper) {
  const Function &of = algorithm_.functions[f];
  const std::uint32_t instead = algorithm_.functions[wrapper].array;
  bool called = false;
  for (Definition &definition : algorithm_.functions[caller].definitions)
    for (Stmt &stmt : definition.body) {
      const Let *let = stmt.as<Let>();
      if (let->value.op != Op::Load || let->value.array < of.array || let->value.array >= of.array + of.types.size())
        continue;
      Let call = *let;
      call.value.array = instead + (let->value.array - of.array);
      stmt = Stmt(std::move(call), stmt.where());
      called = true;
    }
  return called;
}

}  // namespace samite::schedules
