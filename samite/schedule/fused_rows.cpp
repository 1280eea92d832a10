#include "samite/schedule/fused_rows.h"

#include "samite/schedule/loops.h"

#include <algorithm>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

bool depends(const Lowering &lowering, const Affine &form, const Symbol &symbol) {
  return lowering.symbols.depends_on(form, [&](const Symbol &of) { return of == symbol; });
}

// Whether it is known before these loops.
bool known_before(const Lowering &lowering, const Site &site, std::size_t i, const Affine &form) {
  return std::none_of(site.nest.loops.begin() + static_cast<std::ptrdiff_t>(i), site.nest.loops.end(),
                      [&](const NestLoop &loop) { return depends(lowering, form, loop.symbol); });
}

// The rows with the inner loop, if that runs over whole pieces and a last one that may be shorter, and if nothing is
// between the two loops.
std::optional<FusedRows> with_next(const Lowering &lowering, const Site &site, std::size_t i, FusedRows rows) {
  const std::vector<NestLoop> &all = site.nest.loops;
  if (i + 2 != all.size() || site.number != 0 || !site.nest.guards.empty()) return std::nullopt;
  const NestLoop &outer = all[i], &piece = all[i + 1];
  const bool plain =
      outer.type == LoopType::serial && (piece.type == LoopType::serial || piece.type == LoopType::vectorized);
  if (!plain || !computed_inside(lowering, site, i).empty()) return std::nullopt;
  const auto factor = rows.fused.coefficient(outer.symbol);
  if (!factor || *factor < 1 || rows.fused.coefficient(piece.symbol).value_or(0) != 1) return std::nullopt;
  for (const auto &[variable, form] : site.nest.variables)
    if (form.contains(outer.symbol) || form.contains(piece.symbol)) return std::nullopt;
  rows.first = rows.fused - Affine(outer.symbol) * *factor - Affine(piece.symbol);
  rows.count = outer.extent * *factor;
  const auto end = std::ranges::find(site.nest.ends, rows.fused, &std::pair<Affine, Affine>::first);
  if (end != site.nest.ends.end()) rows.count = least(rows.count, end->second - rows.first);
  // The piece's extent is that of a whole one, or the rest for the last one.
  const bool whole = piece.extent == Affine(*factor);
  if (!rows.count.known() || (!whole && end == site.nest.ends.end())) return std::nullopt;
  if (!known_before(lowering, site, i, rows.first) || !known_before(lowering, site, i, rows.count)) return std::nullopt;
  rows.with_next = true;
  return rows;
}

// Writes the loops over one row, or over a part of it.
class LoopsOfRow {
 public:
  struct Bounds {
    Value begin, end;
    bool all;
  };

  LoopsOfRow(Lowering &lowering, const FusedRows &rows, LoopKind kind)
      : lowering_(lowering), rows_(rows), kind_(kind) {}

  // `inside` gets the index in the row. Returns the local of the innermost loop's index.
  LocalId write(const Bounds &bounds, std::size_t depth, const std::function<void(const Value &)> &inside) {
    if (depth == rows_.within.size())
      return loop(bounds.begin, bounds.end, kind_, [&](const Value &at) { inside(at); });
    StatementWriter &emit = lowering_.write;
    const Nest::Fused &fused = *rows_.within[depth];
    const Value inner = lowering_.integers.value_of(fused.inner);
    Value first_row = number(0), end_row = number(0);
    if (bounds.all) {
      end_row = lowering_.integers.value_of(fused.outer);
    } else {
      first_row = emit(Op::Div, bounds.begin, inner);
      end_row = emit(Op::Add, emit(Op::Div, emit(Op::Sub, bounds.end, number(1)), inner), number(1));
    }
    LocalId index = 0;
    loop(first_row, end_row, LoopKind::Serial, [&](const Value &row) {
      const Value before = emit(Op::Mul, row, inner);
      Bounds own{number(0), inner, bounds.all};
      if (!bounds.all) {
        own.begin = emit(Op::Max, emit(Op::Sub, bounds.begin, before), number(0));
        own.end = emit(Op::Min, emit(Op::Sub, bounds.end, before), inner);
      }
      index = write(own, depth + 1, [&](const Value &at) {
        const Value both = emit(Op::Add, before, at);
        const Integers::KnownDivision known(lowering_.integers, {fused.index, fused.inner, row, at});
        inside(both);
      });
    });
    return index;
  }

