#include "samite/passes/analysis/index_map.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"

namespace samite::passes {
namespace {

using namespace ir;

std::optional<IndexMap> map_of(const Affine &form);

// The index of the last element along a dimension.
std::optional<ArrayDimension> last_of(const Affine &form) {
  if (form.constant() != -1 || form.terms().size() != 1) return std::nullopt;
  const AffineTerm &term = form.terms()[0];
  if (term.kind != AffineTerm::Kind::Symbol || term.coefficient != 1) return std::nullopt;
  if (term.symbol.kind != Symbol::Kind::Extent) return std::nullopt;
  return ArrayDimension{term.symbol.id, term.symbol.dimension};
}

std::optional<IndexMap> bounded(AffineTerm::Kind kind, const Affine &index, const Affine &bound) {
  auto map = map_of(index);
  if (!map) return std::nullopt;
  if (kind == AffineTerm::Kind::Greatest) {
    if (!(bound == Affine(0))) return std::nullopt;
    map->from_first = true;
    return map;
  }
  const auto last = last_of(bound);
  if (!last || map->until) return std::nullopt;
  map->until = last;
  return map;
}

std::optional<IndexMap> map_of(const Affine &form) {
  if (form.terms().size() != 1 || form.terms()[0].coefficient != 1) return std::nullopt;
  const AffineTerm &term = form.terms()[0];
  switch (term.kind) {
    case AffineTerm::Kind::Symbol:
      if (term.symbol.kind != Symbol::Kind::ThreadIndex) return std::nullopt;
      return IndexMap{term.symbol.dimension, form.constant()};
    case AffineTerm::Kind::Least:
    case AffineTerm::Kind::Greatest: {
      const Affine a = (*term.operands)[0] + form.constant(), b = (*term.operands)[1] + form.constant();
      const auto map = bounded(term.kind, a, b);
      return map ? map : bounded(term.kind, b, a);
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<std::optional<IndexMap>> index_maps(const Kernel &structured) {
  const IndexForms forms(structured);
  std::vector<std::optional<IndexMap>> maps(structured.local_count);
  for_each_statement(structured.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || !is_integer(let->value.type) || let->value.type.is_tile()) return;
    const IndexForm known = forms(Value::local(let->value.type, let->local));
    // No two indices of the launch coincide in the types on the way.
    const auto map = known.narrow_or_unsigned ? std::nullopt : map_of(known.form);
    if (map && forms.tells_apart(Symbol::thread_index(map->dimension), known.narrowest)) maps[let->local] = map;
  });
  return maps;
}

}  // namespace samite::passes
