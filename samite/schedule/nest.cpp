#include "samite/schedule/nest.h"

#include "samite/base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

namespace samite::schedules {

using passes::Affine;
using passes::Interval;
using passes::Symbol;

namespace {

constexpr std::int64_t most_rounded = std::int64_t{1} << 31;  // which is refused

class Maker {
 public:
  Maker(const DefinitionSchedule &schedule, const std::vector<Root> &roots, const NestNeeds &needs)
      : schedule_(schedule), roots_(roots), needs_(needs) {}

  Nest make() {
    for (const Root &root : roots_) {
      extents_.insert_or_assign(root.name, root.extent);
      multiples_.insert_or_assign(root.name, root.multiple);
    }
    for (std::size_t r = 0; r < schedule_.relations.size(); ++r) extents_of(schedule_.relations[r], r);
    for (const Loop &loop : schedule_.loops) {
      const Symbol symbol = needs_.new_symbol();
      values_.insert_or_assign(loop.name, Affine(symbol));
      made_.loops.push_back({loop.name, loop.type, symbol, extents_.at(loop.name), loop.where});
    }
    for (std::size_t r = schedule_.relations.size(); r-- > 0;) value_of(schedule_.relations[r], r);
    for (const Root &root : roots_) {
      made_.variables.insert_or_assign(root.variable, root.begin + values_.at(root.name));
      made_.ranges.insert_or_assign(root.variable, Interval{root.begin, root.begin + root.extent - 1});
    }
    return std::move(made_);
  }

 private:
  // From a loop to those it is split into.
  void extents_of(const Relation &relation, std::size_t number) {
    switch (relation.kind) {
      case Relation::Kind::split: {
        const Affine whole = extents_.at(relation.whole);
        const Affine pieces = quotient(whole + (relation.factor - 1), relation.factor);
        const std::int64_t multiple = multiples_[relation.whole];
        multiples_[relation.outer] = multiple % relation.factor == 0 ? multiple / relation.factor : 1;
        multiples_[relation.inner] = relation.factor;
        extents_.insert_or_assign(relation.outer, pieces);
        extents_.insert_or_assign(relation.inner, Affine(relation.factor));
        break;
      }
      case Relation::Kind::fuse: {
        const Affine outer = extents_.at(relation.outer), inner = extents_.at(relation.inner);
        made_.fused.push_back({number, outer, inner, Affine::unknown()});
        Affine all = inner.is_constant()   ? outer * inner.constant()
                     : outer.is_constant() ? inner * outer.constant()
                                           : Affine::unknown();
        // If there is nothing to do, both may be negative.
        if (!all.known()) {
          Affine some = greatest(inner, 0);
          if (!some.known()) some = needs_.derived({ir::Op::Max, {inner, 0}, {}});
          all = needs_.derived({ir::Op::Mul, {outer, some}, {}});
        }
        extents_.insert_or_assign(relation.whole, all);
        break;
      }
      case Relation::Kind::rename:
        extents_.insert_or_assign(relation.outer, extents_.at(relation.whole));
        multiples_[relation.outer] = multiples_[relation.whole];
        break;
    }
  }

  // From the loops back to those they were split from.
  void value_of(const Relation &relation, std::size_t number) {
    switch (relation.kind) {
      case Relation::Kind::split: return join(relation, number);
      case Relation::Kind::fuse: {
        const Affine fused = values_.at(relation.whole), inner = extents_.at(relation.inner),
                     outer = extents_.at(relation.outer);
        std::ranges::find(made_.fused, number, &Nest::Fused::relation)->index = fused;
        Affine piece = Affine::unknown(), within = Affine::unknown();
        if (inner.is_constant() && inner.constant() > 0) {
          piece = quotient(fused, inner.constant());
          within = remainder(fused, inner.constant());
        }
        if (!piece.known()) piece = needs_.derived({ir::Op::Div, {fused, inner}, {0, outer - 1}});
        if (!within.known()) within = needs_.derived({ir::Op::Rem, {fused, inner}, {0, inner - 1}});
        values_.insert_or_assign(relation.outer, piece);
        values_.insert_or_assign(relation.inner, within);
        break;
      }
      case Relation::Kind::rename: values_.insert_or_assign(relation.whole, values_.at(relation.outer)); break;
    }
  }