 private:
  LocalId loop(const Value &begin, const Value &end, LoopKind kind, const std::function<void(const Value &)> &body) {
    For made{lowering_.write.new_local(), ScalarType::Int32, begin, end, number(1), {}, {}};
    made.kind = kind;
    const LocalId index = made.index;
    lowering_.into(made.body, [&] { body(Value::local(ScalarType::Int32, index)); });
    lowering_.write.out->emplace_back(std::move(made), lowering_.write.where);
    return index;
  }

  Lowering &lowering_;
  const FusedRows &rows_;
  const LoopKind kind_;
};

}  // namespace

std::vector<const Nest::Fused *> fused_within(const Site &site, const Nest::Fused &fused) {
  std::vector<const Nest::Fused *> found;
  for (const Nest::Fused *last = &fused; last;) {
    const Nest::Fused *next = nullptr;
    for (const Nest::Fused &other : site.nest.fused)
      if (site.schedule.relations[other.relation].whole == site.schedule.relations[last->relation].inner &&
          !other.inner.is_constant() && other.index.known())
        next = &other;
    if (next) found.push_back(next);
    last = next;
  }
  return found;
}

std::optional<FusedRows> fused_rows(const Lowering &lowering, const Site &site, std::size_t i) {
  // A thread of a GPU loops over its own rows, and loops outside of threads are the block's. On the CPU threads are
  // lanes, each of which would have to loop over the rows of all.
  const bool in_threads = lowering.open.threads.has_value();
  if (in_threads != lowering.gpu || lowering.open.lanes || !site.followers.empty()) return std::nullopt;
  const NestLoop &loop = site.nest.loops[i];
  for (const Nest::Fused &fused : site.nest.fused) {
    if (fused.inner.is_constant() || !fused.index.known() || !known_before(lowering, site, i, fused.inner)) continue;
    FusedRows rows{fused.index, 0, loop.extent, fused.outer, fused.inner, {}};
    for (const Nest::Fused *within : fused_within(site, fused)) {
      if (!known_before(lowering, site, i, within->inner)) break;
      rows.within.push_back(within);
    }
    if (auto both = with_next(lowering, site, i, rows)) return both;
    if (fused.index.coefficient(loop.symbol).value_or(0) != 1) continue;
    rows.first = fused.index - Affine(loop.symbol);
    if (!rows.first.known() || !known_before(lowering, site, i, rows.first)) continue;
    rows.all = rows.first == Affine(0) && site.schedule.relations[fused.relation].whole == loop.name;
    return rows;
  }
  return std::nullopt;
}

LocalId loop_in_rows(Lowering &lowering, const FusedRows &rows, const Symbol &symbol, LoopKind kind,
                     const std::function<void()> &inside) {
  StatementWriter &write = lowering.write;
  const Value inner = lowering.integers.value_of(rows.inner);
  Value first = number(0), end = number(0), first_row = number(0), end_row = number(0);
  if (rows.all) {
    end_row = lowering.integers.value_of(rows.outer);
  } else {
    first = lowering.integers.value_of(rows.first);
    end = write(Op::Add, first, lowering.integers.value_of(rows.count));
    first_row = write(Op::Div, first, inner);
    end_row = write(Op::Add, write(Op::Div, write(Op::Sub, end, number(1)), inner), number(1));
  }
  For over_rows{write.new_local(), ScalarType::Int32, first_row, end_row, number(1), {}, {}};
  const Value row = Value::local(ScalarType::Int32, over_rows.index);
  LocalId index = 0;
  lowering.into(over_rows.body, [&] {
    const Value before = write(Op::Mul, row, inner);  // elements of the rows before this one
    LoopsOfRow::Bounds bounds{number(0), inner, rows.all};
    if (!rows.all) {
      bounds.begin = write(Op::Max, write(Op::Sub, first, before), number(0));
      bounds.end = write(Op::Min, write(Op::Sub, end, before), inner);
    }
    index = LoopsOfRow(lowering, rows, kind).write(bounds, 0, [&](const Value &at) {
      const Value passed = write(Op::Sub, before, first);
      lowering.integers.set(symbol, write(Op::Add, passed, at));
      const Integers::KnownDivision known(lowering.integers, {rows.fused, rows.inner, row, at});
      inside();
    });
  });
  write.out->emplace_back(std::move(over_rows), write.where);
  return index;
}

}  // namespace samite::schedules