  void join(const Relation &relation, std::size_t number) {
    const Affine whole = extents_.at(relation.whole), outer = values_.at(relation.outer),
                 inner = values_.at(relation.inner);
    const std::int64_t factor = relation.factor;
    const bool divides = remainder(whole, factor) == Affine(0) ||
                         (multiples_[relation.whole] > 0 && multiples_[relation.whole] % factor == 0);
    const bool blends = relation.tail == ir::Tail::shift_inwards_and_blend;
    const bool shifts = blends || relation.tail == ir::Tail::shift_inwards;
    const bool is_whole = needs_.whole_pieces.contains(number);
    Affine begin = outer * factor;
    const auto is_a_piece = [&] { made_.pieces.push_back({number, outer, quotient(whole, factor)}); };
    if (!divides && shifts && !(blends && is_whole)) {
      // If there are fewer elements than one piece has, the guard below remains.
      Affine last = least(begin, whole - factor);
      if (!last.known()) last = needs_.derived({ir::Op::Min, {begin, whole - factor}, {}});
      begin = greatest(last, 0);
      if (!begin.known()) begin = needs_.derived({ir::Op::Max, {last, 0}, {0, whole - 1}});
      if (blends) made_.store_guards.emplace_back(outer * factor, begin + inner + 1);
      if (at_least(whole, needs_.range).value_or(0) >= factor) {
        if (blends) is_a_piece();
        values_.insert_or_assign(relation.whole, begin + inner);
        return;
      }
    }
    const Affine value = begin + inner;
    values_.insert_or_assign(relation.whole, value);
    // A tail that rounds up has made the extent a multiple, if possible; otherwise it is guarded.
    if (divides || is_whole) return;
    is_a_piece();
    if (relation.tail == ir::Tail::predicate_stores) {
      made_.store_guards.emplace_back(value, whole);
      return;
    }
    made_.ends.emplace_back(value, whole);
    if (relation.tail == ir::Tail::predicate) {
      made_.guards.emplace_back(value, whole);
      return guard(relation, number);
    }
    // The loop over a chunk ends early if it is inside all loops that count the chunk.
    const auto loop = std::ranges::find(made_.loops, relation.inner, &NestLoop::name);
    if (loop != made_.loops.end() && loop->type != LoopType::parallel && loop->type != LoopType::gpu_block) {
      bool inside = true;
      for (auto within = loop; within != made_.loops.end(); ++within)
        inside = inside && !outer.contains(within->symbol);
      if (inside && !depends_on_derived(outer)) {
        // A chunk that is shifted inwards is shorter only if it is the only one.
        loop->extent = least(factor, shifts ? whole : whole - begin);
        // For an expression of several indices, it is unknown whether the chunks end with the whole.
        if (std::ranges::none_of(made_.loops, [&](const NestLoop &of) { return outer == Affine(of.symbol); }))
          guard(relation, number);
        return;
      }
    }
    made_.guards.emplace_back(value, whole);
    guard(relation, number);
  }

  // Limits the variables of the loop to their own range.
  void guard(const Relation &relation, std::size_t number) {
    for (const Root &root : roots_)
      if (made_of(relation.whole, number).contains(root.name)) made_.guarded.insert(root.variable);
  }

  // The loop, and those from which earlier relations made it.
  std::set<std::string> made_of(const std::string &loop, std::size_t number) const {
    std::set<std::string> names{loop};
    while (number-- > 0) {
      const Relation &relation = schedule_.relations[number];
      if (relation.kind == Relation::Kind::fuse) {
        if (names.contains(relation.whole)) names.insert({relation.outer, relation.inner});
      } else if (names.contains(relation.outer) || names.contains(relation.inner)) {
        names.insert(relation.whole);
      }
    }
    return names;
  }

  // A derived symbol may depend on any loop.
  bool depends_on_derived(const Affine &form) const {
    bool depends = false;
    form.for_each_symbol([&](const Symbol &symbol) {
      depends =
          depends || std::ranges::none_of(made_.loops, [&](const NestLoop &loop) { return loop.symbol == symbol; });
    });
    return depends;
  }

  const DefinitionSchedule &schedule_;
  const std::vector<Root> &roots_;
  const NestNeeds &needs_;
  std::unordered_map<std::string, Affine> extents_, values_;
  std::unordered_map<std::string, std::int64_t> multiples_;  // of loops: known divisors of their extents
  Nest made_;
};

}  // namespace

std::int64_t rounded_to(const DefinitionSchedule &schedule, const std::string &loop) {
  for (const Relation &relation : schedule.relations) {
    if (relation.whole != loop) continue;
    if (relation.kind == Relation::Kind::rename) return rounded_to(schedule, relation.outer);
    if (relation.kind != Relation::Kind::split) return 1;
    const std::int64_t pieces = rounded_to(schedule, relation.outer);
    const bool rounds = relation.tail == ir::Tail::round_up || relation.tail == ir::Tail::predicate_loads;
    return pieces > 1 || rounds ? std::min(relation.factor * pieces, most_rounded) : 1;
  }
  return 1;
}

bool has_tail(const DefinitionSchedule &schedule, const std::string &loop, ir::Tail tail) {
  for (const Relation &relation : schedule.relations) {
    if (relation.whole != loop) continue;
    if (relation.kind == Relation::Kind::fuse) return false;
    return (relation.kind == Relation::Kind::split && relation.tail == tail) ||
           has_tail(schedule, relation.outer, tail);
  }
  return false;
}

std::int64_t computed_to(const DefinitionSchedule &schedule, const std::string &loop) {
  for (const Relation &relation : schedule.relations) {
    if (relation.whole != loop) continue;
    if (relation.kind == Relation::Kind::rename) return computed_to(schedule, relation.outer);
    if (relation.kind != Relation::Kind::split) return 1;
    const std::int64_t pieces = computed_to(schedule, relation.outer);
    const bool more = relation.tail == ir::Tail::predicate_stores;
    return pieces > 1 || more ? std::min(relation.factor * pieces, most_rounded) : 1;
  }
  return 1;
}

Nest nest_of(const DefinitionSchedule &schedule, const std::vector<Root> &roots, const NestNeeds &needs) {
  return Maker(schedule, roots, needs).make();
}

}  // namespace samite::schedules
